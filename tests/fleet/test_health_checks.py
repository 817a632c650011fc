"""What schedulers run by themselves: one line, an exit status, and a node that is drained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from doctor.model.observation import Observation
from doctor.model.report import CatalogStamp, Report
from doctor.report.structured import nhc

_INTEGRATIONS = Path(__file__).parents[2] / "integrations"
_STAMP = CatalogStamp(digest="", issues=0, newest_source="")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are shell scripts of Linux")


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(script: str, tmp_path: Path, line: str, code: int) -> tuple[int, str, list[str]]:
    """Run a health check with a doctor that ends in a given way; return also what was drained."""
    _program(tmp_path / "doctor", f"cat <<'END'\n{line}\nEND\nexit {code}")
    _program(tmp_path / "scontrol", f'printf "%s\\n" "$@" > {tmp_path}/drained')
    _program(tmp_path / "logger", "exit 0")
    done = subprocess.run(
        ["/bin/sh", str(_INTEGRATIONS / script)],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURMD_NODENAME": "n1"},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    drained = tmp_path / "drained"
    return (
        done.returncode,
        done.stdout,
        drained.read_text().splitlines() if drained.exists() else [],
    )


@pytest.mark.parametrize(
    ("code", "status", "drains"), [(0, 0, False), (4, 0, False), (1, 1, True), (3, 1, False)]
)
def test_slurm_drains_a_node_with_an_error_alone(
    tmp_path: Path, code: int, status: int, drains: bool
) -> None:
    ended, _, drained = _run("slurm/health-check.sh", tmp_path, "ERROR: x: $(reboot) `id`", code)
    assert ended == status
    wanted = ["update", "NodeName=n1", "State=DRAIN", "Reason=doctor: ERROR: x: $(reboot) `id`"]
    assert drained == (wanted if drains else [])


@pytest.mark.parametrize(("code", "status"), [(0, 0), (1, 1), (3, 2), (4, 0), (130, 2)])
def test_node_problem_detector_gets_its_own_exit_codes(
    tmp_path: Path, code: int, status: int
) -> None:
    script = "node-problem-detector/doctor-health.sh"
    assert _run(script, tmp_path, "ERROR: x: y\nmore", code)[:2] == (status, "ERROR: x: y\n")


def test_the_plugin_is_named_by_its_configuration() -> None:
    folder = _INTEGRATIONS / "node-problem-detector"
    found = json.loads((folder / "doctor-monitor.json").read_text())
    (rule,) = found["rules"]
    assert (folder / Path(rule["path"]).name).stat().st_mode & 0o111
    assert rule["condition"] == found["conditions"][0]["type"]


def test_the_example_for_kubernetes_asks_for_no_rights() -> None:
    text = (_INTEGRATIONS / "kubernetes" / "node-check.yaml").read_text()
    pod = yaml.safe_load(text)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


@pytest.mark.parametrize(
    ("code", "begin"), [(0, "OK: 0 warnings\n"), (4, "UNKNOWN: "), (3, "ERROR: doctor ended")]
)
def test_the_verdict_is_one_line(code: int, begin: str) -> None:
    report = Report(
        command="check",
        doctor_version="1",
        catalog=_STAMP,
        observation=Observation(),
        exit_code=code,
    )
    text = nhc.render(report)
    assert text.startswith(begin)
    assert text.count("\n") == 1
