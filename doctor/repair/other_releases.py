"""Look for another release of one package with which a failing program comes further."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from doctor.environments.environment import Environment
from doctor.repair.merging import moved_names
from doctor.repair.releases import Shelf
from doctor.repair.states import State, Trials, is_as_far, release_of
from doctor.repair.suspects import suspects

_ORDER = tuple(
    (same, share, leap)
    for share in (1.0, 0.0, 0.5)
    for same in (True, False)
    for leap in (False, True)
)
"""Whether the likelier direction is tried, how far along its releases, and to a major release."""


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

    def _at(
        self, state: State, name: str, shelf: Shelf, share: float, *, up: bool, leap: bool
    ) -> State | None:
        """Return the state with the release that lies at a share of the way to the farthest."""
        if up and share == 1.0:
            release = shelf.newest(name, shelf.bound(name, up=up, leap=leap))
        else:
            lines = shelf.lines(name, up=up, leap=leap)
            release = lines[round(share * (len(lines) - 1))] if lines else ""
        return self._trials.with_release(state, name, release) if release else None

    def nearer(self, state: State, found: State, name: str, lines: Sequence[str]) -> State:
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
