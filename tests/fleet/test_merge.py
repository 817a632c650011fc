"""Nodes that are alike are one group; what differs is named, what naturally differs is not."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.cli.app import app
from doctor.fleet import values, wire
from doctor.fleet.nodesets import fold, unfold
from doctor.fleet.reading import answers
from doctor.model.fleet import FleetFinding, FleetReport, NodeAnswer, NodeState
from doctor.model.scales import Severity
from doctor.model.vocabulary import FACTS, is_known
from doctor.model.vocabulary.fleet import DEVICES, FOLLOWERS, NATURAL, SIZES, TRAITS, WEIGHTS
from tests.fleet.reports import answered, gpus, merged, report


def _fleet(*odd: dict[str, Any], count: int = 8) -> FleetReport:
    """Return a fleet of equal nodes; the last ones have other facts."""
    facts: list[dict[str, Any]] = [{}] * (count - len(odd)) + list(odd)
    return merged(
        *(answered(f"gpu{index:03}", report(facts=each)) for index, each in enumerate(facts, 1))
    )


def _ids(found: FleetReport) -> dict[str, FleetFinding]:
    return {one.id: one for one in found.findings}


def test_equal_nodes_are_one_group_without_a_finding() -> None:
    found = _fleet()
    assert [(group.nodes, group.size, group.majority) for group in found.groups] == [
        ("gpu[001-008]", 8, True)
    ]
    assert (found.findings, found.exit_code) == ((), 0)


@pytest.mark.parametrize(
    ("facts", "id_", "severity", "words"),
    [
        (
            {"nvidia.driver_version": "535.104.05"},
            "nvidia.driver_version",
            "warning",
            "535.104.05 on 1 of 8 nodes instead of 580.65.06",
        ),
        ({"torch.version": "2.5.1"}, "torch.version", "error", "torch: 2.5.1 on 1 of 8"),
        (
            {"package.nvidia-nccl-cu13.version": "2.27.5"},
            "package.nvidia-nccl-cu13.version",
            "error",
            "NCCL: 2.27.5",
        ),
        (
            {"package.nvidia-nccl-cu13.version": None},
            "package.nvidia-nccl-cu13.version",
            "error",
            "NCCL: not installed",
        ),
        ({"host.glibc": "2.28"}, "host.glibc", "warning", "glibc: 2.28"),
        (
            {"env.NCCL_SOCKET_IFNAME": "eth7"},
            "env.NCCL_SOCKET_IFNAME",
            "warning",
            "eth7 on 1 of 8 nodes instead of not set",
        ),
        ({"host.limit_memlock": 65536}, "host.limit_memlock", "warning", "ulimit -l"),
    ],
)
def test_what_differs_is_a_finding_of_that_node(
    facts: dict[str, Any], id_: str, severity: str, words: str
) -> None:
    usual = {"host.limit_memlock": "unlimited"}
    found = merged(
        *(answered(f"n{index}", report(facts=usual)) for index in range(1, 8)),
        answered("n8", report(facts={**usual, **facts})),
    )
    (one,) = found.findings
    assert (one.id, one.severity.value, one.nodes) == (f"fleet/differs/{id_}", severity, "n8")
    assert words in one.title
    assert found.exit_code == (1 if severity == "error" else 0)


def test_a_gpu_fewer_is_an_error_and_uuids_are_not() -> None:
    facts = [{"nvidia.gpus": gpus(8, node)} for node in range(7)]
    found = _fleet(*facts, {"nvidia.gpus": gpus(7, 9)})
    (one,) = found.findings
    assert one.nodes == "gpu008"
    assert "7 × NVIDIA H100 (80 GiB) on 1 of 8 nodes instead of 8 × NVIDIA H100" in one.title


def test_what_naturally_differs_is_no_difference() -> None:
    found = _fleet(
        *(
            {
                "host.memory_available_bytes": 10**9 + node,
                "host.memory_bytes": (1 << 39) - (3 << 30) - 4096 * node,
                "torch.import_seconds": node / 10,
                "package.torch.installed_at": f"2026-01-0{node}",
                "env.SLURM_JOB_ID": str(node),
            }
            for node in range(1, 9)
        )
    )
    assert (len(found.groups), found.findings) == (1, ())


def test_a_fact_that_is_unique_on_each_node_does_not_make_groups() -> None:
    found = _fleet(*({"host.distribution": f"image {node}"} for node in range(8)))
    assert len(found.groups) == 1


def test_followers_are_counted_and_not_listed() -> None:
    odd = {"torch.version": "2.5.1", "torch.cuda_version": "12.4", "package.torch.version": "2.5.1"}
    usual = {"torch.cuda_version": "13.0", "package.torch.version": "2.13.0"}
    found = merged(
        *(answered(f"n{node}", report(facts=usual)) for node in range(3)),
        answered("n9", report(facts=odd)),
    )
    (one,) = found.groups[1].differences
    assert (one.name, one.follows) == ("torch.version", 2)


def test_of_two_equal_halves_neither_is_usual() -> None:
    found = _fleet({"torch.version": "2.5.1"}, count=2)
    (one,) = found.findings
    assert "2.5.1 on 1 of 2 nodes, 2.13.0+cu130 on 1 (gpu002 and gpu001)" in one.title
    assert one.nodes == "gpu[001-002]"
    assert not any(group.majority for group in found.groups)


@pytest.mark.parametrize("state", [NodeState.SILENT, NodeState.REFUSED, NodeState.LOST])
def test_a_node_without_a_report_is_an_error(state: NodeState) -> None:
    lost = NodeAnswer(name="n3", state=state, reason="the power went")
    found = merged(answered("n1", report()), answered("n2", report()), lost)
    (one,) = found.findings
    assert (one.id, one.nodes, one.severity) == (f"fleet/{state.value}", "n3", Severity.ERROR)
    assert "the power went" in one.title
    assert (found.nodes["n3"].group, found.exit_code) == (None, 1)


def test_findings_of_nodes_are_folded_with_their_fixes() -> None:
    finding = {
        "id": "torch/x", "target": "interpreter", "title": "It fails", "severity": "warning",
        "confidence": "high", "message": "Because.", "evidence": [], "references": [],
        "symptoms": [], "suppressed": None,
        "fixes": [{"kind": "pin", "title": "Pin it", "commands": ["pip install x==1"], "when": "",
                   "safe": True, "lasting": True, "sudo": False, "reboot": False, "verify": ""}],
    }  # fmt: skip
    silent = {**finding, "id": "torch/y", "suppressed": {"by": "ignore"}}
    found = merged(
        *(answered(f"n{node}", report(findings=[finding, silent])) for node in (1, 2, 3, 5)),
        answered("n4", report()),
    )
    (one,) = [each for each in found.findings if not each.id.startswith("fleet/")]
    assert (one.nodes, one.size, one.message) == ("n[1-3,5]", 4, "Because.")
    assert one.fixes[0].commands == ("pip install x==1",)


def test_a_red_check_makes_a_group_of_its_own() -> None:
    outcome = {"id": "large-matmul", "device": "cpu", "verdict": "passed"}
    found = merged(
        *(answered(f"n{node}", report(outcomes=[outcome])) for node in range(3)),
        answered("n9", report(outcomes=[{**outcome, "verdict": "crashed"}])),
    )
    (one,) = found.groups[1].differences
    assert (one.name, one.here) == ("check:large-matmul:cpu", "crashed")


def test_a_clock_that_is_apart_is_a_finding() -> None:
    lags = {"n1": 0.4, "n2": 0.6, "n3": 0.5, "n4": -36.5}
    found = merged(*(answered(name, report(), lag=lag) for name, lag in lags.items()))
    (one,) = found.findings
    assert (one.id, one.nodes) == ("fleet/clock", "n4")
    assert "37 s ahead" in one.title


def test_commands_of_the_engine_are_for_machines_alone() -> None:
    def exclusion(nodes: Any, reason: str) -> tuple[tuple[str, ...], ...]:
        return (("drain", ",".join(nodes), reason),)

    equal = [answered(f"n{node}", report()) for node in range(1, 6)]
    found = merged(
        *equal,
        NodeAnswer(name="n6", state=NodeState.SILENT, reason="$(reboot)"),
        answered("n7", report(facts={"torch.version": "2.5.1"})),
        exclusion=exclusion,
    )
    commands = {one.id: one.exclude for one in found.findings}
    assert commands["fleet/silent"][0][:2] == ("drain", "n6")
    assert commands["fleet/differs/torch.version"] == ()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"facts": 3}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"facts": {"a": ' + b"[" * 50_000,
        wire.compress(b"{}"),
        wire.compress(report())[:-5],
        b"x" * 100,
    ],
)
def test_a_broken_report_is_a_lost_node(content: bytes) -> None:
    found = merged(answered("n1", content), answered("n2", report()))
    assert found.nodes["n1"].state is NodeState.LOST
    assert found.exit_code == 1


def test_a_report_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_REPORT", 1000)
    found = merged(answered("n1", wire.compress(b" " * 5000)))
    assert "larger than" in found.nodes["n1"].reason


def test_hostile_names_and_values_do_no_harm() -> None:
    evil = {
        "host.glibc": "\x1b[31m::error::" + "x" * 10**6,
        "no.such.fact": 1,
        "env.NCCL_X": {"a": [1]},
    }
    found = merged(
        answered("n1", report(facts=evil)),
        answered("a b[0-9],@all\n", report()),
        answered("$(reboot)", report()),
    )
    assert set(found.nodes) == {"n1", "a_b_0-9___all", "__reboot_"}
    assert not any(
        one.name == "no.such.fact" for group in found.groups for one in group.differences
    )
    assert all(len(one.here) < 300 for group in found.groups for one in group.differences)


def test_two_reports_of_one_node_are_told() -> None:
    found = merged(answered("n1", report()), answered("n1", report(facts={"host.glibc": "1"})))
    assert _ids(found)["fleet/two-reports"].nodes == "n1"
    assert len(found.groups) == 1


def test_files_name_their_nodes(tmp_path: Path) -> None:
    packet = wire.Packet(node="other", state=NodeState.ANSWERED, content=wire.compress(report()))
    (tmp_path / "n1.json").write_bytes(report())
    (tmp_path / "doctor.json.n2").write_bytes(report())
    (tmp_path / "n3.packet").write_bytes(wire.encode(packet))
    (tmp_path / ".hidden").write_bytes(b"")
    problems: list[str] = []
    found = merged(*answers([tmp_path, tmp_path / "absent.json"], problems))
    assert set(found.nodes) == {"n1", "n2", "n3"}
    assert "its report calls it other" in _ids(found)["fleet/other-name"].title
    assert "no such file" in problems[0]


def test_folders_name_their_nodes_where_all_files_are_named_alike(tmp_path: Path) -> None:
    for node in ("n1", "n2"):
        (tmp_path / node / "tmp").mkdir(parents=True)
        (tmp_path / node / "tmp" / "doctor.json").write_bytes(report())
    assert {answer.name for answer in answers([tmp_path], [])} == {"n1", "n2"}


def test_folders_name_the_nodes_of_reports_that_stand_beside_others(tmp_path: Path) -> None:
    for name in ("jobs/1/report.json", "jobs/2/report.json", "n7.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(report())
    problems: list[str] = []
    assert {answer.name for answer in answers([tmp_path], problems)} == {"1", "2", "n7"}
    assert not problems


def test_the_second_report_of_a_node_is_named(tmp_path: Path) -> None:
    for name in ("a/n1.json", "b/n1.json", "b/n2.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(report())
    problems: list[str] = []
    list(answers([tmp_path / "a", tmp_path / "b"], problems))
    first, second = tmp_path / "a/n1.json", tmp_path / "b/n1.json"
    assert problems == [f"{second}: unused, {first} is of the same node"]


def test_the_output_of_a_job_holds_reports(tmp_path: Path) -> None:
    lines = []
    for node in ("n1", "n2"):
        content = wire.compress(report())
        packet = wire.Packet(node=node, state=NodeState.ANSWERED, content=content)
        lines += [f"{node}: {line}" for line in wire.lines(packet, "0" * 16)]
    lines += list(wire.lines(wire.Packet(node="n3"), "0" * 16))
    (tmp_path / "out.txt").write_text("hello\n" + "\n".join(lines))
    found = merged(*answers([tmp_path / "out.txt"], []))
    assert [node.state for node in found.nodes.values()] == [
        NodeState.ANSWERED, NodeState.ANSWERED, NodeState.LOST,
    ]  # fmt: skip


def test_the_command_merges_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n1.json").write_bytes(report())
    (tmp_path / "n2.json").write_bytes(report(facts={"torch.version": "2.5.1"}))
    (tmp_path / "n3.json").write_bytes(report())
    code = app(["fleet", "merge", str(tmp_path), "--format", "json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert code == 1
    assert found["nodes"]["n2"] == {
        "state": "answered", "group": 2, "exit_code": 0, "reason": "", "seconds": 0.0,
    }  # fmt: skip
    assert found["groups"][0]["nodes"] == "n[1,3]"
    assert [one["nodes"] for one in found["findings"]] == ["n2"]


def test_sets_of_nodes_fold_and_unfold() -> None:
    names = [f"gpu{index:03}" for index in range(1, 129)] + ["gpu131"]
    assert fold(names) == "gpu[001-128,131]"
    assert list(unfold("gpu[001-128,131]")) == names
    assert fold(["b", "a"]) == "a,b"


def test_the_data_about_differences_names_facts_that_exist() -> None:
    exact = [*DEVICES, *SIZES, *FOLLOWERS, *(name for name, _ in TRAITS)]
    assert not [name for name in exact if not is_known(name)]
    patterns = [*NATURAL, *WEIGHTS]
    sample = [*FACTS, "package.nvidia-nccl-cu13.version", "package.ray.version"]
    unused = [
        pattern
        for pattern in patterns
        if not pattern.startswith(("package.", "env.", "log."))
        and not any(fnmatchcase(name, pattern) for name in sample)
    ]
    assert not unused


def test_values_without_end_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_MOST_BYTES", 20_000)
    table = values.ValueTable()
    for node in range(1000):
        facts = {
            f"env.NCCL_{node}_{index}": values.RawFact("present", msgspec.Raw(b'"%d"' % node))
            for index in range(5)
        }
        table.numbers(
            {**facts, "host.kernel": values.RawFact("present", msgspec.Raw(b'"%d"' % node))}
        )
    assert len(table.names) < 500
    assert len([name for name in table.names if name == "host.kernel"]) < 100
