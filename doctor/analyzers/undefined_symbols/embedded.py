"""A program that holds Python and keeps its names to itself."""

from __future__ import annotations

import re

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.recipes import LINUX
from doctor.analyzers.undefined_symbols.owners import short
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet

EVERY_PYTHON = re.compile(
    r"PyExc_(?:ImportError|SystemError|ValueError|RuntimeError|TypeError|KeyError|IndexError"
    r"|MemoryError|AttributeError|OverflowError|NotImplementedError|OSError|StopIteration"
    r"|Exception)$|Py(?:Float|Tuple|Dict|List|Type|Bool|BaseObject|Long|Complex)_Type$"
    r"|_Py_NoneStruct$|PyErr_(?:SetString|Occurred|Format|Clear)$|PyObject_(?:Call|GetAttrString)$"
    r"|PyList_New$|PyType_Ready$"
)
"""What each Python 3 exports, so that no other release of it explains why it is missing."""
_WITHOUT_M = 8
"""Since Python 3.8 the library has no m in its name (bpo-36707)."""


def embedded(event: Event, file: str, symbol: str, python: str) -> Explanation:
    """Explain a symbol of each Python: a program holds Python and does not share its names."""
    minor = python.partition(".")[2]
    ending = "m" if minor.isdigit() and int(minor) < _WITHOUT_M else ""
    shared = f"libpython{python}{ending}.so.1.0"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/*other-torch*", "*/built-for-another-torch", "numpy/*"),
        detection=detection(
            event,
            f"The program that holds Python does not share its names: {short(symbol)} is missing "
            f"for {file}",
            f"Each Python has {short(symbol)}, so this is no other release. A program that loads "
            "libpython as a plug-in (dlopen without RTLD_GLOBAL, a module of Node or Java, a "
            "plug-in of an editor) keeps its names to itself, and modules of Python are linked "
            "without libpython: they expect the names in the process.",
            recipes=(
                Recipe(
                    title="Load libpython before the program, so that all can see it",
                    use_if=(LINUX,),
                    steps=(Action(env={"LD_PRELOAD": shared}),),
                    note="Where the loader does not find it, write its whole path: it lies in lib "
                    "or lib/x86_64-linux-gnu below what python3-config --prefix prints.",
                ),
                Recipe(
                    title="Open libpython for all in the program, before Py_Initialize",
                    use_if=("the program is your own",),
                    snippet=Snippet(
                        where="the C or C++ source that starts Python",
                        after=f'dlopen("{shared}", RTLD_NOW | RTLD_GLOBAL);',
                    ),
                    note="A program that is linked with the static libpython needs -rdynamic at "
                    "its link.",
                ),
            ),
            name="embedded-python-not-shared",
        ),
    )
