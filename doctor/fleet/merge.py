"""Many reports become one: each is read once, reduced to numbers, and dropped."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from doctor import __version__
from doctor.base.errors import InputError
from doctor.base.text import one_line
from doctor.fleet import comparison, findings, nodesets, votes, wire
from doctor.fleet.comparison import CHECK, NodesAlike
from doctor.fleet.network import Network
from doctor.fleet.reading import SeenOutcome, SeenReport, read_finding, read_report
from doctor.fleet.values import ValueTable
from doctor.model.fleet import (
    FleetReport,
    FleetSummary,
    NodeAnswer,
    NodeGroup,
    NodeReport,
    NodeState,
)
from doctor.model.scales import Severity
from doctor.model.vocabulary.fleet import TRAITS

Exclusion = Callable[[Sequence[str], str], tuple[tuple[str, ...], ...]]
"""How an engine takes nodes out of service: commands for nodes and a reason."""

_MOST_OUTCOMES = 1000
_MOST_FINDINGS = 1000
_NOTHING = 4


class Merger:
    """Takes answers one by one, in any order, and makes one report of them."""

    def __init__(self) -> None:
        self._table = ValueTable()
        self._nodes: dict[str, NodeReport] = {}
        self._numbers: dict[str, array[int]] = {}
        self._findings = findings.FoldedFindings()
        self._votes = votes.DigestVotes()
        self._versions: Counter[str] = Counter()
        self._lags: dict[str, float] = {}
        self._twice: set[str] = set()
        self.network = Network()
        """What a test showed that several nodes make together."""

    def add(self, answer: NodeAnswer) -> None:
        """Take the answer of a node; a second one of the same node is passed over."""
        name = nodesets.plain(answer.name)
        if name in self._nodes:
            self._twice.add(name)
            return
        report, reason = None, one_line(answer.reason, 500)
        if answer.state is NodeState.ANSWERED:
            try:
                report = read_report(_unpacked(answer.content))
            except InputError as error:
                answer = msgspec.structs.replace(answer, state=NodeState.LOST)
                reason = str(error)
        if report is not None:
            self._take(name, report)
        self._nodes[name] = NodeReport(
            state=answer.state,
            exit_code=report.exit_code if report else answer.exit_code,
            reason=reason,
            seconds=answer.seconds,
        )
        if report and answer.lag is not None:
            self._lags[name] = answer.lag

    @property
    def answered(self) -> tuple[str, ...]:
        """Return the names of the nodes that have a report, in order."""
        return tuple(sorted(self._numbers))

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the nodes that were taken."""
        return frozenset(self._nodes)

    def report(
        self,
        *,
        command: str,
        fail_on: Severity = Severity.ERROR,
        engine: str = "",
        exclusion: Exclusion | None = None,
        problems: Iterable[str] = (),
        interrupted: bool = False,
        taken: str = "",
        seconds: float = 0.0,
    ) -> FleetReport:
        """Return one report of all that was taken.

        `fail_on` is the severity from which a finding makes the exit code 1.
        """
        alike = comparison.alike(self._numbers, self._table)
        usual = comparison.usual(alike, self._table)
        groups = tuple(self._group(number, one, usual) for number, one in enumerate(alike, 1))
        number_of = {name: number for number, one in enumerate(alike, 1) for name in one.nodes}
        nodes = {
            name: msgspec.structs.replace(node, group=number_of.get(name))
            for name, node in sorted(self._nodes.items())
        }
        found = findings.ranked(
            (
                *findings.of_states(nodes),
                *findings.of_differences(groups, alike, usual),
                *findings.of_clocks(self._offsets()),
                *findings.of_inputs(nodes, self._twice, self._versions),
                *self._votes.findings(),
                *self.network.findings,
                *self._findings.folded(),
            ),
            len(nodes),
            exclusion,
        )
        return FleetReport(
            schema_version=1,
            doctor_version=__version__,
            command=command,
            exit_code=_exit_code(nodes, found, fail_on, interrupted=interrupted),
            summary=_summary(nodes, groups, found),
            nodes=nodes,
            groups=groups,
            findings=found,
            engine=engine,
            taken=taken,
            seconds=round(seconds, 3),
            interrupted=interrupted,
            versions=dict(sorted(self._versions.items())),
            problems=tuple(one_line(problem, 300) for problem in problems),
            network=self.network.paths,
        )

    def _take(self, name: str, report: SeenReport) -> None:
        numbers = self._table.numbers(report.facts)
        verdicts = {
            self._table.number(
                f"{CHECK}{one_line(one.id, 100)}" + (f":{one.device[:40]}" if one.device else ""),
                one_line(one.verdict, 20),
            )
            for one in report.outcomes[:_MOST_OUTCOMES]
        }
        self._numbers[name] = array("L", sorted({*numbers, *verdicts}))
        self._versions[one_line(report.doctor.version, 40)] += 1
        for raw in report.findings[:_MOST_FINDINGS]:
            self._findings.add(name, bytes(raw), read_finding)
        self._vote(name, report.outcomes[:_MOST_OUTCOMES])

    def _vote(self, name: str, outcomes: Sequence[SeenOutcome]) -> None:
        for one in outcomes:
            if one.id == votes.CHECK:
                self._votes.add(name, bytes(one.data))

    def _group(self, number: int, group: NodesAlike, usual: comparison.CommonValues) -> NodeGroup:
        values = {self._table.names[each]: self._table.values[each] for each in group.numbers}
        return NodeGroup(
            number=number,
            nodes=nodesets.fold(group.nodes),
            size=len(group.nodes),
            digest=group.key,
            majority=2 * len(group.nodes) > usual.nodes,
            exit_code=max((self._nodes[name].exit_code or 0) % _NOTHING for name in group.nodes),
            traits={
                name: words.format(values[name])
                for name, words in TRAITS
                if values.get(name, "absent") not in ("absent", "not known")
            },
            differences=comparison.differences(group, usual, self._table),
        )

    def _offsets(self) -> dict[str, float]:
        """Return by how much each clock is ahead of the middle one, in seconds."""
        if len(self._lags) < 2:
            return {}
        middle = statistics.median(self._lags.values())
        return {name: middle - lag for name, lag in self._lags.items()}


def _unpacked(content: bytes) -> bytes:
    return content if content[:1] in (b"{", b"") else wire.decompress(content)


def _summary(
    nodes: dict[str, NodeReport],
    groups: Sequence[NodeGroup],
    found: Sequence[findings.FleetFinding],
) -> FleetSummary:
    states = Counter(node.state for node in nodes.values())
    counts = Counter(one.severity for one in found)
    return FleetSummary(
        nodes=len(nodes),
        answered=states[NodeState.ANSWERED],
        silent=states[NodeState.SILENT],
        refused=states[NodeState.REFUSED],
        lost=states[NodeState.LOST],
        groups=len(groups),
        error=counts[Severity.ERROR],
        warning=counts[Severity.WARNING],
        note=counts[Severity.NOTE],
    )


def _exit_code(
    nodes: dict[str, NodeReport],
    found: Sequence[findings.FleetFinding],
    fail_on: Severity,
    *,
    interrupted: bool,
) -> int:
    if interrupted:
        return 130
    codes = {node.exit_code for node in nodes.values()}
    missing = any(node.state is not NodeState.ANSWERED for node in nodes.values())
    if missing or 1 in codes or any(one.severity >= fail_on for one in found):
        return 1
    return _NOTHING if codes == {_NOTHING} else 0
