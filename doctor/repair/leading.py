"""Search a plan by the user's program: each failure leads to the next part of the cure.

The program runs in a clone after each change. A change stays in the plan where the program comes
further with it (failures.py). For each failure these are tried, in this order:

1. the installed release again of a package that cannot be loaded as it lies there (damage.py);
2. another name for a file of the program's folder that hides a module (shadows.py);
3. the program without what comes into it from outside (intruders.py);
4. what the findings about this failure ask for, and the other plans;
5. other releases of the packages that the traceback speaks of (suspects.py), the nearest that does.

Where the program asks for the release that a change took away, that package stays from then on, and
the search begins again: who does not fit it has to move.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from doctor.base.requirements import (
    InvalidRequirement,
    Line,
    may_meet,
    normalize_name,
    read_line,
)
from doctor.base.text import one_line
from doctor.base.versions import parse, public
from doctor.model.checks import Progress
from doctor.model.fixes import Step
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.repair import commands
from doctor.repair.commands import Kind
from doctor.repair.examination import Bench, Ending
from doctor.repair.merging import (
    combined,
    contradict,
    install_of,
    instead,
    moved_names,
    name_in,
    named_in,
    without,
)
from doctor.repair.nearest import nearest
from doctor.repair.pruning import pruned
from doctor.repair.reading import SOURCE, unmet
from doctor.repair.releases import Shelf
from doctor.repair.requests import Original, actionable
from doctor.repair.states import State, Trials, is_as_far, release_of
from doctor.repair.suspects import suspects
from doctor.repair.unmoved import without_moves

_FAULTS, _RESTARTS, _CANDIDATES = 8, 3, 4
_NO_MODULE = re.compile(r"No module named|is not installed|pip install|[Mm]issing")
_SHARE = 0.6
"""The part of the time that is left which the search may take."""


def lead(
    plans: Sequence[Plan], original: Original, bench: Bench, progress: Progress
) -> Plan | None:
    """Return the plan with which the program comes furthest; None where none brings it further.

    What the program needs as it is stays in `bench.held` afterwards.
    """
    ending = bench.program()
    if ending is None or ending.ok or original.environment.kind == "system":
        return None
    return _Search(plans, original, bench, progress).plan(ending)


class _Search:
    def __init__(
        self, plans: Sequence[Plan], original: Original, bench: Bench, progress: Progress
    ) -> None:
        self._plans, self._original, self._bench = tuple(plans), original, bench
        self._environment = original.environment
        self._least = original.seconds_left() * (1 - _SHARE)
        self._trials = Trials(original, bench, progress)
        self._here = self._trials.here

    def plan(self, ending: Ending) -> Plan | None:
        """Return the plan of the furthest state."""
        best: State | None = None
        for _ in range(_RESTARTS + 1):
            held = self._bench.held
            state = self._from(State(Plan(title=""), ending))
            if state.ending.ok:
                return state.plan
            if state.plan.steps and (best is None or self._trials.is_further(best, state, ())):
                best = state
            if self._bench.held == held or not self._goes_on():
                break
        return best.plan if best is not None else None

    def _goes_on(self) -> bool:
        return self._original.seconds_left() > self._least

    def _from(self, state: State) -> State:
        """Go on from a state as long as the program comes further."""
        seen = {state.failure.mark}
        for number in range(1, _FAULTS + 1):
            held = self._bench.held
            found = self._next(state)
            if self._bench.held != held:
                return state  # what was tried so far moved what has to stay
            if found is None or (not found.ending.ok and found.failure.mark in seen):
                return state
            plan = self._trials.with_ended(found, state)
            found = found._replace(plan=plan, again=False)
            why = one_line(state.failure.error, 200) or state.ending.last_line
            told = f"Round {number} ended: {why}"
            notes = tuple(dict.fromkeys((*found.plan.notes, told)))
            last = moved_names(found.plan) - moved_names(state.plan)
            state = found._replace(plan=msgspec.structs.replace(found.plan, notes=notes))
            if state.ending.ok:
                return self._pruned(state, last)
            seen.add(state.failure.mark)
        return state

    def _pruned(self, state: State, last: frozenset[str]) -> State:
        """Return a state without what the program does without; what requirements ask for stays.

        A single package of the `last` round is needed: without it the program failed.
        """
        needed = {one.wanted for one in unmet(self._original.problems)}
        needed |= last if len(last) == 1 else frozenset()
        fewer = pruned(state, self._trials, needed, self._goes_on)
        self._bench.unpruned = state.plan if fewer is not state else None
        return fewer

    def _next(self, state: State) -> State | None:
        """Return the first state in which the program comes further than in this one."""
        held = self._bench.held
        ways = (
            self._without_moves,
            self._by_findings,
            self._by_releases,
            self._by_torch,
        )
        for way in ways:
            found = way(state)
            if found is not None or self._bench.held != held or not self._goes_on():
                return found
        self._hold_what_is_blamed(state)
        return None

    def _hold_what_is_blamed(self, state: State) -> None:
        """Hold what the plan moved and the failure speaks of: no other way out was found."""
        blamed = {one.name for one in suspects(state.failure, self._here, self._environment)}
        self._bench.held |= blamed & moved_names(state.plan)

    def _without_moves(self, state: State) -> State | None:
        return without_moves(state, self._trials, self._original, self._bench)

    # What the findings ask for.

    def _by_findings(self, state: State) -> State | None:
        return self._by_plans(state, heavy=False)

    def _by_torch(self, state: State) -> State | None:
        """Try what moves torch last: much comes along, and much is built for it."""
        return self._by_plans(state, heavy=True)

    def _by_plans(self, state: State, *, heavy: bool) -> State | None:
        tried: list[tuple[Step, ...]] = [state.plan.steps]
        for plan in self._candidates(state):
            new = moved_names(plan) - moved_names(state.plan)
            if plan.steps in tried or not self._goes_on() or self._strays(new, state):
                continue
            if self._is_heavy(plan, state) is not heavy:
                continue
            if len(tried) > _CANDIDATES:
                return None
            tried.append(plan.steps)
            trial = self._trials.whole(plan)
            if trial is None or trial.program is None:
                continue
            found = State(plan, trial.program, trial)
            if self._takes_away(found):
                return None
            if self._trials.is_further(state, found, new):
                return self._less(state, found)
        return None

    def _less(self, state: State, found: State) -> State:
        """Return a state without the moves that the program does not need, the oldest first.

        Those that it needs become as short as they may be.
        """
        new = (moved_names(found.plan) & named_in(found.plan).keys()) - moved_names(state.plan)
        names = sorted(new & self._here.keys(), key=lambda one: self._here[one].installed_at)
        for name in names if len(new) > 1 else ():
            plan = without(found.plan, name)
            fewer = self._trials.ends(plan, f"without {name}") if plan.steps else None
            if fewer is not None and is_as_far(fewer, found):
                found = fewer
        for name in names:
            release = release_of(found, name)
            if release and name in named_in(found.plan) and self._goes_on():
                base = State(without(found.plan, name), state.ending)
                up = _is_later(release, self._here[name].version)
                found = self._nearer(base, found, name, self._trials.shelf(base).lines(name, up=up))
        return found

    def _strays(self, names: Iterable[str], state: State) -> bool:
        """Say whether a package would be added that nothing speaks of."""
        absent = [name for name in names if name not in self._here]
        missing = state.failure.error if _NO_MODULE.search(state.failure.error) else ""
        told = normalize_name(" ".join((missing, *self._original.problems)))
        return any(name not in told for name in absent)

    def _is_heavy(self, plan: Plan, state: State) -> bool:
        """Say whether a plan moves torch to another release."""
        here = self._here.get("torch")
        texts = [text for step in plan.steps if (one := install_of(step)) for text in one[1]]
        named = [text for text in texts if name_in(text) == "torch"]
        return "torch" not in moved_names(state.plan) and any(
            here is None or text != f"torch=={public(here.version)}" for text in named
        )

    def _candidates(self, state: State) -> Iterator[Plan]:
        """Yield the plans for a state: of a whole trial of it, or those of the original."""
        held = self._bench.held
        if not state.plan.steps:
            if held and (plan := self._anew()) is not None:
                yield plan
            yield from (plan for plan in self._plans if not moved_names(plan) & held)
            return
        trial = state.trial or self._trials.whole(state.plan)
        for follow in trial.follow_ups if trial is not None else ():
            if moved_names(follow) & held or self._is_idle(follow):
                continue
            if contradict(state.plan, follow):
                yield instead(state.plan, follow)
            yield combined(state.plan, follow)

    def _anew(self) -> Plan | None:
        """Return the plan of the shortest moves for the original, without what has to stay."""
        original = self._original
        concerned = [
            one for one in unmet(original.problems) if original.watched & {one.package, one.wanted}
        ]
        return nearest(
            original.report,
            concerned,
            unmet(original.problems),
            original.environment,
            self._trials.asking(),
            held=self._bench.held,
        )

    def _is_idle(self, plan: Plan) -> bool:
        """Say whether a plan only installs what is installed."""
        texts = [text for step in plan.steps if (found := install_of(step)) for text in found[1]]
        kinds = {commands.task(step, self._original.environment).kind for step in plan.steps}
        forced = any(
            word.startswith(("--upgrade", "--reinstall", "--force"))
            for step in plan.steps
            if (found := install_of(step))
            for word in found.head
        )
        return kinds == {Kind.INSTALL} and not forced and all(map(self._is_here, texts))

    def _is_here(self, text: str) -> bool:
        try:
            line = read_line(text)
        except InvalidRequirement:
            return False
        one = self._here.get(normalize_name(line.name))
        return one is not None and not line.address and may_meet(one.version, line.specifier)

    def _takes_away(self, state: State) -> bool:
        """Say whether the program now asks for the release that the plan took away, and hold it."""
        if state.trial is None or state.trial.report is None or state.ending.ok:
            return False
        after = {one.name: one.after for one in state.trial.changes if one.before}
        wanted = [
            normalize_name(line.name)
            for line in _asked_by(state.trial.report)
            if (release := after.get(normalize_name(line.name)))
            and not may_meet(release, line.specifier)
            and may_meet(self._here[normalize_name(line.name)].version, line.specifier)
        ]
        self._bench.held |= {*wanted}
        return bool(wanted)

    # Other releases.

    def _by_releases(self, state: State) -> State | None:
        """Return a state with another release of one package, the nearest that helps."""
        shelf = self._trials.shelf(state)
        moved = moved_names(state.plan) | self._bench.held
        every = suspects(state.failure, self._here, self._environment)
        named = [one for one in every if one.name not in moved]
        for same, share in _ORDER:
            for one in named:
                if not self._goes_on():
                    return None
                up = one.up is same
                found = self._at(state, one.name, shelf, share, up=up)
                if found is not None:
                    lines = shelf.lines(one.name, up=up)
                    return self._nearer(state, found, one.name, lines)
        return None

    def _at(self, state: State, name: str, shelf: Shelf, share: float, *, up: bool) -> State | None:
        """Return the state with the release that lies at a share of the way to the farthest."""
        if up and share == 1.0:
            release = shelf.newest(name, f">{public(self._here[name].version)}")
        else:
            lines = shelf.lines(name, up=up)
            release = lines[round(share * (len(lines) - 1))] if lines else ""
        return self._trials.with_release(state, name, release) if release else None

    def _nearer(self, state: State, found: State, name: str, lines: Sequence[str]) -> State:
        """Return the state with the nearest release that helps, by halves up to one that does."""
        release = release_of(found, name)
        low, high = 0, lines.index(release) if release in lines else 0
        while low < high and self._goes_on():
            middle = (low + high) // 2
            nearer = self._trials.with_release(state, name, lines[middle])
            if nearer is not None and is_as_far(nearer, found):
                found, high = nearer, middle
            else:
                low = middle + 1
        return found


_ORDER = tuple((same, share) for share in (1.0, 0.0, 0.5) for same in (True, False))
"""Whether the likelier direction is tried, and how far along its releases."""


def _asked_by(report: Report) -> Iterator[Line]:
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


def _is_later(release: str, here: str) -> bool:
    first, second = parse(release), parse(public(here))
    return first is not None and second is not None and first > second
