"""Read what plans and reports ask for, and whether a plan changes anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from doctor.base.requirements import (
    InvalidRequirement,
    Line,
    may_meet,
    normalize_name,
    read_line,
)
from doctor.environments.environment import Environment
from doctor.model.plans import Change, Plan
from doctor.model.report import Report
from doctor.observe.scene import Distribution
from doctor.repair import commands
from doctor.repair.commands import Kind
from doctor.repair.failures import Failure
from doctor.repair.merging import install_of
from doctor.repair.reading import SOURCE
from doctor.repair.requests import Original, actionable

_NO_MODULE = re.compile(r"No module named|is not installed|pip install|[Mm]issing")


def installs_nothing_new(
    plan: Plan, here: Mapping[str, Distribution], environment: Environment
) -> bool:
    """Return whether a plan only installs what is installed."""
    texts = [text for step in plan.steps if (found := install_of(step)) for text in found[1]]
    kinds = {commands.task(step, environment).kind for step in plan.steps}
    forced = any(
        word.startswith(("--upgrade", "--reinstall", "--force"))
        for step in plan.steps
        if (found := install_of(step))
        for word in found.head
    )
    return kinds == {Kind.INSTALL} and not forced and all(_is_here(text, here) for text in texts)


def _is_here(text: str, here: Mapping[str, Distribution]) -> bool:
    try:
        line = read_line(text)
    except InvalidRequirement:
        return False
    one = here.get(normalize_name(line.name))
    return one is not None and not line.address and may_meet(one.version, line.specifier)


def asked_by(report: Report) -> Iterator[Line]:
    """Yield the requirements of the fixes for what the program itself printed."""
    for found in actionable(report):
        if all(piece.source != SOURCE for piece in found.evidence):
            continue
        for fix in found.fixes:
            for step in fix.steps if not fix.use_if else ():
                install = install_of(step)
                for text in install.requirements if install else ():
                    with suppress(InvalidRequirement):
                        yield read_line(text)


def taken_away(
    report: Report, changes: Sequence[Change], here: Mapping[str, Distribution]
) -> frozenset[str]:
    """Return the packages of which the program asks for the release that changes took away."""
    after = {one.name: one.after for one in changes if one.before}
    return frozenset(
        normalize_name(line.name)
        for line in asked_by(report)
        if (release := after.get(normalize_name(line.name)))
        and normalize_name(line.name) in here
        and not may_meet(release, line.specifier)
        and may_meet(here[normalize_name(line.name)].version, line.specifier)
    )


def set_by(plan: Plan) -> dict[str, str]:
    """Return the variables that a plan sets."""
    found: dict[str, str] = {}
    for step in plan.steps:
        wanted = commands.variables(step) or {}
        found |= {name: value or "" for name, value in wanted.items()}
    return found


def adds_unnamed(absent: Iterable[str], failure: Failure, original: Original) -> bool:
    """Say whether a plan would add a package that neither the failure nor a problem names."""
    missing = failure.error if _NO_MODULE.search(failure.error) else ""
    named = normalize_name(" ".join((missing, *original.problems)))
    return any(name not in named for name in absent)
