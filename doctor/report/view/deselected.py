"""Checks that were not asked for, in words."""

from __future__ import annotations

from doctor.model.observation import Observation

_STATIC = "the canaries (--no-canaries)"


def deselected(seen: Observation) -> list[str]:
    """Say in one line which checks belong to another tier, and how long they take."""
    if seen.static:
        return [_STATIC]
    if not seen.deselected:
        return []
    minutes = sum(check.seconds for check in seen.deselected) / 60
    names = ", ".join(check.id for check in seen.deselected)
    them = "it" if len(seen.deselected) == 1 else "them"
    return [f"{names}: --tier deep runs {them}, in {minutes:.0f} min at most"]


def each_deselected(seen: Observation) -> tuple[str, ...]:
    """Say of each check that belongs to another tier what it does, and how long it takes."""
    if seen.static:
        return (_STATIC,)
    return tuple(
        f"{check.id}: {check.summary} (--tier {check.tier.value}, up to {check.seconds:.0f} s)"
        for check in seen.deselected
    )
