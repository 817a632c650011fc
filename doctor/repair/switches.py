"""Choose another way through a library by a variable that its settings files give way to.

A file of the user's home or of a shared folder may ask for a backend that is not here. It belongs
to others as well, so the variable is set where the program starts, and the file stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from doctor.model.fixes import Command, Step
from doctor.repair.failures import Failure


class _Switch(NamedTuple):
    """A variable, the package that reads it, what its failure says, and the values to try.

    The values are modules, which count where they are installed, or words.
    """

    variable: str
    reader: str
    says: re.Pattern[str]
    modules: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


_SWITCHES = (
    _Switch(
        "KERAS_BACKEND",
        "keras",
        re.compile(r"No module named '(?:tensorflow|jax|torch|openvino)'|Unable to import backend"),
        modules=("jax", "torch", "tensorflow"),
    ),
    _Switch(
        "MPLBACKEND",
        "matplotlib",
        re.compile(r"Cannot load backend|No module named '_?tkinter'|no valid.{1,40}backend"),
        words=("agg",),
    ),
)
"""What goes before the settings files of a library.

- https://keras.io/getting_started/#configuring-your-backend
- https://matplotlib.org/stable/users/explain/figure/backends.html#selecting-a-backend
"""


def switches(
    failure: Failure, env: Mapping[str, str], modules: Collection[str], listed: Collection[str]
) -> Iterator[tuple[str, Step]]:
    """Yield a variable with its value, and the step that sets it, where a failure speaks of it.

    `modules` are installed; a backend in `listed`, the lists of the project, is to be installed.
    """
    tops = {frame.top for frame in failure.every}
    for one in _SWITCHES:
        found = one.says.search(failure.chain)
        if found is None or one.reader not in tops or env.get(one.variable):
            continue
        if any(f"'{name}'" in found[0] for name in listed):
            continue
        installed = (name for name in one.modules if name in modules)
        for value in (*installed, *one.words):
            if f"'{value}'" not in found[0]:
                title = f"Let {one.reader} use {value}, whatever its settings file says"
                command = Command(argv=(), env={one.variable: value})
                yield f"{one.variable}={value}", Step(title=title, command=command)
