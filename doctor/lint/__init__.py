"""Rules for catalog entries, the examples inside them included; every fault at once, each with its file and place."""

from __future__ import annotations

from pathlib import Path

from doctor.catalog import CatalogError, read_entry
from doctor.lint.examples import lint_examples
from doctor.lint.issue import lint_issue
from doctor.lint.tables import lint_tables
from doctor.model.checks import Check
from doctor.model.issues import KnownIssue

__all__ = ["lint"]


def lint(folder: Path, checks: dict[str, Check]) -> tuple[str, ...]:
    """Return every fault of a catalog folder, as `file: place: sentence`; empty where there is none."""
    faults: list[str] = []
    loaded: dict[str, KnownIssue] = {}
    for path in sorted((folder / "issues").rglob("*.yaml")):
        name = path.relative_to(folder / "issues").with_suffix("").as_posix()
        try:
            loaded[name] = read_entry(path, KnownIssue)
        except CatalogError as error:
            faults.append(str(error))
    faults += [f"{folder / 'compat'}: {fault}" for fault in lint_tables(folder)]
    for name, issue in loaded.items():
        faults += [f"{folder / 'issues' / name}.yaml: {fault}" for fault in lint_issue(name, issue, loaded, checks)]
    return (*faults, *([] if faults else lint_examples(folder)))
