"""Choose releases that the tables allow together on one machine, by `resolvelib`.

The tables say what metadata does not: which builds of torch have code for a GPU and run on a
driver, and which wheels of extensions exist for a torch. The installer decides over the rest.
https://github.com/sarugaku/resolvelib
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec
from resolvelib import AbstractProvider, BaseReporter, Resolver
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from doctor.base.requirements import may_meet
from doctor.model.catalog import Catalog
from doctor.planning.requests_builds import Build, Rule, builds, gpu_and_driver, violated
from doctor.planning.requests_place import Place
from doctor.planning.requests_tables import apart, exact
from doctor.planning.requests_wheels import Release, releases

if TYPE_CHECKING:
    from resolvelib.structs import Matches

_ROUNDS = 2000


class RequestedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement that somebody asks for; `text` is the line, `source` where it stands."""

    text: str
    name: str
    specifier: str = ""
    extras: tuple[str, ...] = ()
    address: str = ""
    source: str = ""

    @property
    def words(self) -> str:
        """Return what is asked for, in words."""
        asked = f"{self.name}{self.specifier}"
        return f"{self.source} asks for {asked}" if self.source else f"you require {asked}"


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables allow: builds of torch, newest first, and the releases beside each.

    `own` are those on the package index itself. `knows` says whether a table has a say at all.
    """

    builds: tuple[Build, ...] = ()
    beside: tuple[Mapping[str, str], ...] = ()
    excluded: tuple[tuple[Build, Rule], ...] = ()


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """Two rules that exclude each other; `kind` says what could be changed, `name` about what."""

    rules: tuple[str, str]
    kind: str = ""
    name: str = ""


class _Need(msgspec.Struct, frozen=True):
    """That a package is one of some versions; for torch these are numbers of builds."""

    name: str
    versions: frozenset[str]
    asks: str


class _Pick(msgspec.Struct, frozen=True):
    """A version that can be chosen, and what it needs."""

    name: str
    version: str
    needs: tuple[_Need, ...] = ()


def allowed(
    wishes: Sequence[RequestedRelease], catalog: Catalog, place: Place
) -> Allowed | Excluded:
    """Return what the tables allow on a machine, or the two rules that exclude each other."""
    if (rule := gpu_and_driver(catalog, place)) is not None:
        return Excluded(rules=(rule.asks, rule.has), kind=rule.kind, name="driver")
    every = builds(catalog, place)
    asked = [one for one in wishes if one.name == "torch"]
    wanted = [one for one in every if all(may_meet(one.release, wish.specifier) for wish in asked)]
    broken = {
        number: next(violated(build, catalog, place), None) for number, build in enumerate(wanted)
    }
    fit = {str(number): build for number, build in enumerate(wanted) if broken[number] is None}
    if wanted and not fit:
        rule = _nearest([one for one in broken.values() if one is not None])
        return Excluded(rules=(rule.asks, rule.has), kind=rule.kind, name="torch")
    pins = {wish.name: pinned for wish in wishes if (pinned := exact(wish.specifier))}
    if (pair := apart(pins, catalog, place)) is not None:
        own = next(wish.words for wish in wishes if pair[2] == f"{wish.name}=={pins[wish.name]}")
        return Excluded(rules=(pair[1], own), kind="pair", name=pair[0])
    picks: dict[str, list[_Pick]] = {"torch": [_Pick("torch", number) for number in fit]}
    for wish in wishes:
        found = _picks(wish, fit, catalog, place)
        if isinstance(found, Excluded):
            return found
        if found:
            picks[wish.name] = found
    solved = {number: _solved(picks, number) for number in fit}
    if fit and not any(found is not None for found in solved.values()):
        return _together(picks, fit, wishes)
    return Allowed(
        builds=tuple(build for number, build in fit.items() if solved[number] is not None),
        beside=tuple(found for found in solved.values() if found is not None),
        excluded=tuple(
            (build, rule)
            for number, build in enumerate(wanted)
            if (rule := broken[number]) is not None
        ),
    )


def _nearest(rules: Sequence[Rule]) -> Rule:
    """Return the rule to tell: that of the driver before that of the GPU; else the newest."""
    order = ("vendor", "system", "driver", "gpu", "jetson", "python")
    return min(rules, key=lambda rule: order.index(rule.kind) if rule.kind in order else 9)


def _picks(
    wish: RequestedRelease, fit: Mapping[str, Build], catalog: Catalog, place: Place
) -> list[_Pick] | Excluded:
    """Return the releases of a wish with a wheel for this machine; empty where no table knows."""
    known = [
        one
        for one in releases(wish.name, catalog, place, wish.specifier)
        if may_meet(one.version, wish.specifier)
    ]
    if not known or wish.name == "torch":
        return []
    here = [one for one in known if one.refused is None]
    if not here:
        rule = next(one.refused for one in known if one.refused is not None)
        return Excluded(rules=(rule.asks, rule.has), kind=rule.kind, name=wish.name)
    return [_Pick(wish.name, one.version, tuple(_needs(one, fit))) for one in here]


def _needs(one: Release, fit: Mapping[str, Build]) -> Iterator[_Need]:
    if one.torch is not None:
        numbers = frozenset(number for number, build in fit.items() if one.torch(build))
        yield _Need("torch", numbers, one.asks)


def _together(
    picks: Mapping[str, list[_Pick]], fit: Mapping[str, Build], wishes: Sequence[RequestedRelease]
) -> Excluded:
    """Return two wishes that no build of torch serves together."""
    names = [name for name in picks if name != "torch"]
    served = {
        name: {
            number: pick
            for pick in reversed(picks[name])
            for number in (pick.needs[0].versions if pick.needs else fit)
        }
        for name in names
    }
    for name in names:
        if not served[name]:
            asks = picks[name][0].needs[0].asks if picks[name][0].needs else name
            own = next((wish.words for wish in wishes if wish.name == "torch"), "")
            others = own or f"this machine takes {_range(fit.values())}"
            return Excluded(rules=(asks, others), kind="wheel", name=name)
    for one, other in combinations(names, 2):
        if not served[one].keys() & served[other].keys():
            return Excluded(rules=(_asks(one, picks), _asks(other, picks)), kind="pair", name=one)
    return Excluded(rules=(_asks(names[0], picks), _asks(names[-1], picks)), kind="pair", name="")


def _asks(name: str, picks: Mapping[str, list[_Pick]]) -> str:
    return next((pick.needs[0].asks for pick in picks[name] if pick.needs), name)


def _range(fit: Iterable[Build]) -> str:
    """Say which builds a machine takes, from the newest to the oldest."""
    every = list(fit)
    if len(every) == 1:
        return every[0].words
    return f"{every[-1].words} to {every[0].words}" if every else "no torch"


def _solved(picks: Mapping[str, list[_Pick]], torch: str) -> Mapping[str, str] | None:
    """Return the versions beside one build of torch; None where there are none."""
    roots = [
        _Need("torch", frozenset({torch}), ""),
        *(
            _Need(name, frozenset(pick.version for pick in found), "")
            for name, found in picks.items()
            if name != "torch"
        ),
    ]
    try:
        result = Resolver(_Provider(picks), BaseReporter()).resolve(roots, max_rounds=_ROUNDS)
    except (ResolutionImpossible, ResolutionTooDeep):
        return None
    return {name: pick.version for name, pick in result.mapping.items() if name != "torch"}


class _Provider(AbstractProvider[_Need, _Pick, str]):
    """Tells resolvelib what can be chosen, newest first."""

    def __init__(self, picks: Mapping[str, list[_Pick]]) -> None:
        self._picks = picks

    def identify(self, requirement_or_candidate: _Need | _Pick) -> str:
        """Return the name of a package."""
        return requirement_or_candidate.name

    def get_preference(self, identifier: str, *_others: Any, **_more: Any) -> tuple[bool, int]:
        """Return what is chosen first: torch, then what has the fewest releases."""
        return identifier != "torch", len(self._picks[identifier])

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[_Need]],
        incompatibilities: Mapping[str, Iterator[_Pick]],
    ) -> Matches[_Pick]:
        """Return the versions that meet every need."""
        needs = list(requirements[identifier])
        bad = set(incompatibilities[identifier])
        return [
            pick
            for pick in self._picks[identifier]
            if pick not in bad and all(pick.version in need.versions for need in needs)
        ]

    def is_satisfied_by(self, requirement: _Need, candidate: _Pick) -> bool:
        """Say whether a version meets a need."""
        return candidate.version in requirement.versions

    def get_dependencies(self, candidate: _Pick) -> Iterable[_Need]:
        """Return what a version needs."""
        return candidate.needs
