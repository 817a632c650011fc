"""Explain bytecode of another Python: in saved models, in pickles, and in cache files.

Bytecode belongs to one minor release of Python (https://docs.python.org/3/library/marshal.html).
Keras stores the function of a Lambda layer so, and cloudpickle and dill whole functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Condition, Recipe

_ABOVE, _LONGEST, _MOST = 40, 400, 2000
_IMPORT = re.compile(r"_compile_bytecode|get_code|marshal\.loads\(memoryview|\.pyc\b")
_KERAS = re.compile(r"keras|load_model|\.h5\b|hdf5|func_load", re.IGNORECASE)
_PYTHON = re.compile(r"\b[Pp]ython(?: version)?:? ?(3\.\d{1,2})\b")
_PARTS = Condition(fact="host.os", one_of=("linux", "macos"))


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which Python has to read the bytecode."""
    for event in list(case.of("bytecode-other-python"))[:1]:
        above = case.log.lines[max(0, event.at - _ABOVE) : event.at + 1]
        if any(_IMPORT.search(line[:_LONGEST]) for line in above):
            yield _cache(event)
        else:
            yield _saved(case, event)


def _cache(event: Event) -> Explanation:
    return explanation(
        event,
        "A cache file of Python (.pyc) is damaged, or was written by another Python",
        "Python keeps compiled modules in folders called __pycache__. A copy that was cut, a full "
        "disk, or .pyc files carried over from another Python end so. The sources are whole.",
        (
            command(
                "Remove the cache files below the environment; Python writes them anew",
                *("find", "<folder>", "-name", "*.pyc", "-path", "*__pycache__*", "-delete"),
                use_if=(_PARTS,),
                ask={"folder": "the folder of the module that the traceback imports last"},
                note="Where .pyc files stand beside no .py file, install that package again.",
            ),
        ),
        name="bytecode-cache",
    )


def _saved(case: Case, event: Event) -> Explanation:
    lines = [line[:_LONGEST] for line in case.log.lines[:_MOST]]
    keras = any(map(_KERAS.search, lines))
    pythons = list(dict.fromkeys(found for line in lines for found in _PYTHON.findall(line)))
    between = f" ({' and '.join(pythons)} are named)" if len(pythons) == 2 else ""
    what = "a Lambda layer of the saved model" if keras else "the file"
    return explanation(
        event,
        f"The code in {what} was saved by another Python than the one that loads it{between}",
        "It is bytecode, which belongs to one minor release of Python. Another release of "
        "TensorFlow, h5py or the pickler does not read it either, and the file is whole.",
        (_there(keras=keras), _from_code()) if keras else (_there(keras=keras),),
        name="bytecode-other-python",
    )


def _there(*, keras: bool) -> Recipe:
    return code(
        "Load it once under the Python that saved it, and save it without code"
        if keras
        else "Load it under the Python that saved it",
        "a Python of the minor release that saved it, such as 3.7",
        'model = keras.models.load_model("old.h5")\nmodel.save_weights("model.weights.h5")'
        if keras
        else "data = pickle.load(file)",
        note="conda create -n old python=3.7 makes such an environment; the program says which one "
        "it was made with."
        + ("" if keras else " Save data there and no functions: they belong to one Python."),
    )


def _from_code() -> Recipe:
    return code(
        "Build the model by its own code, and read the weights alone",
        "the program that loads the model",
        'model = build_model()\nmodel.load_weights("old.h5")',
        before='model = keras.models.load_model("old.h5")',
        note="A layer of one's own, registered with keras.saving, takes the place of Lambda.",
    )
