"""Turn the wishes of a finding into choices for the resolver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from doctor.base.requirements import InvalidRequirement, Line, normalize_name, read_line
from doctor.fixes.effect import packages
from doctor.fixes.wishes import CandidateFix, Part, wishes_for
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.issues import Option
from doctor.planning.askers import Way, way_of
from doctor.planning.resolver import Choice, Need

NONE = -1
"""The number of the choice that leaves a finding to what others bring about."""
_PREVENTIONS = ("PIP_CONSTRAINT", "UV_CONSTRAINT")


class Goal:
    """A finding that a plan has to end, with the wishes that may do so, best first."""

    def __init__(self, found: Detection, facts: Facts, *, less_likely: bool = False) -> None:
        """Take the wishes of a finding; `less_likely` puts the other way to a requirement first."""
        self.found = found
        self.wishes = _usable(wishes_for(found, facts), packages(facts) or {})
        self.way = way_of(found, facts)
        if self.way is not None:
            first = self.way.likely != less_likely
            self.wishes = (self.way, *self.wishes) if first else (*self.wishes, self.way)
        self.torch = str(value_of(facts, "torch.release") or "")

    @property
    def id(self) -> str:
        """Return the id of the finding."""
        return self.found.id

    def choices(self, banned: frozenset[int] = frozenset()) -> tuple[Choice, ...]:
        """Return the choices that are left, for the resolver."""
        own = (
            Choice(f"goal:{self.id}", number, tuple(_needs(wish, self.torch, self.id)))
            for number, wish in enumerate(self.wishes)
            if number not in banned
        )
        return (*own, Choice(f"goal:{self.id}", NONE, ()))


def _usable(wishes: Sequence[CandidateFix], here: Mapping[str, str]) -> tuple[CandidateFix, ...]:
    """Return what a machine can carry out, what needs no reader's judgement first.

    Of what needs one, first what brings no new package, then what removes none.
    """
    usable = [
        one
        for one in wishes
        if not one.is_for_human and one.fix.safe and _mends(one) and not _is_a_bet(one)
    ]

    def order(wish: CandidateFix) -> tuple[bool, bool, int, int]:
        wanted = {normalize_name(line.name) for part in wish.parts for line, _ in lines(part)}
        gone = {name for part in wish.parts for name in part.unwanted} - wanted
        unsure = bool(wish.fix.use_if)
        new, removed = (len(wanted - here.keys()), len(gone)) if unsure else (0, 0)
        return not wish.fix.lasting, unsure, new, removed

    return tuple(sorted(usable, key=order))


def _is_a_bet(wish: CandidateFix) -> bool:
    """Say whether a wish changes the machine or a variable under a condition that facts left open.

    Where the condition does not hold, such a step hides the fault or takes something away that
    worked, and no dry run of an installer stops it. The finding shows it behind its condition.
    """
    return bool(wish.fix.use_if) and not any(part.wanted or part.unwanted for part in wish.parts)


def _mends(wish: CandidateFix) -> bool:
    """Say whether a wish changes anything now.

    Looking at something does not, and neither does holding a release in later installations.
    """
    variables = [name for part in wish.parts for name in part.env]
    looks = wish.fix.kind == "configure" and not wish.fix.lasting
    return not looks and not any(name in _PREVENTIONS for name in variables)


def is_opaque(wish: CandidateFix) -> bool:
    """Say whether a wish does something whose effect on the facts nobody can foresee."""
    return any(part.steps for part in wish.parts)


def _needs(wish: CandidateFix, torch: str, by: str) -> Iterator[Need]:
    wanted = [line for part in wish.parts for line, _ in lines(part)]
    names = {normalize_name(line.name) for line in wanted}
    for part in wish.parts:
        pins_torch = any(
            normalize_name(line.name) == "torch" and line.specifier.startswith("==")
            for line, _ in lines(part)
        )
        for line, is_asked in lines(part):
            free = isinstance(wish, Way) and is_asked
            newer = Option.UPGRADE in part.options and is_asked and not pins_torch
            pinned = "==" in line.specifier
            yield Need(
                normalize_name(line.name),
                (line.specifier,) if line.specifier else (),
                newer=newer and not pinned,
                free=free,
                by=by,
            )
        for name in part.unwanted:
            if name not in names:
                yield Need(name, gone=True, by=by)
        if Option.HOLD_TORCH in part.options and torch and "torch" not in names:
            yield Need("torch", (f"=={torch}",), by=by)


def lines(part: Part) -> Iterator[tuple[Line, bool]]:
    """Yield the requirements of a part, and whether its author asks for each in any case."""
    for text in part.wanted:
        try:
            yield read_line(text), text in part.asked
        except InvalidRequirement:
            continue


def rewritten(wishes: Mapping[str, CandidateFix]) -> frozenset[str]:
    """Return the packages whose files are to be written again in the same release."""
    names = set[str]()
    for wish in wishes.values():
        gone = {name for part in wish.parts for name in part.unwanted}
        for part in wish.parts:
            for line, is_asked in lines(part):
                name = normalize_name(line.name)
                if name in gone or (Option.REINSTALL in part.options and is_asked):
                    names.add(name)
    return frozenset(names)
