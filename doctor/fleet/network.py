"""An all-reduce across nodes, and the search for the node or the link that breaks it.

A collective fails as a whole, and the ranks that tell of it are mostly those that waited. So groups
are tried: what works together is the core; a node that fails with the core is cut down to, and then
it is asked with which half of the core it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from doctor.base.errors import InputError
from doctor.base.text import one_line
from doctor.fleet import nodesets, wire
from doctor.model.fleet import FleetFinding, NetworkPath, NodeAnswer, NodeState
from doctor.model.scales import Severity

_MOST_ROUNDS = 64


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank of an all-reduce saw.

    `local`: it failed before it needed another rank. `interface`, `address` and `mtu` are those
    towards rank 0, and of rank 0 those towards rank 1. `transport` is what the backend says.
    """

    ok: bool = False
    local: bool = False
    error: str = ""
    backend: str = ""
    transport: str = ""
    interface: str = ""
    address: str = ""
    mtu: int = 0
    seconds: float = 0.0


Exchange = Callable[[Sequence[str]], Mapping[str, Rank]]
"""Runs an all-reduce over nodes, rank 0 first, and returns what each of them saw."""


def rank_of(answer: NodeAnswer) -> Rank:
    """Return what a rank saw, out of the answer of its node."""
    if answer.state is not NodeState.ANSWERED:
        return Rank(local=True, error=answer.reason or answer.state.value)
    try:
        return msgspec.json.decode(wire.decompress(answer.content), type=Rank)
    except (InputError, msgspec.MsgspecError, UnicodeDecodeError):
        return Rank(local=True, error="what came is not a result of an all-reduce")


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What an all-reduce showed: what breaks it, and how the nodes reached each other."""

    findings: tuple[FleetFinding, ...] = ()
    paths: tuple[NetworkPath, ...] = ()


class _Search:
    """Finds bad nodes and bad links by trying groups, in a bounded number of rounds."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self._rounds = exchange, 0
        self._tried: dict[frozenset[str], Mapping[str, Rank]] = {}
        self.core: list[str] = []
        self.broken: dict[str, str] = {}
        self.apart: list[tuple[str, str, str]] = []
        self.last: Mapping[str, Rank] = {}
        self.undecided: list[str] = []
        self.seen: dict[str, Rank] = {}
        """The best that each node saw in any group."""

    def works(self, nodes: Sequence[str]) -> bool:
        """Return whether an all-reduce over nodes works; note the nodes that fail by themselves."""
        if len(nodes) < 2:
            return True
        # A group that fails takes all of its time: none is tried twice.
        if (known := self._tried.get(frozenset(nodes))) is None:
            self._rounds += 1
            known = self._tried[frozenset(nodes)] = self._exchange(nodes)
        self.last = known
        for name, rank in self.last.items():
            if not rank.ok and rank.local:
                self.broken.setdefault(name, one_line(rank.error, 300))
            if rank.ok or not self.seen.get(name, Rank()).ok:
                self.seen[name] = rank
        return all(rank.ok for rank in self.last.values())

    @property
    def is_over(self) -> bool:
        """Return whether the rounds are used up."""
        return self._rounds >= _MOST_ROUNDS

    def add(self, nodes: Sequence[str]) -> None:
        """Add nodes to the core; find those that cannot be added."""
        nodes = [name for name in nodes if name not in self.broken]
        if not nodes:
            return
        if self.is_over:
            self.undecided += nodes
            return
        before = len(self.broken)
        if self.works([*self.core, *nodes]):
            self.core += nodes
        elif len(self.broken) > before:
            self.add(nodes)  # without those that failed by themselves
        elif len(nodes) > 1:
            middle = len(nodes) // 2
            self.add(nodes[:middle])
            self.add(nodes[middle:])
        elif self.core:
            self._place(nodes[0])

    def _place(self, name: str) -> None:
        """Say whether a node fails with each part of the core, or with one node of it."""
        why = next((rank.error for rank in self.last.values() if rank.error), "")
        part = list(self.core)
        while len(part) > 1 and not self.is_over:
            middle = len(part) // 2
            first = self.works([*part[:middle], name])
            second = self.works([*part[middle:], name])
            if name in self.broken:
                return
            if first == second:
                break
            part = part[middle:] if first else part[:middle]
        if len(part) == 1 and len(self.core) > 1:
            self.apart.append((part[0], name, one_line(why, 300)))
        else:
            self.broken.setdefault(name, one_line(why, 300))


def search(exchange: Exchange, nodes: Sequence[str]) -> Network:
    """Run an all-reduce over nodes; say which nodes or links break it, and what it used."""
    search_ = _Search(exchange)
    found = tuple(_tried(search_, nodes)) if len(nodes) > 1 else ()
    return Network(findings=(*found, *_of_paths(search_.seen)), paths=tuple(_paths(search_.seen)))


def _tried(search_: _Search, nodes: Sequence[str]) -> Iterator[FleetFinding]:
    """Try all nodes, then groups of them; yield findings about what breaks them."""
    if search_.works(nodes):
        return
    left = [name for name in nodes if name not in search_.broken]
    seed = _seed(search_, left)
    search_.core = list(seed)
    search_.add([name for name in left if name not in seed])
    yield from _findings(search_, nodes)


def _paths(ranks: Mapping[str, Rank]) -> Iterator[NetworkPath]:
    """Yield how the nodes reached each other, those first that most have in common."""
    alike: dict[tuple[bool, str, str, str, int], list[str]] = {}
    for name, rank in ranks.items():
        backend, transport = one_line(rank.backend, 40), one_line(rank.transport, 40)
        key = (rank.ok, backend, transport, one_line(rank.interface, 40), rank.mtu)
        alike.setdefault(key, []).append(name)
    for (works, backend, transport, interface, mtu), names in sorted(
        alike.items(), key=lambda one: -len(one[1])
    ):
        yield NetworkPath(
            nodes=nodesets.fold(names),
            size=len(names),
            works=works,
            backend=backend,
            transport=transport,
            interface=interface,
            mtu=mtu,
        )


def _seed(search_: _Search, nodes: Sequence[str]) -> Sequence[str]:
    """Return the largest of the halves of the halves … that works."""
    parts = [list(nodes)]
    while parts and not search_.is_over:
        part = parts.pop(0)
        part = [name for name in part if name not in search_.broken]
        if len(part) > 1 and search_.works(part):
            return part
        if len(part) > 2:
            middle = len(part) // 2
            parts += [part[:middle], part[middle:]]
    return ()


def _findings(search_: _Search, nodes: Sequence[str]) -> Iterator[FleetFinding]:
    total = len(nodes)
    reasons: dict[str, list[str]] = {}
    for name, why in search_.broken.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield _finding(
            "fleet/all-reduce-node",
            f"An all-reduce over {total} nodes fails because of this node: {why}",
            names,
            "The other nodes that could be tried work together without it.",
        )
    for first, second, why in search_.apart:
        yield _finding(
            "fleet/all-reduce-link",
            f"{first} and {second} do not work together, each of them does with others: {why}",
            [first, second],
            "Look at the cable, the switch port, and firewall rules between these two.",
        )
    if not search_.broken and not search_.apart:
        yield _finding(
            "fleet/all-reduce",
            f"An all-reduce over {total} nodes fails, and no group of them shows why",
            list(nodes),
            next((rank.error for rank in search_.last.values() if rank.error), ""),
        )
    elif search_.undecided:
        found = _finding(
            "fleet/all-reduce-not-tried",
            f"After {_MOST_ROUNDS} groups these nodes are left untried",
            search_.undecided,
            "",
        )
        yield msgspec.structs.replace(found, severity=Severity.WARNING)


def _of_paths(ranks: Mapping[str, Rank]) -> Iterator[FleetFinding]:
    """Yield findings about paths that differ: other MTUs, backends, transports."""
    for field, label in (("mtu", "MTU"), ("backend", "backend"), ("transport", "transport")):
        values: dict[str, list[str]] = {}
        for name, rank in ranks.items():
            if value := getattr(rank, field):
                values.setdefault(str(value), []).append(name)
        if len(values) > 1:
            usual = max(values, key=lambda value: len(values[value]))
            for value, names in values.items():
                if value != usual:
                    title = f"{label} towards the other nodes: {value} instead of {usual}"
                    found = _finding("fleet/all-reduce-path", title, names, "")
                    yield msgspec.structs.replace(found, severity=Severity.WARNING)


def _finding(id_: str, title: str, names: Sequence[str], message: str) -> FleetFinding:
    return FleetFinding(
        id=id_,
        title=one_line(title, 400),
        severity=Severity.ERROR,
        nodes=nodesets.fold(names),
        size=len(set(names)),
        message=one_line(message, 500),
    )
