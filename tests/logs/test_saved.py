"""Doctor reads its old and newer documents, and refuses what only looks like one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor import __version__
from doctor.base.errors import InputError
from doctor.model.facts import present
from doctor.model.observation import Observation
from doctor.pipeline.snapshots import read_observation
from doctor.report.structured.encoding import encoded
from tests.command import doctor
from tests.hosts import put
from tests.report import reports

NEWER = "99.1.0"


def _snapshot(**more: Any) -> dict[str, Any]:
    facts = reports.facts(torch__version=present("2.9.1", "test"))
    told: dict[str, Any] = json.loads(
        encoded(Observation(doctor_version=__version__, targets=(reports.PYTHON,), facts=facts))
    )
    return {**told, **more}


def _refused(tmp_path: Path, told: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_observation(put(tmp_path / "seen.json", json.dumps(told)))
    return str(raised.value)


def test_what_this_doctor_wrote_is_read(tmp_path: Path) -> None:
    assert (
        read_observation(put(tmp_path / "seen.json", json.dumps(_snapshot())))
        .facts["torch.version"]
        .value
        == "2.9.1"
    )


@pytest.mark.parametrize("form", [2, 999])
def test_a_later_form_is_told_with_the_advice_to_upgrade(tmp_path: Path, form: int) -> None:
    said = _refused(tmp_path, _snapshot(schema_version=form, doctor_version=NEWER))
    assert f"its schema_version is {form}; this doctor, {__version__}, reads 1" in said
    assert f"A newer doctor wrote it ({NEWER}): upgrade this one" in said


@pytest.mark.parametrize("form", [0, -1, 1.5, True, "1", [1], {"x": "y" * 100}])
def test_a_form_that_no_doctor_writes_is_told(tmp_path: Path, form: Any) -> None:
    said = _refused(tmp_path, _snapshot(schema_version=form))
    assert "its schema_version is" in said
    assert "upgrade" not in said
    assert len(said) < 200 + len(str(tmp_path))


def test_parts_of_a_newer_doctor_are_told_as_that(tmp_path: Path) -> None:
    facts = {"torch.version": {"state": "rumoured", "value": None, "source": "", "why": ""}}
    said = _refused(tmp_path, _snapshot(facts=facts, doctor_version=NEWER))
    assert "no snapshot or JSON report that this doctor understands" in said
    assert f"A newer doctor wrote it ({NEWER})" in said
    assert "upgrade" not in _refused(tmp_path, _snapshot(facts=facts))
    kind = [{"name": "x", "kind": "container", "path": "/"}]
    assert "`$.targets[0].kind`" in _refused(
        tmp_path, _snapshot(targets=kind, doctor_version=NEWER)
    )
    assert "A newer doctor" not in _refused(
        tmp_path, _snapshot(targets=kind, doctor_version="x" * 5000)
    )


@pytest.mark.parametrize("told", [{}, {"x": 1}, [], None, "text", 3])
def test_what_is_no_document_of_doctor_is_none(tmp_path: Path, told: Any) -> None:
    assert "no snapshot of doctor, no JSON report, and no text that describes" in _refused(
        tmp_path, told
    )


def test_the_refusal_of_a_log_names_the_command_that_reads_it(tmp_path: Path) -> None:
    put(tmp_path / "pasted.txt", "[rank0] RuntimeError: operator torchvision::nms does not exist\n")
    said = doctor("check", "--from", "pasted.txt", cwd=tmp_path)
    assert said.code == 3
    assert "doctor diagnose" in said.err


@pytest.mark.parametrize(
    "arguments",
    ["diff seen.json seen.json", "check --from seen.json", "diagnose log --env seen.json"],
)
def test_every_command_refuses_it(tmp_path: Path, arguments: str) -> None:
    put(tmp_path / "log", "error: x\n")
    for text in (json.dumps(_snapshot(schema_version=2)), "{}"):
        put(tmp_path / "seen.json", text)
        said = doctor(*arguments.split(), cwd=tmp_path)
        assert (said.code, said.out) == (3, "")


def test_a_baseline_of_another_form_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "log", "error: x\n")
    put(
        tmp_path / "b.json",
        json.dumps(_snapshot(schema_version=7, findings=[], doctor={"version": NEWER})),
    )
    said = doctor("diagnose", "log", "--baseline", "b.json", cwd=tmp_path)
    assert said.code == 3
    assert f"A newer doctor wrote it ({NEWER})" in said.err


def test_snapshots_come_out_of_pipes_as_well(tmp_path: Path) -> None:
    import subprocess
    import sys

    from tests.command import environment

    put(tmp_path / "seen.json", json.dumps(_snapshot()))
    command = f"{sys.executable} -m doctor diff <(cat seen.json) <(cat seen.json)"
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
