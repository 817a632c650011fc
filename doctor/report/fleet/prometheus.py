"""The report of a fleet in Prometheus' text format, for node exporter's textfile collector.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.text import one_line
from doctor.fleet.nodesets import unfold
from doctor.model.fleet import FleetReport, NodeState
from doctor.model.scales import Severity

_MOST_FINDINGS = 500


def render(report: FleetReport) -> str:
    """Return the samples, each family with its help and its type."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: FleetReport) -> Iterator[str]:
    summary = report.summary
    yield from _family("canary_doctor_fleet_nodes", "Nodes by state.")
    for state in NodeState:
        labels = _labels(state=state.value)
        yield f"canary_doctor_fleet_nodes{labels} {getattr(summary, state.value)}"
    yield from _family("canary_doctor_fleet_groups", "Groups of equal nodes.")
    yield f"canary_doctor_fleet_groups {summary.groups}"
    yield from _family("canary_doctor_fleet_findings", "Findings by severity.")
    for severity in Severity:
        labels = _labels(severity=severity.value)
        yield f"canary_doctor_fleet_findings{labels} {getattr(summary, severity.value)}"
    yield from _family("canary_doctor_node_answered", "Whether the node gave a report.")
    for name, node in report.nodes.items():
        answered = int(node.state is NodeState.ANSWERED)
        yield f"canary_doctor_node_answered{_labels(node=name, state=node.state.value)} {answered}"
    yield from _family("canary_doctor_node_group", "Number of the node's group; 1 is the largest.")
    for name, node in report.nodes.items():
        if node.group is not None:
            yield f"canary_doctor_node_group{_labels(node=name)} {node.group}"
    yield from _family("canary_doctor_node_finding", "1 for each error or warning of a node.")
    seen: set[str] = set()
    for one in report.findings[:_MOST_FINDINGS]:
        if one.severity is Severity.NOTE:
            continue
        for name in unfold(one.nodes):
            labels = _labels(node=name, id=one.id, severity=one.severity.value)
            if labels not in seen:  # the format allows a sample once
                seen.add(labels)
                yield f"canary_doctor_node_finding{labels} 1"


def _family(name: str, help_: str) -> tuple[str, str]:
    return f"# HELP {name} {help_}", f"# TYPE {name} gauge"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    """Return a value of a label: a backslash, a quote and a line feed are escaped."""
    text = one_line(value, 300)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
