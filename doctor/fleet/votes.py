"""The bit vote: equal nodes that run the same kernels on the same inputs give the same bits.

The check `bit-hashes` runs each kernel several times and reports a digest of each result, with the
hardware and the software that decide the bits. A node whose digest differs from that of the others
with equal hardware and software computes wrongly and does not know it (silent data corruption; see
https://arxiv.org/abs/2102.11245). So does one that differs from itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from doctor.base.text import one_line
from doctor.fleet import nodesets
from doctor.model.fleet import FleetFinding
from doctor.model.scales import Confidence, Severity

CHECK = "bit-hashes"
"""The id of the check that reports digests."""
_MOST_KERNELS = 200
_MOST_REPEATS = 20
_LEAST_VOTERS = 3
"""Of two nodes that differ nobody can say which one is wrong."""


class _Bits(msgspec.Struct, frozen=True):
    """What a node reports for one device: its kind, and the digests of each kernel by its name."""

    device: str = ""
    kind: str = ""
    hashes: dict[str, tuple[str, ...]] = {}


class _Place(NamedTuple):
    """Who computed: a node and its device."""

    node: str
    device: str


class DigestVotes:
    """Collects the digests of all nodes."""

    def __init__(self) -> None:
        self._votes: dict[tuple[str, str], dict[str, list[_Place]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._unsteady: dict[str, set[_Place]] = defaultdict(set)

    def add(self, node: str, data: bytes) -> None:
        """Take what a node reports; broken data counts as none."""
        try:
            bits = msgspec.json.decode(data, type=_Bits)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return
        place = _Place(node, one_line(bits.device, 40))
        for kernel, digests in list(bits.hashes.items())[:_MOST_KERNELS]:
            name = one_line(kernel, 60)
            seen = {one_line(digest, 64) for digest in digests[:_MOST_REPEATS]}
            if len(seen) > 1:
                self._unsteady[name].add(place)
            elif seen:
                self._votes[name, one_line(bits.kind, 400)][seen.pop()].append(place)

    def findings(self) -> Iterator[FleetFinding]:
        """Yield a finding for each set of kernels that differ, with the nodes that are outvoted."""
        wrong: dict[tuple[_Place, ...], list[str]] = defaultdict(list)
        split: dict[tuple[_Place, ...], list[str]] = defaultdict(list)
        changing: dict[tuple[_Place, ...], list[str]] = defaultdict(list)
        for name, unsteady in sorted(self._unsteady.items()):
            changing[tuple(sorted(unsteady))].append(name)
        for (name, _), votes in sorted(self._votes.items()):
            if len(votes) > 1:
                odd, outvoted = _odd(votes)
                (wrong if outvoted else split)[odd].append(name)
        for kind, found in (("change", changing), ("differ", wrong), ("split", split)):
            for places, names in found.items():
                yield _finding(kind, names, places)


def _odd(votes: Mapping[str, list[_Place]]) -> tuple[tuple[_Place, ...], bool]:
    """Return the places without the majority's digest; all of them where there is no majority."""
    everywhere = [place for where in votes.values() for place in where]
    best, places = max(votes.items(), key=lambda item: len(item[1]))
    enough = len({place.node for place in everywhere}) >= _LEAST_VOTERS
    if enough and 2 * len(places) > len(everywhere):
        return tuple(sorted(set(everywhere) - set(votes[best]))), True
    return tuple(sorted(everywhere)), False


class _Text(NamedTuple):
    title: str
    message: str


_TEXTS = {
    "change": _Text(
        title="changes its bits from run to run on the same inputs",
        message="These kernels are deterministic on healthy hardware. Memory, a core or a GPU of "
        "this node computes wrongly now and then.",
    ),
    "differ": _Text(
        title="gives other bits than on equal nodes",
        message="The same kernels on the same inputs give the same bits on equal hardware and "
        "software, so this node corrupts data silently.",
    ),
    "split": _Text(
        title="gives different bits on equal nodes, and no result has a majority",
        message="At least one of these nodes corrupts data silently. More nodes of the same kind "
        "would show which.",
    ),
}


def _finding(kind: str, kernels: list[str], places: Iterable[_Place]) -> FleetFinding:
    shown = ", ".join(kernels[:5])
    more = f" (and {len(kernels) - 1} more)" if len(kernels) > 1 else ""
    title, message = _TEXTS[kind]
    names = sorted({place.node for place in places})
    return FleetFinding(
        id=f"fleet/bits-{kind}",
        title=f"Kernel {kernels[0]}{more} {title}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        nodes=nodesets.fold(names),
        size=len(names),
        message=message,
        evidence=(
            f"kernels: {shown}",
            *(f"{place.node} on {place.device}" for place in sorted(set(places))[:20]),
        ),
    )
