"""Search a plan by the user's program: each failure leads to the next part of the cure.

The program runs in a clone after each change, which stays where the program comes further with it
(failures.py). For each failure these are tried, in this order:

1. the installed release again of a package that cannot be loaded as it lies there (damage.py);
2. another name for a file of the program's folder that hides a module (shadows.py);
3. the program without what comes into it from outside (intruders.py);
4. what the message (advice.py) and the findings about this failure ask for, and the other plans;
5. the program without one variable of the shell that its packages read (settings.py);
6. other releases of the packages that the traceback speaks of (suspects.py), the nearest that does.

Where the program asks for the release that a change took away, that package stays from then on, and
the search begins again: who does not fit it has to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from doctor.base.versions import major
from doctor.model.checks import Progress
from doctor.model.fixes import Step
from doctor.model.plans import Change, Plan
from doctor.repair.absent import by_absent
from doctor.repair.advice import by_advice
from doctor.repair.anew import anew
from doctor.repair.bounds import (
    absent_bounds,
    bounds_of,
    broken,
    leaps,
    leaves_pins,
    limits_of,
    project_lists,
    wishes_of,
)
from doctor.repair.by_lists import by_every_list
from doctor.repair.by_variables import by_settings
from doctor.repair.ending import Ending
from doctor.repair.examination import Bench
from doctor.repair.guarding import guarded
from doctor.repair.merging import (
    combined,
    contradict,
    instead,
    moved_names,
    moves_torch,
    named_in,
    without,
)
from doctor.repair.other_releases import OtherReleases
from doctor.repair.plan_reading import adds_unnamed, installs_nothing_new, taken_away
from doctor.repair.pruning import pruned, still_needed
from doctor.repair.reading import unmet
from doctor.repair.requests import Original
from doctor.repair.resolve import compiles
from doctor.repair.standing import apart, is_later, is_nearer
from doctor.repair.states import State, Trials, is_as_far, release_of
from doctor.repair.suspects import suspects
from doctor.repair.unmoved import (
    by_files_of_settings,
    by_namespaces,
    by_reinstalling,
    by_switches,
    without_moves,
)

_FAULTS, _RESTARTS, _DETOURS, _STRETCH = 8, 3, 3, 3
"""Releases that brought another failure to go on from, and the changes after each."""
_Way = Callable[[State], "State | None"]
_NEAR, _TOGETHER = 2, 1.0
"""Lines below the installed release, and seconds between two packages of one installation."""
_SHARE = 0.6
"""The part of the time that is left which the search may take."""


def lead(
    plans: Sequence[Plan], original: Original, bench: Bench, progress: Progress
) -> Plan | None:
    """Return the plan with which the program comes furthest; None where none brings it further.

    What the program needs as it is stays in `bench.held` afterwards.
    """
    ending = bench.program()
    if ending is None or ending.ok:
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
        self._others = OtherReleases(self._trials, self._environment, self._goes_on)
        self._bounds = bounds_of(original, self._trials.releases)
        self._wishes = wishes_of(original, self._trials.releases)
        absent = absent_bounds(original, self._trials.releases)
        self._limits: Mapping[str, str] = limits_of((*self._bounds, *absent))
        self._forced: Mapping[str, str] = limits_of((*self._bounds, *absent), forced=True)
        self._listed = frozenset(one.name for one in project_lists(original).bounds)
        self._within = dict(self._limits)

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
        seen, kept = {state.failure.mark}, state
        for number in range(1, _FAULTS + 1):
            held = self._bench.held
            found = self._next(state)
            if self._bench.held != held:
                return kept  # what was tried so far moved what has to stay
            if found is None or (not found.ending.ok and found.failure.mark in seen):
                return kept
            plan = self._trials.with_ended(found, state)
            found = found._replace(plan=plan, again=False)
            told = f"Round {number} ended: {state.ending.why}"
            notes = tuple(dict.fromkeys((*found.plan.notes, told)))
            last = moved_names(found.plan) - moved_names(state.plan)
            state = found._replace(plan=msgspec.structs.replace(found.plan, notes=notes))
            if state.ending.ok:
                return self._pruned(state, last)
            seen.add(state.failure.mark)
            # What leaves the lists of the project is worth it only where the program ends well.
            if not any(one.leads for one in broken(self._trials.moves(state.plan), self._bounds)):
                kept = state
        return kept

    def _pruned(self, state: State, last: frozenset[str]) -> State:
        """Return a state without what the program does without; what requirements ask for stays.

        A single package of the `last` round is needed: without it the program failed.
        """
        needed = still_needed(unmet(self._original.problems), moved_names(state.plan))
        needed |= last if len(last) == 1 else frozenset()
        fewer = guarded(
            self._bench,
            "the search for what the plan does without",
            lambda: pruned(state, self._trials, needed, self._goes_on),
        )
        fewer = fewer if fewer is not None else state
        self._bench.unpruned = state.plan if fewer is not state else None
        return fewer

    def _next(self, state: State) -> State | None:
        """Return the first state in which the program comes further than in this one."""
        held = self._bench.held
        ways: tuple[_Way, ...] = (
            self._without_moves,
            self._by_lists,
            lambda one: by_switches(one, self._trials, self._original, self._listed),
            self._by_advice,
            self._by_values,
            self._by_findings,
            lambda one: by_absent(one, self._trials, self._original, self._within),
            self._by_shared_files,
            self._by_settings,
            lambda one: by_files_of_settings(one, self._trials, self._original, self._goes_on),
            self._by_releases,
            lambda one: by_namespaces(one, self._trials, self._original, owned=True),
        )
        beyond: tuple[_Way, ...] = (self._by_findings, self._by_releases)
        beyond = beyond if self._limits != self._forced else ()
        # What leaves the lists of the project is tried where nothing else helps.
        for number, way in enumerate((*ways, *beyond, self._by_torch)):
            self._within = dict(self._limits if number < len(ways) else self._forced)
            found = guarded(self._bench, f"a way out of: {state.ending.why}", partial(way, state))
            if found is not None or self._bench.held != held or not self._goes_on():
                return found
        if (found := self._by_detours(state)) is None:
            self._hold_what_is_blamed(state)
        return found

    def _by_detours(self, state: State) -> State | None:
        """Go on from a release that brought another failure, where that one is the next fault.

        It is, if the program ends well or comes further than before with the changes after it.
        """
        ways: tuple[_Way, ...] = (self._without_moves, self._by_findings, self._by_releases)
        held = self._bench.held
        for detour in self._trials.detours(state)[:_DETOURS]:
            now, seen = detour, {state.failure.mark, detour.failure.mark}
            for _ in range(_STRETCH):
                self._within = dict(self._limits)
                found = next((one for way in ways if (one := way(now)) is not None), None)
                if found is None or self._bench.held != held or not self._goes_on():
                    self._bench.held = held
                    break
                if self._trials.is_further(state, found, moved_names(found.plan)):
                    return found
                if found.failure.mark in seen:
                    break
                seen.add(found.failure.mark)
                now = found
        return None

    def _hold_what_is_blamed(self, state: State) -> None:
        """Hold what the plan moved and the failure speaks of: no other way out was found."""
        blamed = {one.name for one in suspects(state.failure, self._here, self._environment)}
        self._bench.held |= blamed & moved_names(state.plan)

    def _without_moves(self, state: State) -> State | None:
        return without_moves(state, self._trials, self._original, self._bench)

    def _by_shared_files(self, state: State) -> State | None:
        return by_reinstalling(state, self._trials, self._original, shared=True)

    def _by_lists(self, state: State) -> State | None:
        args = (self._environment, (self._bounds, self._wishes), self._within)
        return by_every_list(state, self._trials, *args, self._bench, self._goes_on)

    def _by_advice(self, state: State) -> State | None:
        facts = self._original.report.observation.facts
        # What a requirement asks for comes with the others of that package, by its finding.
        apart = self._bench.held | {one.wanted for one in unmet(self._original.problems)}
        return by_advice(state, self._trials, facts, self._within, self._listed, apart)

    # What the findings ask for.

    def _by_findings(self, state: State) -> State | None:
        return self._by_plans(state, heavy=False)

    def _by_torch(self, state: State) -> State | None:
        """Try what moves torch last: much comes along, and much is built for it."""
        return self._by_plans(state, heavy=True)

    def _by_plans(self, state: State, *, heavy: bool) -> State | None:
        tried: list[tuple[Step, ...]] = [state.plan.steps]
        leap: State | None = None
        built: State | None = None
        for plan in self._candidates(state):
            new = moved_names(plan) - moved_names(state.plan)
            if plan.steps in tried or not self._goes_on():
                continue
            if adds_unnamed(new - self._here.keys(), state.failure, self._original):
                continue
            moves = "torch" not in moved_names(state.plan) and moves_torch(
                plan, self._here.get("torch")
            )
            if moves is not heavy or leaves_pins(
                named_in(plan), self._within, self._trials.releases
            ):
                continue
            tried.append(plan.steps)
            trial = self._trials.whole(plan)
            if trial is None or trial.program is None or self._leaves(trial.changes):
                continue
            found = State(plan, trial.program, trial)
            if self._takes_away(found):
                return None
            if self._trials.is_further(state, found, new):
                if compiles(plan):
                    built = built or found
                elif not leaps(trial.changes, new):
                    found = self._less(state, found)
                    other = self._others.by_lifting(state, found, self._bench.held, self._within)
                    return other if other is not found else self._shorter(state, found)
                else:
                    leap = leap or found
        return self._less(state, last) if (last := leap or built) is not None else None

    def _shorter(self, state: State, found: State) -> State:
        """Return the state of a shorter way: what came last goes back, and nothing is lifted."""
        new = (moved_names(found.plan) - moved_names(state.plan)) & self._here.keys()
        lifted = [
            name
            for name in new
            if is_later(release_of(found, name) or "0", self._here[name].version)
        ]
        if not lifted or self._bench.held & new:
            return found
        begun = max(self._here[name].installed_at for name in lifted) - _TOGETHER
        shelf = self._trials.shelf(state, self._within)
        for one in suspects(state.failure, self._here, self._environment):
            came = self._here[one.name].installed_at
            if one.name in new | self._bench.held | moved_names(state.plan) or came <= begun:
                continue
            here = self._here[one.name].version
            most = max(apart(self._here[name].version, release_of(found, name)) for name in lifted)
            lines = shelf.lines(one.name, up=False)[:_NEAR] if self._goes_on() else ()
            for release in [line for line in lines if is_nearer(here, line, most)]:
                other = self._trials.with_release(state, one.name, release)
                if other is not None and is_as_far(other, found):
                    self._bench.longer = found.plan
                    return other
        return found

    def _leaves(self, changes: Sequence[Change]) -> bool:
        """Say whether changes leave what the lists of the project ask for, as long as it counts."""
        return bool(self._within) and any(one.leads for one in broken(changes, self._bounds))

    def _less(self, state: State, found: State) -> State:
        """Return a state without the moves that the program does not need, the oldest first.

        Those that it needs become as short as they may be.
        """
        new = (moved_names(found.plan) & named_in(found.plan).keys()) - moved_names(state.plan)
        names = sorted(new & self._here.keys(), key=lambda one: self._here[one].installed_at)
        for name in names if len(new) > 1 else ():
            plan = without(found.plan, name)
            fewer = self._trials.ends(plan, f"without {name}") if plan.steps else None
            # What another package takes along stays as short as it was.
            moves = self._trials.still_moves(plan, name)
            if fewer is not None and not moves and is_as_far(fewer, found):
                found = fewer
        for name in names:
            release = release_of(found, name)
            if release and name in named_in(found.plan) and self._goes_on():
                base = State(without(found.plan, name), state.ending)
                here = self._here[name].version
                up, leap = is_later(release, here), (major(release) or 0) > (major(here) or 0)
                lines = self._trials.shelf(base, self._within).lines(name, up=up, leap=leap)
                found = self._others.nearer(base, found, name, lines)
        return found

    def _candidates(self, state: State) -> Iterator[Plan]:
        """Yield the plans for a state: of a whole trial of it, or those of the original."""
        held = self._bench.held
        if not state.plan.steps:
            if held and (plan := anew(self._original, self._trials, held)) is not None:
                yield plan
            yield from (plan for plan in self._plans if not moved_names(plan) & held)
            return
        trial = state.trial or self._trials.whole(state.plan)
        here = self._here, self._environment
        for follow in trial.follow_ups if trial is not None else ():
            if moved_names(follow) & held or installs_nothing_new(follow, *here):
                continue
            if contradict(state.plan, follow):
                yield instead(state.plan, follow)
            yield combined(state.plan, follow)

    def _takes_away(self, state: State) -> bool:
        """Say whether the program now asks for the release that the plan took away, and hold it."""
        if state.trial is None or state.trial.report is None or state.ending.ok:
            return False
        wanted = taken_away(state.trial.report, state.trial.changes, self._here)
        self._bench.held |= wanted
        return bool(wanted)

    def _by_releases(self, state: State) -> State | None:
        return self._others.helpful(state, self._bench.held, self._within)

    def _by_values(self, state: State) -> State | None:
        return by_settings(state, self._trials, self._original, self._goes_on, by_value=True)

    def _by_settings(self, state: State) -> State | None:
        return by_settings(state, self._trials, self._original, self._goes_on)
