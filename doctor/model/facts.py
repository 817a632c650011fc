"""Facts: named things about an environment, three-valued everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec

ASSUMED = "assumed"
"""The source of a fact that somebody declared."""


class State(Enum):
    """Whether a thing is there, is not there, or could not be told."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One named thing.

    Its state, its value where present, where it was read, and why it is unknown where it is.
    """

    state: State
    value: Any = None
    source: str = ""
    why: str = ""


Facts: TypeAlias = Mapping[str, Fact]
FactStream: TypeAlias = Iterator[tuple[str, Fact]]
"""Facts with their names, one by one, as a probe or a derivation finds them."""


def present(value: Any, source: str) -> Fact:
    """Make a fact that was seen; `value` is anything JSON can carry."""
    return Fact(state=State.PRESENT, value=value, source=source)


def absent(source: str) -> Fact:
    """Make a fact that was looked for at `source` and is not there."""
    return Fact(state=State.ABSENT, source=source)


def unknown(why: str, source: str = "") -> Fact:
    """Make a fact that could not be told, and say why in one line."""
    return Fact(state=State.UNKNOWN, source=source, why=why)


def value_of(facts: Facts, name: str) -> Any:
    """Return the value of a present fact, else None."""
    fact = facts.get(name)
    return fact.value if fact is not None and fact.state is State.PRESENT else None
