"""The report of a fleet as JUnit's XML: a case for each node, and one for each finding.

https://github.com/testmoapp/junitxml describes what CI systems read.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict

from doctor.base.text import one_line, sanitize, spell_commands
from doctor.fleet.nodesets import unfold
from doctor.model.fleet import FleetReport, NodeState
from doctor.model.scales import Severity

_LONGEST = 4000


def render(report: FleetReport) -> str:
    """Return the report as an XML document."""
    by_node = _errors(report)
    root = ET.Element("testsuites", {"name": "canary-doctor fleet"})
    suite = ET.SubElement(root, "testsuite", {"name": "nodes", "time": f"{report.seconds:.3f}"})
    failures = errors = 0
    for name, node in report.nodes.items():
        case = ET.SubElement(
            suite,
            "testcase",
            {"classname": "fleet", "name": _fit(name), "time": f"{node.seconds:.3f}"},
        )
        if node.state is not NodeState.ANSWERED:
            errors += 1
            about = {"type": node.state.value, "message": _fit(node.reason or node.state.value)}
            ET.SubElement(case, "error", about)
        elif lines := by_node.get(name):
            failures += 1
            about = {"type": "error", "message": _fit(lines[0])}
            ET.SubElement(case, "failure", about).text = _fit("\n".join(lines), _LONGEST)
    counts = {
        "tests": str(len(report.nodes)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": "0",
    }
    root.attrib.update(counts)
    suite.attrib.update(counts)
    ET.indent(root, space="")
    text = ET.tostring(root, encoding="utf-8", xml_declaration=True).decode()
    return spell_commands(text, lambda char: f"&#{ord(char)};") + "\n"


def _errors(report: FleetReport) -> dict[str, list[str]]:
    """Return the errors of each node, one line each; a finding of all nodes is in each."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in report.findings:
        if one.severity is Severity.ERROR:
            for name in unfold(one.nodes):
                found[name].append(f"{one.title} ({one.id})")
    return found


def _fit(text: str, most: int = 500) -> str:
    clean = sanitize(text[: 2 * most])[:most]
    return clean if most > 500 else one_line(clean, most)
