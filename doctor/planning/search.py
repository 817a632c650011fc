"""Search one set of changes around an anchor: resolve, lay over the facts, judge again, repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from doctor.base.globs import matches_any
from doctor.facts.families import requirement_of
from doctor.fixes.effect import name_of
from doctor.fixes.wishes import CandidateFix
from doctor.model.facts import Facts
from doctor.model.findings import Detection
from doctor.model.fixes import Step
from doctor.planning.askers import Way
from doctor.planning.environment import Environment
from doctor.planning.goals import NONE, Goal, is_opaque, rewritten
from doctor.planning.overlay import Changes
from doctor.planning.resolver import GOAL, Choice, Need, Pick, Problem, solve

_ROUNDS = 24
PROJECT = "the project"
"""Who asks for what a project pins."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One set of changes: what moves, which wishes it carries out, and what comes of it.

    `against` counts the requirements that are met in the less likely way. `steps` are the commands
    of a tool that does all of it by itself, such as `uv sync`.
    """

    anchor: str
    picks: Mapping[str, Pick]
    wishes: Mapping[str, CandidateFix]
    changes: Changes
    solved: tuple[str, ...]
    left: tuple[str, ...]
    against: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def moves(self) -> frozenset[str]:
        """Return the packages that move or go."""
        return frozenset((*self.changes.moved, *self.changes.removed))

    @property
    def ways(self) -> tuple[Way, ...]:
        """Return the requirements that are met by moving who asks."""
        return tuple(wish for wish in self.wishes.values() if isinstance(wish, Way))


class Search:
    """The rounds for one anchor."""

    def __init__(
        self,
        around: Environment,
        anchor: str,
        torch: str,
        *,
        expendable: Iterable[str] = (),
        without: Iterable[str] = (),
        less_likely: bool = False,
        free: bool = False,
    ) -> None:
        self._around, self._anchor, self._torch = around, anchor, torch
        self._expendable = frozenset(expendable)
        self._without = frozenset(without)
        self._less_likely = less_likely
        self._pins = {} if free else around.pinned
        self._goals: dict[str, Goal] = {}
        self._banned: dict[str, set[int]] = {}
        self._given_up: dict[str, None] = {}
        self._relaxed: frozenset[tuple[str, str]] = frozenset()
        for one in around.findings:
            # A rule would move what is asked for before any goal could say otherwise.
            if one.id in around.ways and around.ways[one.id].likely != less_likely:
                self._goals[one.id] = self._goal(one, around.facts)

    def of(self, picks: Mapping[str, Pick], steps: tuple[Step, ...]) -> Draft:
        """Return the draft of a tool that moves these packages by itself."""
        return msgspec.structs.replace(self._judged(picks), steps=steps)

    def draft(self) -> Draft | None:
        """Return the changes; None where the rules leave none."""
        found = self._settled()
        if found is None:
            return None
        for name in list(self._goals):
            shorter = self._shorter(found, name)
            found = shorter or found
        return found

    def _settled(self) -> Draft | None:
        draft: Draft | None = None
        for _ in range(_ROUNDS):
            mapping = self._solved()
            if mapping is None:
                return None
            draft = self._judged(mapping)
            open_ = [name for name in draft.left if name not in self._given_up]
            if not open_:
                return draft
            for name in open_:
                self._push(name, draft)
        return draft

    def _solved(self) -> Mapping[str, Pick | Choice] | None:
        """Resolve; a requirement that is not met now and that no release can meet is let be."""
        while True:
            mapping, blamed = solve(self._problem())
            if mapping is not None:
                return mapping
            if hopeless := (blamed & self._around.unmet) - self._relaxed:
                self._relaxed |= hopeless
            else:
                return None

    def _problem(self) -> Problem:
        around = self._around
        roots = [
            Need(name, optional=True)
            for name in sorted({*around.needs_of, *around.compiled} & around.here.keys())
        ]
        if self._torch:
            roots.append(Need("torch", (f"=={self._torch}",)))
        roots += [
            Need(name, (f"=={release}",), optional=True, by=PROJECT)
            for name, release in sorted(self._pins.items())
            if name != "torch" or not self._torch
        ]
        goals = {
            name: goal.choices(frozenset(self._banned.get(name, ())))
            for name, goal in self._goals.items()
        }
        return Problem(
            here=around.here,
            knowledge=around.knowledge,
            needs_of={
                name: tuple(need for need in needs if (name, need.name) not in self._relaxed)
                for name, needs in around.needs_of.items()
            },
            roots=tuple(roots),
            goals=goals,
            expendable=self._expendable,
            asked=around.asked_release,
        )

    def _push(self, name: str, draft: Draft) -> None:
        """Add a goal for a finding that stays, or take away the choice that did not end it."""
        if name in self._goals:
            chosen = draft.wishes.get(name)
            self._ban(name, self._goals[name].wishes.index(chosen) if chosen else None)
            return
        found = next((one for one in self._around.findings if one.id == name), None)
        facts = self._around.facts
        if found is None:
            after = self._around.after(draft.changes)
            facts, found = after.facts, after.shown.get(name)
        is_symptom = found is not None and (
            bool(self._around.damage_of(found)) or self._is_consequence(found, facts)
        )
        goal_ = None if found is None or is_symptom else self._goal(found, facts)
        if goal_ is None or not goal_.wishes or name in self._without:
            self._given_up[name] = None
        else:
            self._goals[name] = goal_

    def _is_consequence(self, found: Detection, facts: Facts) -> bool:
        """Say whether a finding follows from another, and only the machine itself could mend it.

        A GPU is not reset for errors of a memory that has to be exchanged.
        """
        wishes = self._goal(found, facts).wishes
        return bool(wishes) and is_opaque(wishes[0]) and bool(self._causes_of(found))

    def _causes_of(self, found: Detection) -> list[str]:
        """Return the ids of the other findings that explain one."""
        return [
            other.id
            for other in self._around.findings
            if other.id != found.id and matches_any(found.id, other.symptoms)
        ]

    def _goal(self, found: Detection, facts: Facts) -> Goal:
        return Goal(found, facts, less_likely=self._less_likely)

    def _ban(self, name: str, number: int | None) -> None:
        banned = self._banned.setdefault(name, set())
        if number is not None:
            banned.add(number)
        if number is None or len(banned) >= len(self._goals[name].wishes):
            del self._goals[name]
            self._given_up[name] = None

    def _shorter(self, draft: Draft, name: str) -> Draft | None:
        """Return the draft without one goal, where nothing more is left and less moves."""
        goal = self._goals.pop(name, None)
        if goal is None:
            return None
        mapping, _ = solve(self._problem())
        other = self._judged(mapping) if mapping is not None else None
        if (
            other is not None
            and set(other.left) <= set(draft.left)
            and set(other.picks.items()) <= set(draft.picks.items())
            and set(other.wishes) < set(draft.wishes)
        ):
            return other
        self._goals[name] = goal
        return None

    def _judged(self, mapping: Mapping[str, Pick | Choice]) -> Draft:
        around = self._around
        picks = {
            name: one
            for name, one in mapping.items()
            if isinstance(one, Pick) and self._is_move(one)
        }
        wishes = {
            name.removeprefix(GOAL): self._goals[name.removeprefix(GOAL)].wishes[one.number]
            for name, one in mapping.items()
            if isinstance(one, Choice) and one.number != NONE
        }
        changes = self._changes(picks, wishes)
        after = around.after(changes)
        shown = after.shown
        left = [
            one.id for one in around.findings if not self._is_solved(one, shown, changes, wishes)
        ]
        new = [name for name in shown if name not in around.before and name not in around.static]
        return Draft(
            anchor=self._anchor,
            picks=picks,
            wishes=wishes,
            changes=changes,
            solved=tuple(
                dict.fromkeys(
                    (
                        *(one.id for one in around.findings if one.id not in left),
                        *sorted(around.notes - after.notes),
                    )
                )
            ),
            left=(*left, *new),
            against=sum(
                isinstance(wishes.get(name), Way) != way.likely for name, way in around.ways.items()
            ),
        )

    def _is_move(self, pick: Pick) -> bool:
        here = self._around.here
        return (pick.name in here) if pick.gone else not pick.stays

    def _changes(self, picks: Mapping[str, Pick], wishes: Mapping[str, CandidateFix]) -> Changes:
        variables = {
            name: value
            for wish in wishes.values()
            for part in wish.parts
            for name, value in part.env.items()
            if not part.wanted
        }
        return Changes(
            moved={name: one.version for name, one in picks.items() if not one.gone},
            removed=frozenset(name for name, one in picks.items() if one.gone),
            written=rewritten(wishes),
            variables={name: value for name, value in variables.items() if value},
            unset=frozenset(name for name, value in variables.items() if not value),
            swept=bool(picks or wishes),
        )

    def _is_solved(
        self,
        one: Detection,
        found: Mapping[str, Detection],
        changes: Changes,
        wishes: Mapping[str, CandidateFix],
    ) -> bool:
        mended = {name for name, wish in wishes.items() if is_opaque(wish)}
        if one.id in mended or mended.intersection(self._causes_of(one)):
            return True
        if one.id in found:
            return False
        if one.id in self._around.static or one.id in wishes:
            return True
        return self._is_symptom(one, found) or self._is_touched(one, changes)

    def _is_symptom(self, one: Detection, found: Mapping[str, Detection]) -> bool:
        """Say whether a finding of a run goes with one that the facts no longer show."""
        causes = [
            other
            for other in self._around.findings
            if other.id != one.id and other.id in self._around.static
        ]
        return any(
            matches_any(one.id, other.symptoms) and other.id not in found for other in causes
        )

    def _is_touched(self, one: Detection, changes: Changes) -> bool:
        """Say whether a finding of a run is about a package that changes, or what it stands on."""
        touched = {*changes.moved, *changes.removed, *changes.written}
        family, _, rest = one.id.partition("/")
        if damage := self._around.damage_of(one):
            return damage <= touched
        if family == "import":
            return bool(touched & self._around.ground(frozenset({rest})))
        return bool(touched & _asked_by(one))


def _asked_by(found: Detection) -> frozenset[str]:
    """Return the packages that the fixes of a finding install, and those that it cites."""
    named = {
        name_of(text) for recipe in found.recipes for step in recipe.steps for text in step.install
    }
    pairs = (requirement_of(piece.fact) for piece in found.evidence)
    return frozenset(named | {pair[0].wanted for pair in pairs if pair})
