"""Explain ordinary failures of a program's own code and data: names, columns, shapes, counts, None.

| failure | what is read |
| --- | --- |
| a name that is not defined | whether the log is of a notebook; the import of well-known names |
| a column that a table lacks | the frames of pandas, and the name |
| sizes that do not fit | both sizes |
| None, and values of another count | the frame: it has to be the program's own code |

Each is a note: no installation mends it. It counts where nothing more specific explains the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inside_packages import is_of_package
from doctor.analyzers.inventory import frames, is_library
from doctor.analyzers.ordinary_errors.rules import RULES, Rule
from doctor.analyzers.recipes import code, command
from doctor.analyzers.texts import Text, filled
from doctor.base.patterns import compile_pattern
from doctor.events.owner import owning_event
from doctor.model.events import Event
from doctor.model.scales import Confidence, Severity

_LONGEST = 1000
_KINDS = ("exception", "object-attribute-missing")
_NAME = re.compile(
    r"(?:\bNameError|\b(?:[Ff]ail(?:ure|ed)|[Ee]rror)\b.{0,80}): (?:global )?"
    r"name ['‘](?P<name>[A-Za-z_]\w{0,60})['’] is not def"
)
_NOTEBOOK = re.compile(r"<ipython-input-|\bCell In ?\[|\bInput In ?\[|ipykernel_\d")
_CELL = re.compile(r"^(?:<ipython-input-|Cell In|Input In)|[/\\]ipykernel_\d")
_IMPORTS = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "tf": "import tensorflow as tf",
    "keras": "from tensorflow import keras",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "optim": "from torch import optim",
    "DataLoader": "from torch.utils.data import DataLoader",
    "Image": "from PIL import Image",
    "tqdm": "from tqdm.auto import tqdm",
    "load_dataset": "from datasets import load_dataset",
    "Dataset": "from torch.utils.data import Dataset",
    "train_test_split": "from sklearn.model_selection import train_test_split",
    **{
        one: f"import {one}"
        for one in ("torch", "torchvision", "transformers", "numpy", "pandas", "cv2", "sklearn")
    },
    **{one: f"import {one}" for one in ("os", "sys", "re", "json", "math", "time", "random")},
    **{one: f"import {one}" for one in ("copy", "glob", "shutil", "pickle", "collections", "gc")},
}
"""The line that defines a name which programs share."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the owning failure of a program says of its own code or data."""
    event = _raised(case)
    if event is None:
        return
    line = event.text[:_LONGEST]
    if (match := _NAME.search(line)) and (found := _undefined(case, event, match["name"])):
        yield found
        return
    for rule in RULES:
        wording = compile_pattern(rule.pattern).search(line)
        if wording is not None and _fits(case, event, rule):
            values = {name: value.strip() for name, value in wording.groups.items() if value}
            if found := _said(event, rule.text, values):
                yield found
            return


def _raised(case: Case) -> Event | None:
    """Return the owning failure; for the line of code that raises it, the message below."""
    event = owning_event(case.events)
    if event is not None and event.kind == "raise-statement":
        event = next((one for one in case.of("exception") if one.at > event.at), None)
    return event if event is not None and event.kind in _KINDS else None


def _fits(case: Case, event: Event, rule: Rule) -> bool:
    files = list(frames(case, event))
    if rule.inside is not None:
        return any(rule.inside.search(file) for file in files)
    if not rule.own:
        return True
    return bool(files and not is_library(files[0])) and not is_of_package(case, event)


def _undefined(case: Case, event: Event, name: str) -> Explanation | None:
    """Return what a name means that the program's own code does not define."""
    files = list(frames(case, event))
    is_cell = bool(files and _CELL.search(files[0]))
    if not files and any(_NOTEBOOK.search(line[:_LONGEST]) for line in case.log.lines):
        is_cell = True
    if files and not is_cell and is_library(files[0]):
        return None  # inside_packages explains names in the files of packages
    if name in _IMPORTS:
        return _said(event, _imported(name, is_cell=is_cell), {"name": name})
    return _said(event, _CELL_NOT_RUN if is_cell else _NEVER_DEFINED, {"name": name})


def _said(event: Event, text: Text, values: dict[str, str]) -> Explanation | None:
    title, cause = filled(text.titles, values), filled(text.causes, values)
    if title is None or cause is None:
        return None
    return Explanation(
        event=event,
        precision=text.precision,
        detection=detection(
            event,
            title,
            cause,
            recipes=text.recipes,
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
            name="own-code",
            captures=values,
        ),
    )


def _imported(name: str, *, is_cell: bool) -> Text:
    where = "a cell above, which is then run" if is_cell else "the top of the file that fails"
    return Text(
        "{name} was used before it was imported",
        "Programs get this name from an import, and none ran before this line."
        + (" After a restart of the kernel the cell with the imports has to run again." * is_cell),
        (code(f"Import {name}", where, _IMPORTS[name]),),
        precision=Precision.ADVICE,
    )


_NEVER_DEFINED = Text(
    "The program's own code uses {name}, which nothing in it defines",
    "It is a mistake of that file: an import that is missing or was left out after an error, a "
    "branch that did not set the name, or files of two states of the program. No package is at "
    "fault.",
    (
        command(
            "Bring the program up to date",
            *("git", "pull"),
            use_if=("the current folder is the program's clone",),
            note="Such a mistake is mostly mended soon after.",
        ),
        code(
            "See where it should come from, and import or set it above",
            "the file that the lowest frame of the traceback names",
            "from <module> import {log.name}",
            note="An import inside of try: that failed is the usual reason: run it alone to see "
            "its error.",
        ),
    ),
    precision=Precision.GUESS,
)
_CELL_NOT_RUN = Text(
    "The cell that defines {name} has not run in this kernel",
    "A notebook keeps names only of cells that ran to the end since its kernel started. The cell "
    "was left out, failed, or stands below; or the name is spelled another way there.",
    (
        command(
            "Run all cells from the first one, in their order",
            *("jupyter", "nbconvert", "--to", "notebook", "--execute", "--inplace", "<notebook>"),
            ask={"notebook": "the file of the notebook"},
            note="In the notebook itself: Restart, then Run all. The first cell that fails then is "
            "the cause.",
        ),
    ),
    precision=Precision.ADVICE,
)
