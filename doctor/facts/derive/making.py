"""How one fact is made out of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doctor.facts.conditions import lookup
from doctor.model.facts import Fact, Facts, State, absent, present, unknown

SOURCE = "derived"


def derived_fact(facts: Facts, *names: str, make: Callable[..., Any]) -> Fact:
    """Make a fact out of others.

    Absent if one of them is absent or `make` gives None, unknown if one of them is unknown.
    """
    parts = {name: lookup(name, facts) for name in names}
    if any(fact.state is State.ABSENT for fact in parts.values()):
        return absent(SOURCE)
    missing = [name for name, fact in parts.items() if fact.state is State.UNKNOWN]
    if missing:
        return unknown(f"not known: {', '.join(missing)}", SOURCE)
    try:
        value = make(*(fact.value for fact in parts.values()))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # A replayed snapshot is foreign: its facts can hold anything that JSON can.
        return unknown(f"odd value: {', '.join(names)}", SOURCE)
    return absent(SOURCE) if value is None else present(value, SOURCE)
