"""Whether a condition holds, in three-valued logic: True, False, or None for "cannot tell"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from doctor.base.patterns import compile_for_fact
from doctor.base.versions import in_range, parse, public
from doctor.facts.placeholders import as_text
from doctor.model.facts import Fact, Facts, State
from doctor.model.issues import Affected, Condition, Range, Recipe


class Truth(msgspec.Struct, frozen=True):
    """The truth of a row, the facts that speak for it, and the facts that are missing to tell."""

    truth: bool | None
    facts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def row_holds(row: Affected, facts: Facts) -> Truth:
    """Say whether every package range and every condition of an affected row holds.

    The first that does not hold settles it.
    """
    parts: list[Truth] = []
    for part in _parts(row, facts):
        if part.truth is False:
            return Truth(False)
        parts.append(part)
    return all_hold(parts)


def _parts(row: Affected, facts: Facts) -> Iterator[Truth]:
    for name, ranges in row.packages.items():
        yield _package_holds(name, ranges, facts)
    for condition in row.when:
        yield condition_holds(condition, facts)


def may_apply(recipe: Recipe, facts: Facts) -> bool:
    """Return whether no fact contradicts the conditions of a fix."""
    held = all_hold(condition_holds(condition, facts) for condition in recipe.conditions)
    return held.truth is not False


def all_hold(parts: Iterable[Truth]) -> Truth:
    """Conjunction: false if any part is false, unknown if any is unknown."""
    parts = tuple(parts)
    truths = [part.truth for part in parts]
    truth = False if False in truths else None if None in truths else True
    return Truth(
        truth,
        tuple(name for part in parts if part.truth for name in part.facts),
        tuple(name for part in parts if part.truth is None for name in part.missing),
    )


def any_holds(parts: Iterable[Truth]) -> Truth:
    """Disjunction: the first row that holds, else what is missing to tell."""
    parts = tuple(parts)
    for part in parts:
        if part.truth:
            return part
    missing = tuple(
        dict.fromkeys(name for part in parts if part.truth is None for name in part.missing)
    )
    return Truth(None if missing else False, (), missing)


def condition_holds(condition: Condition, facts: Facts) -> Truth:
    """Say whether one condition holds of its fact."""
    fact = lookup(condition.fact, facts)
    truth = _holds_of(condition, fact)
    return Truth(truth, (condition.fact,), (condition.fact,) if truth is None else ())


def lookup(name: str, facts: Facts) -> Fact:
    """Return a fact.

    One nobody observed is unknown, unless a complete list of its kind says that it is absent.
    """
    if (fact := facts.get(name)) is not None:
        return fact
    kind, _, _ = name.partition(".")
    complete = {
        "package": "packages",
        "requires": "packages",
        "crate": "cargo.lock",
        "env": "host.os",
        "extension": "extensions.files",
    }.get(kind)
    listed = facts.get(complete) if complete else None
    # A log shows on which system a program failed, and not which variables were set there.
    if listed is not None and listed.state is State.PRESENT and listed.source != "log":
        return Fact(state=State.ABSENT, source=listed.source)
    return Fact(state=State.UNKNOWN, why="nobody looked")


def _package_holds(name: str, ranges: tuple[Range, ...], facts: Facts) -> Truth:
    fact_name = "torch.version" if name == "torch" else f"package.{name}.version"
    return any_holds(
        condition_holds(Condition(fact=fact_name, range=span), facts) for span in ranges
    )


def _holds_of(condition: Condition, fact: Fact) -> bool | None:
    if fact.state is State.UNKNOWN:
        return None
    here = fact.state is State.PRESENT
    if condition.present is not None or condition.absent is not None:
        return here if condition.present or condition.absent is False else not here
    if not here:
        return False
    return _operator_holds(condition, fact.value)


def _operator_holds(condition: Condition, value: Any) -> bool | None:
    if condition.range is not None:
        return in_range(
            str(value), introduced=condition.range.introduced, fixed=condition.range.fixed
        )
    if condition.one_of is not None:
        return any(same(value, wanted) for wanted in condition.one_of)
    if condition.matches is not None:
        items = value if isinstance(value, list | tuple) else [value]
        return any(compile_for_fact(condition.matches).search(as_text(item)) for item in items)
    return condition.equals is not msgspec.UNSET and same(value, condition.equals)


def same(seen: Any, wanted: Any) -> bool:
    """Compare a value with one that an author wrote.

    Versions by their public part and order, everything else as it is.
    """
    if seen == wanted:
        return True
    if not isinstance(seen, str) or not isinstance(wanted, str):
        return False
    left, right = parse(public(seen)), parse(wanted)
    return left is not None and left == right
