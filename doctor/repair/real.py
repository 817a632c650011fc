"""Keep to the user's environment: what was only so in a copy of another round is not told."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from doctor.base.requirements import normalize_name
from doctor.model.plans import Plan
from doctor.repair.reading import OF_PROJECT, unmet
from doctor.repair.requests import Original

_FAMILY, _LONGEST = "requires/", 1000
_BUILT = re.compile(r"^[Nn]o wheel of ([^:]{1,600}) for [^:]{0,60}:")


def of_original(
    found: Iterable[tuple[str, str]], original: Original
) -> tuple[tuple[str, str], ...]:
    """Return findings, ids and titles, without requirements that the original meets.

    The title of the others says what is installed in the original.
    """
    real: dict[str, dict[str, None]] = {}
    for one in unmet(original.problems):
        real.setdefault(f"{_FAMILY}{one.package}", {})[one.words] = None
    named = {one.id: one.title for one in original.report.findings}
    kept = dict.fromkeys(
        (name, named.get(name, title) if _is_requirement(name) else title)
        for name, title in found
        if not _is_requirement(name) or name in real or name in named
    )
    return tuple(
        (name, title if name in named or name not in real else "; ".join(real[name]))
        for name, title in kept
    )


def _is_requirement(name: str) -> bool:
    return name.startswith(_FAMILY) and name != OF_PROJECT


def of_plan(plan: Plan, original: Original) -> Plan:
    """Return a proved plan without findings and notes of releases that it does not install."""
    after = {normalize_name(one.name): one.after for one in plan.changes}
    kept = {name for name, _ in of_original(((one, "") for one in plan.solves), original)}
    return msgspec.structs.replace(
        plan,
        solves=tuple(one for one in plan.solves if one in kept),
        notes=tuple(one for one in plan.notes if _holds(one, after)),
    )


def _holds(note: str, after: dict[str, str | None]) -> bool:
    """Say whether a note about builds speaks of a release that is installed."""
    found = _BUILT.match(note[:_LONGEST])
    named = [text.partition("==") for text in found[1].split(", ")] if found else []
    return not named or any(
        not release or after.get(normalize_name(name)) == release for name, _, release in named
    )
