"""Choose a release for each package that a plan speaks of, by `resolvelib`.

Three things ask: what is installed (its own metadata and the tables), the anchor, and the wishes of
findings. What is installed is preferred, then the nearest release that a table knows, then a range
in which the installer of the target chooses. https://github.com/sarugaku/resolvelib
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version
from resolvelib import AbstractProvider, BaseReporter, Resolver
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep

from doctor.base.versions import parse, public
from doctor.planning.knowledge import Knowledge, fits_any

if TYPE_CHECKING:
    from resolvelib.structs import Matches

_ROUNDS = 600
GOAL = "goal:"
"""What the identifier of a finding's goal begins with."""
_FIRST_OF_ALL = re.compile(r"((?:>=|<)[0-9]{1,9}\.[0-9.]{1,40}?)(?:\.0){0,6}\.?dev0\b")


class Need(NamedTuple):
    """That a package is there in one of several ranges, or that it is gone.

    `optional`: its absence will do as well. `newer`: a release later than the one installed.
    `free`: the installer chooses the release, since only it can tell which one will do.
    """

    name: str
    alternatives: tuple[str, ...] = ()
    gone: bool = False
    optional: bool = False
    newer: bool = False
    free: bool = False
    by: str = ""


class Pick(NamedTuple):
    """What becomes of a package.

    It stays, moves to an exact `version`, moves into `ranges` (`version` is empty), or goes.
    """

    name: str
    version: str = ""
    ranges: str = ""
    stays: bool = False
    gone: bool = False


class Choice(NamedTuple):
    """One way to reach a goal: its number among the wishes, and what it needs."""

    name: str
    number: int
    needs: tuple[Need, ...]


class Problem(NamedTuple):
    """All that a resolver is given.

    `needs_of` are the requirements of each installed package that count. `torch_needed` names those
    that are compiled for the installed torch without a word in their metadata. `expendable` may go
    where nothing else is possible. `asked` has the releases that the project pins or locks.
    """

    here: Mapping[str, str]
    knowledge: Knowledge
    needs_of: Mapping[str, tuple[Need, ...]]
    roots: tuple[Need, ...]
    goals: Mapping[str, tuple[Choice, ...]]
    expendable: frozenset[str] = frozenset()
    asked: Mapping[str, str] = MappingProxyType({})

    @property
    def has_torch(self) -> bool:
        """Return whether there is a torch, or will be one."""
        return "torch" in self.here or any(need.name == "torch" for need in self.roots)


def solve(
    problem: Problem,
) -> tuple[Mapping[str, Pick | Choice] | None, frozenset[tuple[str, str]]]:
    """Return what becomes of each package and the choices, or None and who asked in vain for what.

    The second value has pairs of names: who asks, and for which package.
    """
    resolver: Resolver[Need, Pick | Choice, str] = Resolver(_Provider(problem), BaseReporter())
    roots = [*problem.roots, *(Need(f"{GOAL}{name}") for name in problem.goals)]
    try:
        return resolver.resolve(roots, max_rounds=_ROUNDS).mapping, frozenset()
    except ResolutionImpossible as error:
        return None, frozenset(
            (cause.requirement.by, cause.requirement.name) for cause in error.causes
        )
    except ResolutionTooDeep:
        return None, frozenset()


class _Provider(AbstractProvider[Need, "Pick | Choice", str]):
    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def identify(self, requirement_or_candidate: Need | Pick | Choice) -> str:
        return requirement_or_candidate.name

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, Any],  # noqa: ARG002 - resolvelib names its arguments
        candidates: Mapping[str, Iterator[Any]],  # noqa: ARG002
        information: Mapping[str, Iterator[Any]],  # noqa: ARG002
        backtrack_causes: Sequence[Any],  # noqa: ARG002
    ) -> tuple[int, int, str]:
        """Decide torch first, then goals in their order, then the rest by name."""
        if identifier == "torch":
            return (0, 0, "")
        if identifier.startswith(GOAL):
            return (1, list(self._problem.goals).index(identifier.removeprefix(GOAL)), "")
        of_torch = any(need.name == "torch" for need in self._problem.needs_of.get(identifier, ()))
        return (2 if of_torch else 3, 0, identifier)

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Need]],
        incompatibilities: Mapping[str, Iterator[Pick | Choice]],
    ) -> Matches[Pick | Choice]:
        banned = set(incompatibilities[identifier])
        if identifier.startswith(GOAL):
            choices = self._problem.goals[identifier.removeprefix(GOAL)]
            return [one for one in choices if one not in banned]
        needs = list(requirements[identifier])
        return [
            one
            for one in self._candidates(identifier, needs)
            if one not in banned and all(self._fits(need, one) for need in needs)
        ]

    def is_satisfied_by(self, requirement: Need, candidate: Pick | Choice) -> bool:
        return isinstance(candidate, Choice) or self._fits(requirement, candidate)

    def get_dependencies(self, candidate: Pick | Choice) -> Iterable[Need]:
        if isinstance(candidate, Choice):
            return candidate.needs
        problem = self._problem
        if candidate.gone:
            return ()
        if candidate.stays:
            return problem.needs_of.get(candidate.name, ())
        if not candidate.version:
            return ()
        torches = problem.knowledge.torches(candidate.name, candidate.version)
        beside = () if torches is None or not problem.has_torch else (torches,)
        return (
            *(
                Need("torch", tuple(f"=={one}" for one in found) or ("==0",), by=candidate.name)
                for found in beside
            ),
            *(
                Need(other, ranges, by=candidate.name)
                for other, ranges in problem.knowledge.asks(candidate.name, candidate.version)
                if other in problem.here
            ),
        )

    def _fits(self, need: Need, pick: Pick) -> bool:
        if pick.gone or need.gone:
            return pick.gone and (need.gone or need.optional)
        here = self._problem.here.get(pick.name, "")
        if need.newer and (pick.stays or (pick.version and not _is_later(pick.version, here))):
            return False
        if pick.version:
            return fits_any(pick.version, need.alternatives)
        return not need.alternatives or any(_within(pick.ranges, one) for one in need.alternatives)

    def _candidates(self, name: str, needs: Sequence[Need]) -> Iterator[Pick]:
        here = self._problem.here.get(name)
        if all(need.gone for need in needs if not need.optional) and any(
            need.gone for need in needs
        ):
            yield Pick(name, gone=True)
            return
        if here is None and all(need.optional for need in needs):
            yield Pick(name, gone=True)  # it is not here, and nobody asks that it comes
            return
        if any(need.free for need in needs):
            yield from self._open(name, here, needs, ())
            return
        if here is not None:
            yield Pick(name, public(here), stays=True)
        yield from (Pick(name, one) for one in _builds(needs) if one != here)
        asked = public(self._problem.asked.get(name, ""))
        if asked and asked != public(here or ""):
            yield Pick(name, asked)
        known = [one for one in self._problem.knowledge.releases(name) if one != here]
        newer = any(need.newer for need in needs)
        yield from (Pick(name, one) for one in _nearest(known, here, newer=newer))
        yield from self._open(name, here, needs, known)
        if name in self._problem.expendable:
            yield Pick(name, gone=True)

    def _open(
        self, name: str, here: str | None, needs: Sequence[Need], known: Sequence[str]
    ) -> Iterator[Pick]:
        """Yield the range in which the installer may choose, where the tables know no release.

        It never falls below what is installed, unless a requirement says so.
        """
        asked = [need for need in needs if need.alternatives or need.newer or here is None]
        if not asked or (known and self._problem.knowledge.torches(name, known[0]) is not None):
            return
        clauses = [
            part for need in needs for one in need.alternatives[-1:] for part in one.split(",")
        ]
        if any(need.newer for need in needs) and here is not None and not _has_floor(clauses):
            clauses.append(f">={public(here)}")
        if is_empty(clauses):
            return
        ranges = narrowed(clauses)
        exact = ranges.removeprefix("==")
        is_exact = ranges.startswith("==") and not set(exact) & set("*,=")
        yield Pick(name, exact) if is_exact else Pick(name, ranges=plain(ranges))


def _builds(needs: Sequence[Need]) -> list[str]:
    """Return the builds that are asked for by their local part, such as 2.13.0+cu126.

    The tables name releases; of one release there are several builds.
    """
    exact = (
        one.removeprefix("==")
        for need in needs
        for one in need.alternatives
        if one.startswith("==") and "+" in one and not set(one) & {"*", ","}
    )
    return list(dict.fromkeys(exact))


def _has_floor(clauses: Sequence[str]) -> bool:
    return any(part.strip()[:1] in (">", "=", "~") for part in clauses)


def _bounds(clauses: Sequence[str]) -> Iterator[tuple[str, Version | None, str]]:
    """Yield operator, release and text of each clause; None where it names no release."""
    for clause in dict.fromkeys(one.strip() for one in clauses if one.strip()):
        operator = clause[:2] if clause[1:2] == "=" else clause[:1]
        yield operator, parse(clause.removeprefix(operator)), clause


def narrowed(clauses: Sequence[str]) -> str:
    """Return one specifier for all clauses, the floor first: of several floors the highest."""
    floors, ceilings, rest = list[tuple[Version, str]](), list[tuple[Version, str]](), []
    for operator, version, clause in _bounds(clauses):
        if version is not None and operator in (">=", ">"):
            floors.append((version, clause))
        elif version is not None and operator in ("<=", "<"):
            ceilings.append((version, clause))
        else:
            rest.append(clause)
    exact = [one for one in rest if one.startswith("==") and "*" not in one]
    if exact:
        return exact[0]
    return ",".join(
        [*([max(floors)[1]] if floors else []), *([min(ceilings)[1]] if ceilings else []), *rest]
    )


def plain(ranges: str) -> str:
    """Return ranges as people write them: `>=0.44,<0.45` for `>=0.44.0dev0,<0.45`.

    A bound below the first pre-release shall only let nightly builds pass; no plan needs one.
    """
    return _FIRST_OF_ALL.sub(r"\1", ranges)


def is_empty(clauses: Sequence[str]) -> bool:
    """Say whether the bounds of clauses leave no release between them."""
    floors, ceilings = list[tuple[Version, bool]](), list[tuple[Version, bool]]()
    for operator, version, _ in _bounds(clauses):
        if version is None:
            continue
        if operator in (">=", ">", "~=", "=="):
            floors.append((version, operator == ">"))
        if operator in ("<=", "<", "=="):
            ceilings.append((version, operator == "<"))
    if not floors or not ceilings:
        return False
    (floor, above), (ceiling, below) = (
        max(floors),
        min(ceilings, key=lambda one: (one[0], not one[1])),
    )
    return floor > ceiling or (floor == ceiling and (above or below))


def _within(ranges: str, wanted: str) -> bool:
    """Say whether a range takes nothing that another does not take."""
    return narrowed([*ranges.split(","), *wanted.split(",")]) == narrowed(ranges.split(","))


def _is_later(version: str, here: str) -> bool:
    first, second = parse(version), parse(public(here))
    return first is None or second is None or first > second


def _nearest(known: Sequence[str], here: str | None, *, newer: bool) -> list[str]:
    """Return releases, the nearest first: later ones before earlier ones.

    None falls by a major release. `newer` puts the newest first.
    """
    at = parse(public(here)) if here else None
    if at is None or newer:
        return [one for one in known if at is None or _is_later(one, str(at))]
    parsed = [(one, version) for one in known if (version := parse(one)) is not None]
    later = [one for one, version in parsed if version > at]
    later.sort(key=_line)  # stable: the newest patch of each line comes first
    earlier = [one for one, version in parsed if version < at and version.major == at.major]
    return [*later, *earlier]


def _line(version: str) -> tuple[int, ...]:
    parsed = parse(version)
    return parsed.release[:2] if parsed else ()
