"""Findings about a fleet: those of its nodes, folded, and those of their comparison."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from doctor.base.text import one_line, shorten
from doctor.fleet import nodesets
from doctor.fleet.comparison import CHECK, CommonValues, NodesAlike, in_words, label_of
from doctor.fleet.reading import SeenFinding
from doctor.model.document import FixDocument
from doctor.model.findings import Evidence
from doctor.model.fleet import Difference, FleetFinding, NodeGroup, NodeReport, NodeState
from doctor.model.scales import Confidence, Severity

__all__ = ["FleetFinding"]

_MOST_TITLES = 20
"""Titles of one id that get a finding of their own; a title may name a GPU of one node."""
_MOST_KEYS = 5000
_CLOCK_SECONDS = 10.0
_STATES = {
    NodeState.SILENT: ("fleet/silent", "No answer in time"),
    NodeState.REFUSED: ("fleet/refused", "The check was refused"),
    NodeState.LOST: ("fleet/lost", "No report"),
}
_MACHINE = (
    *("fleet/silent", "fleet/lost", "fleet/bits-differ", "fleet/bits-change"),
    *("fleet/differs/nvidia.", "fleet/differs/amd.", "fleet/differs/intel."),
)
"""Findings about a machine rather than about an environment: it may be taken out of service."""
_CHANGE = "The nodes of one job should be equal; bring these to what is usual, or keep jobs apart."

_DECIDE = (
    "The nodes of one job should be equal, and no value has a majority: decide which is right."
)


class _Detail(msgspec.Struct, frozen=True):
    message: str = ""
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[FixDocument, ...] = ()
    references: tuple[str, ...] = ()


class _Folded(msgspec.Struct):
    found: SeenFinding
    raw: bytes
    nodes: list[str]


class FoldedFindings:
    """Findings of nodes; equal ones are one with a list of nodes."""

    def __init__(self) -> None:
        self._folded: dict[tuple[str, str, str, str], _Folded] = {}
        self._known: dict[bytes, _Folded] = {}
        self._titles: Counter[str] = Counter()

    def add(self, node: str, raw: bytes, decode: Callable[[bytes], SeenFinding | None]) -> None:
        """Take a finding of a node, as its report holds it."""
        if (entry := self._known.get(raw)) is None:
            if (found := decode(raw)) is None:
                return
            entry = self._entry(found, raw)
            if len(self._known) < _MOST_KEYS:
                self._known[raw] = entry
        if not entry.nodes or entry.nodes[-1] != node:
            entry.nodes.append(node)

    def folded(self) -> Iterator[FleetFinding]:
        """Yield each finding with its nodes."""
        for entry in self._folded.values():
            detail = _detail(entry.raw)
            nodes = sorted(set(entry.nodes))
            yield FleetFinding(
                id=one_line(entry.found.id, 200),
                title=one_line(entry.found.title, 300),
                severity=entry.found.severity,
                confidence=entry.found.confidence,
                nodes=nodesets.fold(nodes),
                size=len(nodes),
                message=shorten(detail.message, 2000),
                evidence=tuple(one_line(one.text, 300) for one in detail.evidence[:5]),
                fixes=detail.fixes[:3],
                references=tuple(one_line(one, 300) for one in detail.references[:5]),
            )

    def _entry(self, found: SeenFinding, raw: bytes) -> _Folded:
        title = one_line(found.title, 300)
        key = (found.id, found.target, found.severity.value, title)
        if key not in self._folded:
            if self._titles[found.id] >= _MOST_TITLES or len(self._folded) >= _MOST_KEYS:
                key = (*key[:3], "")
            else:
                self._titles[found.id] += 1
        return self._folded.setdefault(key, _Folded(found=found, raw=raw, nodes=[]))


def _detail(raw: bytes) -> _Detail:
    try:
        return msgspec.json.decode(raw, type=_Detail)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _Detail()  # of a doctor whose findings have another form


def of_states(nodes: Mapping[str, NodeReport]) -> Iterator[FleetFinding]:
    """Yield a finding for each reason for which nodes have no report."""
    found: dict[tuple[NodeState, str], list[str]] = defaultdict(list)
    for name, node in nodes.items():
        if node.state is not NodeState.ANSWERED:
            found[node.state, node.reason].append(name)
    for (state, reason), names in found.items():
        id_, title = _STATES[state]
        yield _finding(id_, f"{title}: {reason}" if reason else title, Severity.ERROR, names)


def of_differences(
    groups: Sequence[NodeGroup], alike: Sequence[NodesAlike], usual: CommonValues
) -> Iterator[FleetFinding]:
    """Yield a finding for each value that is not the usual one and matters."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    first: dict[tuple[str, str], Difference] = {}
    for group, members in zip(groups, alike, strict=True):
        for one in group.differences:
            matters = one.severity is not None and one.severity > Severity.NOTE
            if matters and not one.name.startswith(CHECK):
                found[one.name, one.here] += members.nodes
                first.setdefault((one.name, one.here), one)
    for (name, here), those in found.items():
        one = first[name, here]
        own, usually = in_words(name, here), in_words(name, one.majority)
        count = f"{own} on {len(those)} of {usual.nodes} nodes"
        nodes = those
        if usual.is_majority(name):
            advice, joined = _CHANGE, f"{count} instead of {usually}"
        else:
            # Nobody is blamed: those with the other value have the finding too.
            others = _without(name, groups, alike)
            joined = f"{count}, {usually} on {usual.counts.get(name, 0)}"
            joined += f" ({_brief(those)} and {_brief(others)})" if others else ""
            advice, nodes = _DECIDE, [*those, *others]
        yield msgspec.structs.replace(
            _finding(
                f"fleet/differs/{name}",
                one_line(f"{label_of(name)}: {joined}", 300),
                one.severity or Severity.NOTE,
                nodes,
            ),
            message=f"{one.why[:1].upper()}{one.why[1:]}. {advice}" if one.why else advice,
            evidence=(f"{name} = {own}; usual: {usually}",),
        )


def _without(name: str, groups: Sequence[NodeGroup], alike: Sequence[NodesAlike]) -> list[str]:
    """Return the nodes whose group does not differ from the others in a fact."""
    return [
        node
        for group, members in zip(groups, alike, strict=True)
        if not any(one.name == name for one in group.differences)
        for node in members.nodes
    ]


def _brief(nodes: Iterable[str]) -> str:
    return nodesets.shorten(nodesets.fold(nodes), 60)


def of_clocks(offsets: Mapping[str, float]) -> Iterator[FleetFinding]:
    """Yield a finding for each clock that is far from the middle one."""
    for name, seconds in sorted(offsets.items()):
        if abs(seconds) >= _CLOCK_SECONDS:
            way = "ahead of" if seconds > 0 else "behind"
            found = _finding(
                "fleet/clock",
                f"The clock is about {abs(seconds):.0f} s {way} the others",
                Severity.WARNING,
                [name],
            )
            yield msgspec.structs.replace(
                found,
                message="Logs of a job cannot be put in order, builds by time stamps go wrong, and "
                "certificates may count as not valid yet. Keep the clocks by NTP (chrony).",
            )


def of_inputs(
    nodes: Mapping[str, NodeReport], twice: Iterable[str], versions: Mapping[str, int]
) -> Iterator[FleetFinding]:
    """Yield findings about the reports themselves."""
    if names := sorted(twice):
        yield _finding(
            "fleet/two-reports",
            "More than one report has the name of this node; the first one counts",
            Severity.WARNING,
            names,
        )
    for name, node in nodes.items():
        if node.state is NodeState.ANSWERED and node.reason:
            yield _finding("fleet/other-name", one_line(node.reason, 200), Severity.WARNING, [name])
    if len(versions) > 1:
        words = ", ".join(f"{name or 'unknown'} on {count}" for name, count in versions.items())
        yield _finding(
            "fleet/doctor-versions",
            f"The nodes were checked by different versions of doctor: {words}",
            Severity.NOTE,
            [name for name, node in nodes.items() if node.state is NodeState.ANSWERED],
        )


def ranked(
    found: Iterable[FleetFinding],
    total: int,
    exclusion: Callable[[Sequence[str], str], tuple[tuple[str, ...], ...]] | None,
) -> tuple[FleetFinding, ...]:
    """Return findings, the worst first; errors of a minority get the commands of the engine."""
    listed = sorted(found, key=lambda one: (one.severity.rank, -one.size, one.id, one.title))
    if exclusion is None:
        return tuple(listed)
    return tuple(
        msgspec.structs.replace(
            one,
            exclude=exclusion(nodesets.unfold(one.nodes), one_line(f"doctor: {one.title}", 150)),
        )
        if one.severity is Severity.ERROR and 2 * one.size < total and one.id.startswith(_MACHINE)
        else one
        for one in listed
    )


def _finding(id_: str, title: str, severity: Severity, nodes: Iterable[str]) -> FleetFinding:
    names = sorted(set(nodes))
    return FleetFinding(
        id=id_,
        title=title,
        severity=severity,
        confidence=Confidence.HIGH,
        nodes=nodesets.fold(names),
        size=len(names),
    )
