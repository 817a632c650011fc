"""Each format holds the verdict, each node and each finding, and keeps its own rules."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from doctor.catalog.schemas import schema
from doctor.model.fleet import FleetReport, NetworkPath, NodeAnswer, NodeState
from doctor.report.fleet import FleetFormat, renderer
from tests.fleet.reports import answered, merged, report

_EVIL = 'x"</script>\\\n::error::$(reboot)`'


@pytest.fixture(scope="module")
def fleet() -> FleetReport:
    equal = [answered(f"gpu{node:03}", report()) for node in range(1, 7)]
    return merged(
        *equal,
        answered("gpu007", report(facts={"env.NCCL_DEBUG": _EVIL, "torch.version": _EVIL})),
        NodeAnswer(name="gpu008", state=NodeState.SILENT, reason=_EVIL),
        network=(NetworkPath(nodes="gpu[001-007]", size=7, works=True, backend="gloo", mtu=1400),),
        exclusion=lambda nodes, reason: (("scontrol", ",".join(nodes), f"Reason={reason}"),),
    )


def _text(fleet: FleetReport, kind: FleetFormat, **how: object) -> str:
    return str(renderer(kind).render(fleet, **how))


@pytest.mark.parametrize("kind", list(FleetFormat))
def test_each_format_names_the_odd_nodes(fleet: FleetReport, kind: FleetFormat) -> None:
    text = _text(fleet, kind)
    assert "gpu007" in text
    assert "gpu008" in text
    assert "\n::error::" not in text


@pytest.mark.parametrize("kind", [FleetFormat.TEXT, FleetFormat.MARKDOWN, FleetFormat.HTML])
def test_what_an_all_reduce_used_is_in_the_formats_for_people(
    fleet: FleetReport, kind: FleetFormat
) -> None:
    assert "right sums, gloo, MTU 1400" in _text(fleet, kind)


def test_text_begins_with_the_verdict_and_fits_80_columns(fleet: FleetReport) -> None:
    text = _text(fleet, FleetFormat.TEXT)
    assert text.splitlines()[2].strip().startswith("✗  1 node did not answer; 1 node differs")
    long = [
        line for line in text.splitlines() if len(line) > 80 and not line.startswith("       $")
    ]
    assert not long
    assert "$ scontrol gpu008 'Reason=doctor: No answer in time" in text
    assert len(_text(fleet, FleetFormat.TEXT, verbosity=-1).splitlines()) < 6
    assert _text(fleet, FleetFormat.TEXT, unicode=False).replace("✓", "").isascii()


def test_a_healthy_fleet_says_so_in_one_sentence() -> None:
    found = merged(*(answered(f"n{node}", report()) for node in range(4)))
    assert "All 4 nodes answered, are alike, and report no error." in _text(found, FleetFormat.TEXT)


def test_the_verdict_names_what_only_many_nodes_show() -> None:
    bits = {"device": "cpu", "kind": "x"}
    outcomes = [
        {
            "id": "bit-hashes",
            "device": "cpu",
            "verdict": "passed",
            "data": {**bits, "hashes": {"mm": [digest]}},
        }
        for digest in ("a", "a", "a", "b")
    ]
    found = merged(
        *(answered(f"n{node}", report(outcomes=[one])) for node, one in enumerate(outcomes, 1))
    )
    text = _text(found, FleetFormat.TEXT)
    assert "✗  Kernels give wrong bits." in text
    assert "1 node: n4 (fleet/bits-differ)" in text


def test_json_fits_its_published_schema(fleet: FleetReport) -> None:
    document = json.loads(_text(fleet, FleetFormat.JSON))
    jsonschema.validate(document, json.loads(schema("fleet")))
    assert document["nodes"]["gpu008"]["state"] == "silent"


def test_junit_has_a_case_for_each_node(fleet: FleetReport) -> None:
    root = ET.fromstring(_text(fleet, FleetFormat.JUNIT))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert len(cases) == 8
    assert cases["gpu007"].find("failure") is not None
    assert cases["gpu008"].find("error") is not None
    assert (root.get("failures"), root.get("errors")) == ("1", "1")


def test_prometheus_keeps_the_rules_of_its_format(fleet: FleetReport) -> None:
    text = _text(fleet, FleetFormat.PROMETHEUS)
    assert text.endswith("\n")
    label = r'[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
    sample = re.compile(rf"[a-z_]+(?:\{{{label}(?:,{label})*\}})? -?[0-9.]+")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in samples if not sample.fullmatch(line)]
    assert len(samples) == len({line.rpartition(" ")[0] for line in samples})
    families = re.findall(r"^# TYPE (\w+) gauge$", text, re.MULTILINE)
    assert len(families) == len(set(families))
    assert {re.match(r"\w+", line)[0] for line in samples} <= set(families)  # type: ignore[index]


def test_sarif_names_rules_and_nodes(fleet: FleetReport) -> None:
    (run,) = json.loads(_text(fleet, FleetFormat.SARIF))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    named = {
        place["name"]
        for result in run["results"]
        for place in result["locations"][0]["logicalLocations"]
    }
    assert {"gpu007", "gpu008"} <= named


def test_html_is_well_formed_and_has_a_cell_for_each_node(fleet: FleetReport) -> None:
    page = _text(fleet, FleetFormat.HTML)
    root = ET.fromstring(page.partition("\n")[2])
    grid = next(each for each in root.iter("ul") if each.get("class") == "grid")
    assert [cell.get("class") for cell in grid] == ["good"] * 6 + ["error", "none"]
    assert not list(root.iter("script"))
