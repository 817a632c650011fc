"""Where formats for machines place a finding, and a fingerprint that stays from run to run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from doctor.base.text import sanitize
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding, Place

_CARGO = ("Cargo.toml", "Cargo.lock")
_ABSOLUTE = re.compile(r"^(?:[/\\~$]|[A-Za-z]:)")
_LONGEST = 1000


def anchor(found: Finding, facts: Facts) -> Place:
    """Return where to show a finding: its own place, else the first manifest of its kind.

    Always a path inside the project.

    Code scanning drops a result without a file, and refuses an absolute one.
    """
    if found.place is not None and is_inside(found.place.path):
        return Place(path=found.place.path, line=max(found.place.line, 1))
    listed = value_of(facts, "project.manifests")
    names = (
        [name for name in listed if isinstance(name, str) and is_inside(name)]
        if isinstance(listed, list | tuple)
        else []
    )
    cargo = found.target == "cargo"
    own = [name for name in names if name.endswith(_CARGO) is cargo]
    return Place(path=next(iter((*own, *names)), _CARGO[0] if cargo else "pyproject.toml"))


def is_inside(path: str) -> bool:
    """Say whether a path is one inside a project, as a report may show it."""
    steps = path.replace("\\", "/").split("/")
    return (
        0 < len(path) <= _LONGEST
        and not _ABSOLUTE.match(path)
        and ".." not in steps
        and sanitize(path) == path
        and "\n" not in path
    )


def fingerprints(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a fingerprint for each finding: its id, its target and its number among its like.

    It does not depend on versions, lines or the machine.

    A red check has a finding for each device, so that several may share a rule.
    """
    count: dict[tuple[str, str], int] = {}
    for found in findings:
        key = (found.id, found.target)
        count[key] = count.get(key, 0) + 1
        told = "\0".join((*key, str(count[key])))
        yield hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()
