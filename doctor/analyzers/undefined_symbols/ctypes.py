"""Functions that Python's ctypes asks a library for in vain (dlsym(3))."""

from __future__ import annotations

import re

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_ASKED = re.compile(
    r"AttributeError: .{0,400}undefined symbol: |AttributeError: dlsym\(|AttributeError: function"
)
_GPU = re.compile(r"cuda|cpu|gpu|hip|rocm|bitsandbytes", re.IGNORECASE)


def of_ctypes(event: Event) -> Explanation | None:
    """Explain a function that a library does not have, where the library was loaded."""
    if not _ASKED.search(event.text):
        return None
    path, symbol = event.objects.get("file", ""), event.objects["symbol"]
    file = re.split(r"[/\\]", path)[-1] or "The library"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/extension-built-for-other-torch",),
        detection=detection(
            event,
            f"{file} was loaded and has no function {symbol}, which its Python part calls",
            "The Python part of the package and the library are of two releases, or another "
            "library of the same name was found first, or the library was built without this part "
            "(a CPU build has no functions for the GPU). torch has no part in it.",
            severity=Severity.ERROR if _GPU.search(file) else Severity.NOTE,
            recipes=(
                Recipe(
                    title="Install the package again, so that both parts are of one release",
                    steps=(
                        Action(
                            install=("<package>",),
                            options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
                        ),
                    ),
                    ask={
                        "package": "the package of the Python file that the traceback names last, "
                        "with its release: name==release"
                    },
                ),
            ),
            name="library-of-another-release",
            captures={"symbol": symbol},
        ),
    )
