"""Rules for catalog entries, the examples inside them included.

Every fault at once, each with its file, line and place.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from doctor.catalog.reference import FAMILIES
from doctor.lint.examples import lint_examples
from doctor.lint.issue import lint_issue
from doctor.lint.reference import lint_reference
from doctor.lint.shape import Entry
from doctor.lint.tables import lint_table
from doctor.lint.titles import lint_title
from doctor.model.checks import Check
from doctor.model.compat import Table
from doctor.model.issues import KnownIssue

__all__ = ["lint"]

_T = TypeVar("_T")


def lint(folder: Path, checks: dict[str, Check]) -> tuple[str, ...]:
    """Return every fault of a catalog folder, as `file:line: place: sentence`.

    Empty where there is none.

    Examples are run once nothing else is wrong: they are judged beside all other entries.
    """
    issues, tables = _entries(folder / "issues", KnownIssue), _entries(folder / "compat", Table)
    for name, entry in issues.items():
        if entry.value is not None:
            entry.faults += lint_issue(name, entry.value, frozenset(issues), checks)
            entry.faults += lint_title(name, entry.value)
    for table in tables.values():
        table.faults += lint_table(table.value) if table.value is not None else ()
    faults = [fault for entry in issues.values() for fault in entry.located(entry.faults)]
    faults += [fault for entry in tables.values() for fault in entry.located(entry.faults)]
    for family, kind in FAMILIES.items():
        for reference in _entries(folder / family, kind).values():
            if reference.value is not None:
                reference.faults += lint_reference(reference.value)
            faults += reference.located(reference.faults)
    if not faults:
        for name, found in lint_examples(folder).items():
            faults += issues[name].located(found)
    return tuple(faults)


def _entries(folder: Path, kind: type[_T]) -> dict[str, Entry[_T]]:
    paths = sorted(folder.rglob("*.yaml"))
    return {
        path.relative_to(folder).with_suffix("").as_posix(): Entry(path, kind) for path in paths
    }
