"""Which build of a framework other than torch asks for a CUDA library, and what fits it.

TensorFlow's pairs: https://www.tensorflow.org/install/source#gpu. MXNet names the CUDA release in
the name of its package (PyPI: mxnet-cu112 1.9.1).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.analyzers.case import Case
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_ABOVE = 60
_LONGEST = 600
_PLACE = re.compile(r"(?:site|dist)-packages[/\\](?P<name>[A-Za-z]\w{1,60})[/\\]")
_TENSORFLOW = {
    "8.0": ("1.0 to 1.4", "1.4.0"),
    "9.0": ("1.5 to 1.12", "1.12.3"),
    "10.0": ("1.13 to 2.0", "2.0.4"),
    "10.1": ("2.1 to 2.3", "2.3.4"),
    "11.0": ("2.4", "2.4.4"),
}
"""By the CUDA release: the releases of TensorFlow built for it, and the last of tensorflow-gpu."""
_NAMES = {"tensorflow": "TensorFlow", "mxnet": "MXNet"}


class Framework(NamedTuple):
    """A framework that asks for a library: its name, and what is said and offered of it."""

    name: str
    cause: str
    recipes: tuple[Recipe, ...]


def asking_package(case: Case, event: Event) -> str:
    """Return the installed package whose file the traceback above a library names last."""
    above = case.log.lines[max(event.at - _ABOVE, 0) : event.at + 1]
    asking = [found["name"] for line in above for found in _PLACE.finditer(line[:_LONGEST])]
    return asking[-1] if asking else ""


def framework(case: Case, event: Event, generation: str) -> Framework | None:
    """Return the framework whose file asks for a library of a CUDA release; None for others.

    The last package of a traceback asks; the standard library only opens the file for it.
    """
    asking = asking_package(case, event)
    if asking not in _NAMES:
        return None
    name = _NAMES[asking]
    if name == "TensorFlow":
        return _tensorflow(generation)
    return Framework(
        name,
        f"This build of {name} is for CUDA {generation}: MXNet has a package for each release of "
        f"CUDA, and each wants exactly its own.",
        (
            Recipe(
                title="Take the package of MXNet for the CUDA that is installed",
                note="Its name ends as that CUDA does: mxnet-cu91 for 9.1, mxnet-cu112 for 11.2.",
                steps=(
                    Action(uninstall=("mxnet", f"mxnet-cu{generation.replace('.', '')}")),
                    Action(install=("<package>",)),
                ),
                ask={"package": "mxnet-cu with the digits of the CUDA that nvcc --version shows"},
            ),
            _toolkit(generation),
        ),
    )


def _tensorflow(generation: str) -> Framework | None:
    if generation not in _TENSORFLOW:
        return None
    releases, _ = _TENSORFLOW[generation]
    pairs = ", ".join(f"{last} for {cuda}" for cuda, (_, last) in _TENSORFLOW.items())
    return Framework(
        "TensorFlow",
        f"TensorFlow {releases} is built for CUDA {generation}, and takes no other release of it.",
        (
            Recipe(
                title="Take the TensorFlow that was built for the CUDA that is installed",
                use_if=("the installed CUDA is one of those in the list",),
                note="CUDA 9.1 and 9.2 have none: one of the list is installed beside them.",
                steps=(
                    Action(uninstall=("tensorflow", "tensorflow-gpu")),
                    Action(install=("tensorflow-gpu==<release>",)),
                ),
                ask={"release": f"the one for the CUDA that nvcc --version shows: {pairs}"},
            ),
            _toolkit(generation),
        ),
    )


_LAST_OF_ONE = {"8.0": "1.4.0", "9.0": "1.12.3", "10.0": "1.15.5"}
"""The last TensorFlow 1 for a CUDA release."""


def for_installed_cuda(generation: str, here: str) -> tuple[Recipe, ...]:
    """Return TensorFlow for the CUDA that is here, where a log shows nobody who asks."""
    if generation not in _TENSORFLOW or generation == "11.0":
        return ()
    table = {**{cuda: last for cuda, (_, last) in _TENSORFLOW.items()}, **_LAST_OF_ONE}
    known = table.get(here, "")
    pairs = ", ".join(f"{last} for {cuda}" for cuda, last in table.items())
    return (
        Recipe(
            title=f"Take TensorFlow {known}, which is built for CUDA {here}"
            if known
            else "Take the TensorFlow that was built for the CUDA that is installed",
            use_if=() if known else ("TensorFlow or Keras asks for it",),
            note=f"TensorFlow {_TENSORFLOW[generation][0]} asks for CUDA {generation}.",
            steps=(
                Action(uninstall=("tensorflow", "tensorflow-gpu")),
                Action(install=(f"tensorflow-gpu=={known or '<release>'}",)),
            ),
            ask={} if known else {"release": f"the one for the CUDA of nvcc --version: {pairs}"},
        ),
    )


def _toolkit(generation: str) -> Recipe:
    return Recipe(
        title=f"Let the loader search CUDA {generation}, installed beside the other",
        use_if=(f"CUDA {generation} is installed in /usr/local/cuda-{generation}",),
        note="Several releases of CUDA lie side by side; a link from one to another does not help.",
        steps=(
            Action(env={"LD_LIBRARY_PATH": f"/usr/local/cuda-{generation}/lib64:$LD_LIBRARY_PATH"}),
        ),
    )
