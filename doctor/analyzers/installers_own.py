"""Faults in an installer's own code: the last frame of the traceback lies in pip, conda or Poetry.

Such a traceback says nothing of the package that was asked for, and another release of the
installer is the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.inventory import distinct, frames
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_FAULT = re.compile(
    r"^(?:\w{1,12}:\s)?(Assertion|Attribute|Key|Type|Value|Index|Name|UnboundLocal|Recursion)Error"
    r"\b"
)
_INSTALLERS = (
    ("pip", re.compile(r"[/\\]pip[/\\]_(?:internal|vendor)[/\\]")),
    ("conda", re.compile(r"[/\\]site-packages[/\\]conda(?:_env|_libmamba_solver)?[/\\]")),
    ("Poetry", re.compile(r"[/\\]site-packages[/\\]poetry[/\\]")),
)
_OTHERS = re.compile(r"[/\\](?:pep517|pyproject_hooks|_in_process)[/\\.]|setup\.py$|pip-install-")
_MOST = 3


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that an installer failed in its own code."""
    kinds = ("own-assertion", "exception", "object-attribute-missing", "module-attribute-missing")
    for event in distinct(case, *kinds, most=_MOST):
        path = next(frames(case, event), "")
        fault = _FAULT.search(event.text.strip())
        name = next((name for name, of in _INSTALLERS if of.search(path)), "")
        if not fault or not name or _OTHERS.search(path):
            continue
        yield _explanation(case, event, name, re.split(r"[/\\]", path)[-1], f"{fault[1]}Error")


def _explanation(case: Case, event: Event, name: str, file: str, fault: str) -> Explanation:
    lines = case.log.lines[max(event.at - 3, 0) : event.at + 1]
    recipes: tuple[Recipe, ...] = (_NEWER[name],)
    if any("assert building_is_possible" in line for line in lines):
        # pip 19.0 broke --no-cache-dir; 19.0.1 mended it (https://pip.pypa.io/en/stable/news/).
        recipes += (
            Recipe(
                title="Repeat the command without --no-cache-dir",
                use_if=("pip has to stay at 19.0",),
                steps=(Action(install=("<package>",), options=()),),
                ask={"package": "the package that was asked for"},
            ),
        )
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} itself failed ({fault} in {file}), not the package that was asked for",
            f"The traceback ends in {name}'s own code. Such faults belong to a release of {name}, "
            "or to files of two releases in one folder.",
            recipes=recipes,
            name="installer-failed",
        ),
    )


_NEWER = {
    "pip": Recipe(
        title="Update pip, then repeat the command",
        steps=(Action(install=("pip",), options=(Option.UPGRADE,)),),
        note="Where pip cannot even do that, python -m ensurepip --upgrade brings one back.",
    ),
    "conda": command(
        "Update conda, then repeat the command", "conda", "update", "-n", "base", "conda"
    ),
    "Poetry": command("Update Poetry, then repeat the command", "poetry", "self", "update"),
}
