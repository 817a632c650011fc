"""Which nodes are alike, which value of each fact is the usual one, and who has another."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache

import msgspec

from doctor.fleet.values import ABSENT, ValueTable
from doctor.model.fleet import Difference
from doctor.model.scales import Severity
from doctor.model.vocabulary import FACTS
from doctor.model.vocabulary.fleet import FOLLOWERS, WEIGHTS, Weight

CHECK = "check:"
"""How the name begins under which the verdict of a check is compared."""
_MOST_DIFFERENCES = 200
_LEAST_FOR_UNIQUE = 4


class NodesAlike(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with the same values: their names and the numbers of these values."""

    key: str
    nodes: tuple[str, ...]
    numbers: frozenset[int]


class CommonValues(msgspec.Struct, frozen=True, kw_only=True):
    """The usual value of each fact, and how many nodes have it; `nodes` is how many there are."""

    values: dict[str, str]
    counts: dict[str, int]
    nodes: int

    def value(self, name: str) -> str:
        """Return the usual value of a fact in words."""
        return self.values.get(name, ABSENT)

    def is_majority(self, name: str) -> bool:
        """Return whether more than half of the nodes have the usual value."""
        return 2 * self.counts.get(name, self.nodes) > self.nodes


def alike(nodes: Mapping[str, array[int]], table: ValueTable) -> tuple[NodesAlike, ...]:
    """Return the groups of equal nodes, the largest first.

    A fact that is another one on each of four or more nodes, and that no weight names, says which
    node it is and not what it is like; it is passed over.
    """
    own = _unique_facts(nodes, table)
    found: dict[tuple[int, ...], list[str]] = defaultdict(list)
    cut: dict[bytes, tuple[int, ...]] = {}
    for name, numbers in nodes.items():
        data = numbers.tobytes()
        if data not in cut:
            cut[data] = tuple(number for number in numbers if table.names[number] not in own)
        found[cut[data]].append(name)
    groups = [
        NodesAlike(key=_key(numbers, table), nodes=tuple(sorted(names)), numbers=frozenset(numbers))
        for numbers, names in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), group.nodes)))


def usual(groups: Iterable[NodesAlike], table: ValueTable) -> CommonValues:
    """Return the value of each fact that most nodes have; of two equally common, the first group's.

    A fact that a report lacks is absent there, where the environment names it (a package, a
    variable); any other is unknown to that report, and no difference.
    """
    groups = tuple(groups)
    counts: Counter[int] = Counter()
    for group in groups:
        for number in group.numbers:
            counts[number] += len(group.nodes)
    total = sum(len(group.nodes) for group in groups)
    first = {table.names[number] for number in groups[0].numbers} if groups else set()
    best: dict[str, tuple[int, int]] = {}
    told: Counter[str] = Counter()
    for number, count in counts.items():
        name = table.names[number]
        told[name] += count
        if name not in best or count > best[name][1]:
            best[name] = (number, count)
    values = {name: table.values[number] for name, (number, _) in best.items()}
    shares = {name: count for name, (_, count) in best.items()}
    for name, (_, count) in best.items():
        without = total - told[name]
        if is_named_by_environment(name) and (without, name not in first) > (count, False):
            values[name], shares[name] = ABSENT, without
    return CommonValues(values=values, counts=shares, nodes=total)


def differences(
    group: NodesAlike, usual_: CommonValues, table: ValueTable
) -> tuple[Difference, ...]:
    """Return what differs between a group and the usual values, what matters most first."""
    here = {table.names[number]: table.values[number] for number in group.numbers}
    other = {
        name: (here.get(name, ABSENT), usual_.value(name))
        for name in here.keys() | usual_.values.keys()
        if (name in here or is_named_by_environment(name))
        and here.get(name, ABSENT) != usual_.value(name)
    }
    follows = _follows(other)
    found = [
        Difference(
            name=name,
            here=mine,
            majority=theirs,
            severity=weight.severity,
            why=weight.why,
            follows=sum(root == name for root in follows.values()),
        )
        for name, (mine, theirs) in other.items()
        if name not in follows and (weight := weight_of(name))
    ]
    found.sort(key=lambda one: (one.severity.rank if one.severity else 9, one.name))
    return tuple(found[:_MOST_DIFFERENCES])


@cache
def is_named_by_environment(name: str) -> bool:
    """Return whether a report holds the fact only where the thing is there: a package."""
    return name not in FACTS and not name.startswith(CHECK)


@cache
def weight_of(name: str) -> Weight:
    """Return what a difference in a fact, or in the verdict of a check, means."""
    if name.startswith(CHECK):
        check, _, device = name.removeprefix(CHECK).partition(":")
        return Weight(f"check {check}" + (f" on {device}" if device else ""), Severity.NOTE, "")
    return next(
        (weight for pattern, weight in WEIGHTS.items() if fnmatchcase(name, pattern)),
        Weight(name, None, ""),
    )


def label_of(name: str) -> str:
    """Return the words for a fact: `NCCL`, `environment variable NCCL_DEBUG`."""
    label = weight_of(name).label
    if name.startswith("env."):
        return f"{label} {name.removeprefix('env.')}"
    if label == "package":
        return name.removeprefix("package.").removesuffix(".version")
    return label


def in_words(name: str, value: str) -> str:
    """Return a value of a fact for people: a variable is not set, a package not installed."""
    if value != ABSENT:
        return value
    if name.startswith("env."):
        return "not set"
    return "not installed" if name.startswith("package.") else "none"


def _follows(other: Mapping[str, object]) -> dict[str, str]:
    """Return the names that differ because another one does, with that one."""
    found: dict[str, str] = {}
    for root, patterns in FOLLOWERS.items():
        if root not in other or root in found:
            continue
        for name in other:
            known = name in found or name == root
            if not known and any(fnmatchcase(name, pattern) for pattern in patterns):
                found[name] = root
    return found


def _unique_facts(nodes: Mapping[str, array[int]], table: ValueTable) -> frozenset[str]:
    if len(nodes) < _LEAST_FOR_UNIQUE:
        return frozenset()
    values: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for number, count in _counted(nodes):
        name = table.names[number]
        values[name] += 1
        most[name] = max(most[name], count)
    return frozenset(
        name
        for name, count in values.items()
        if count >= len(nodes) and most[name] == 1 and weight_of(name).severity is None
    )


def _counted(nodes: Mapping[str, array[int]]) -> Iterator[tuple[int, int]]:
    equal = Counter(numbers.tobytes() for numbers in nodes.values())
    counts: Counter[int] = Counter()
    for data, count in equal.items():
        for number in array("L", data):
            counts[number] += count
    return iter(counts.items())


def _key(numbers: Iterable[int], table: ValueTable) -> str:
    """Return a digest of values that is the same in each run."""
    pairs = sorted(f"{table.names[number]}\0{table.values[number]}" for number in numbers)
    return hashlib.sha256("\n".join(pairs).encode("utf-8", "replace")).hexdigest()[:16]
