"""Look for another release of one package with which a failing program comes further."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from doctor.base.versions import major
from doctor.environments.environment import Environment
from doctor.repair.merging import moved_names, without
from doctor.repair.reading import tops
from doctor.repair.releases import AvailableReleases
from doctor.repair.standing import is_later
from doctor.repair.states import State, Trials, is_as_far, release_of
from doctor.repair.suspects import came_late, suspects

_ORDER = tuple(
    (same, share, leap)
    for share in (1.0, 0.0, 0.5)
    for same in (True, False)
    for leap in (False, True)
)
"""Whether the likelier direction is tried, how far along its releases, and to a major release."""
_MAJOR = -1.0
_OF_LATE = ((False, 0.0), (False, _MAJOR), (True, 1.0), (False, 1.0), (False, 0.5))
"""Whether a package that came late goes up, and how far along its releases: it departed.

People lift a package to its next major release, so the last one before that comes early.
"""

_TOGETHER, _NEAREST = 1.0, 2
"""Seconds between two packages of one installation, and the nearest lines that are tried."""


class OtherReleases:
    """Tries releases of the packages that a traceback speaks of, as long as time is left."""

    def __init__(
        self, trials: Trials, environment: Environment, goes_on: Callable[[], bool]
    ) -> None:
        self._trials, self._environment, self._goes_on = trials, environment, goes_on
        self._here = trials.here

    def helpful(
        self, state: State, held: Collection[str], limits: Mapping[str, str]
    ) -> State | None:
        """Return a state with another release of one package, the nearest that helps.

        `held` packages stay; `limits` are specifiers by name.
        """
        shelf = self._trials.shelf(state, limits)
        moved = moved_names(state.plan).union(held)
        every = suspects(state.failure, self._here, self._environment)
        named = [one for one in every if one.name not in moved]
        if (found := self._of_late(state, [one.name for one in named], shelf)) is not None:
            return found
        for same, share, leap in _ORDER:
            for one in named:
                if not self._goes_on():
                    return None
                up = one.up is same
                if leap and not up:
                    continue
                found = self._at(state, one.name, shelf, share, up=up, leap=leap)
                if found is not None:
                    lines = shelf.lines(one.name, up=up, leap=leap)
                    return self.nearer(state, found, one.name, lines)
        return None

    def _of_late(
        self, state: State, names: Sequence[str], shelf: AvailableReleases
    ) -> State | None:
        """Return a state with another release of what came after most packages, either way."""
        late = came_late(self._here)
        for up, share in _OF_LATE:
            for name in [one for one in names if one in late]:
                if not self._goes_on():
                    return None
                if (found := self._at(state, name, shelf, share, up=up, leap=True)) is not None:
                    found = self._farther(state, found, name, shelf, up=up)
                    return self.nearer(state, found, name, shelf.lines(name, up=up, leap=True))
        return None

    def _farther(
        self, state: State, found: State, name: str, shelf: AvailableReleases, *, up: bool
    ) -> State:
        """Return the state with a release farther away, where that one brings the program further.

        The first release with another failure may be half of the way.
        """
        for share in (1.0, 0.5) if not found.ending.ok else ():
            other = self._at(state, name, shelf, share, up=up, leap=True)
            if other is not None and self._trials.is_further(found, other, {name}):
                return other
        return found

    def by_lifting(
        self, state: State, found: State, held: Collection[str], limits: Mapping[str, str]
    ) -> State:
        """Return the state with a later release of what failed, where another one went back for it.

        What failed came later than what a plan would take to an earlier major release, so it is
        what departed: it may have a release for what is here.
        """
        new = moved_names(found.plan) - moved_names(state.plan)
        back = [name for name in new if self._goes_back(name, release_of(found, name))]
        begun = max((self._here[name].installed_at for name in back), default=0.0) + _TOGETHER
        owners = {top: name for name, one in self._here.items() for top in tops(one)}
        passed = [owners[one.top] for one in state.failure.frames if one.top in owners]
        late = [name for name in reversed(passed) if name not in back]
        if not back or not late or late[0] in held:
            return found
        name = late[0]
        if self._here[name].installed_at <= begun:
            return found
        plan = found.plan
        for one in back:
            plan = without(plan, one)
        base = State(plan, state.ending)
        lines = self._trials.shelf(state, limits).lines(name, up=True)
        for release in dict.fromkeys((*lines[-1:], *lines[:_NEAREST])):
            other = self._trials.with_release(base, name, release) if self._goes_on() else None
            if other is not None and is_as_far(other, found):
                return self.nearer(base, other, name, lines)
        return found

    def _goes_back(self, name: str, release: str) -> bool:
        one = self._here.get(name)
        return (
            one is not None and (major(release) or 0) < (major(one.version) or 0) and release != ""
        )

    def _at(
        self,
        state: State,
        name: str,
        shelf: AvailableReleases,
        share: float,
        *,
        up: bool,
        leap: bool,
    ) -> State | None:
        """Return the state with the release that lies at a share of the way to the farthest."""
        if up and share == 1.0:
            release = shelf.newest(name, shelf.bound(name, up=up, leap=leap))
        else:
            lines = shelf.lines(name, up=up, leap=leap)
            release = along(lines, share, self._here[name].version)
        return self._trials.with_release(state, name, release) if release else None

    def nearer(self, state: State, found: State, name: str, lines: Sequence[str]) -> State:
        """Return the state with the nearest release that helps, by halves up to one that does.

        That one may have come with others that it moved, so that it is in none of the `lines`.
        """
        release, here = release_of(found, name), self._here[name].version
        up = is_later(release, here)
        short = [one for one in lines if is_later(*((release, one) if up else (one, release)))]
        low, high = 0, len(short)
        while low < high and self._goes_on():
            middle = (low + high) // 2
            nearer = self._trials.with_release(state, name, short[middle])
            if nearer is not None and is_as_far(nearer, found):
                found, high = nearer, middle
            else:
                low = middle + 1
        return found


def along(lines: Sequence[str], share: float, here: str) -> str:
    """Return the release at a share of the way to the farthest; empty where there is none.

    `_MAJOR` is the first one of an earlier major release than what is here.
    """
    if share == _MAJOR:
        return next((one for one in lines if (major(one) or 0) < (major(here) or 0)), "")
    return lines[round(share * (len(lines) - 1))] if lines else ""
