"""Exit codes, streams and errors of the command line, without a framework in sight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from doctor.model.observation import Observation
from tests import toy
from tests.command import COLD, finished


def doctor(
    *arguments: str, cwd: Path | None = None, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run doctor as a user does."""
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "NO_COLOR", "FORCE_COLOR")
    }
    ran = finished(*arguments, cwd=cwd, env={**known, **env}, stdin=stdin)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A snapshot of a made-up sick interpreter."""
    facts = {
        "host.os": "linux",
        "torch.version": "2.13.0",
        "python.executable": "/venv/bin/python",
        "python.has_pip": True,
        "requires.torchvision.torch.met": False,
        "requires.torchvision.torch.specifier": "==2.4.1",
        "requires.torchvision.torch.installed": "2.13.0",
        "package.torchvision.version": "0.19.1",
    }
    path = tmp_path / "sick.json"
    path.write_bytes(msgspec.json.encode(toy.seen(facts)))
    return path


def test_a_saved_observation_is_judged_again(saved: Path) -> None:
    ran = doctor("check", "--from", str(saved), "--format", "json")
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["exit_code"]) == (1, 1)
    assert report["findings"][0]["id"] == "torchvision/other-torch"
    assert report["findings"][0]["fixes"][0]["commands"] == [
        "/venv/bin/python -m pip install torchvision==0.28.0 torch==2.13.0"
    ]


def test_a_json_report_can_be_judged_again_as_well(saved: Path, tmp_path: Path) -> None:
    first = doctor("check", "--from", str(saved), "--format", "json").stdout
    (tmp_path / "report.json").write_text(first)
    again = doctor("check", "--from", str(tmp_path / "report.json"), "--format", "json").stdout
    assert json.loads(again)["findings"] == json.loads(first)["findings"]


def test_the_report_fits_its_published_schema(saved: Path) -> None:
    schema = json.loads(doctor("schema", "report").stdout)
    jsonschema.validate(
        json.loads(doctor("check", "--from", str(saved), "--format", "json").stdout), schema
    )


@pytest.mark.parametrize(("limit", "code"), [("error", 1), ("warning", 1), ("note", 1)])
def test_the_exit_code_does_not_depend_on_the_format(saved: Path, limit: str, code: int) -> None:
    codes = {
        doctor("check", "--from", str(saved), "--fail-on", limit, "--format", kind).returncode
        for kind in ("text", "json")
    }
    assert codes == {code}


def test_only_and_skip_choose_known_issues(saved: Path) -> None:
    only = json.loads(
        doctor("check", "--from", str(saved), "--only", "candle/*", "--format", "json").stdout
    )
    assert "torchvision/other-torch" not in [found["id"] for found in only["findings"]]
    skipped = json.loads(
        doctor("check", "--from", str(saved), "--skip", "torchvision/*", "--format", "json").stdout
    )
    assert "torchvision/other-torch" not in [found["id"] for found in skipped["findings"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--only", "nosuch"],
        ["check", "--only", "inductor-compil"],
        ["check", "--format", "yaml"],
        ["check", "--nosuch"],
        ["check", "--project", "/no/such/folder"],
        *(
            ["check", name, value]
            for name in ("--timeout", "--budget")
            for value in ("0", "-1", "nan", "inf", "-inf", "1e300", "NaN")
        ),
        ["check", "--from", "/no/such/file"],
        ["check", "--from", "/"],
        ["nosuch"],
        ["explain", "torch/no-kernel-imag"],
        ["schema", "nosuch"],
        ["lint", "/no/such/folder"],
    ],
)
def test_mistakes_are_said_and_exit_with_2(arguments: list[str]) -> None:
    ran = doctor(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.strip()


def test_a_bound_out_of_the_environment_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_TIMEOUT", "nan")
    ran = doctor("check", "--from", "/no/such/file")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "DOCTOR_TIMEOUT" in ran.stderr
    assert "nan is not a number of seconds up to 1e+07" in ran.stderr


def test_a_near_miss_is_answered_with_a_suggestion() -> None:
    assert "did you mean inductor-compile?" in doctor("check", "--only", "inductor-compil").stderr
    assert "did you mean torch/no-kernel-image?" in doctor("explain", "torch/no-kernel-imag").stderr
    assert doctor("chek").stderr.count("Did you mean") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"facts": 3}',
        b'{"facts": {"a": {"state": "maybe"}}}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_no_snapshot_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    ran = doctor("check", "--from", str(path))
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "broken.json" in ran.stderr


def test_a_release_newer_than_the_tables_is_told_on_the_screen_and_in_json(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_bytes(
        msgspec.json.encode(
            toy.seen({"host.os": "linux", "torch.version": "2.99.0", "torch.build": "cpu"})
        )
    )
    screen = " ".join(doctor("check", "--from", str(path)).stdout.split())
    report = json.loads(doctor("check", "--from", str(path), "--format", "json").stdout)
    assert "nothing is known of 2.99.0" in screen
    assert report["facts"]["compat.torch.beyond"]["value"]["here"] == "2.99.0"
    assert report["summary"]["error"] == report["summary"]["warning"] == 0


def test_a_broken_catalog_is_said_with_file_and_place(saved: Path, tmp_path: Path) -> None:
    entry = tmp_path / "more" / "issues" / "torch" / "bad.yaml"
    entry.parent.mkdir(parents=True)
    entry.write_text("title: 3\nsevrity: error\n")
    ran = doctor("check", "--from", str(saved), "--matrices", str(tmp_path / "more"))
    assert ran.returncode == 3
    assert "torch/bad.yaml" in ran.stderr
    assert "$.title" in ran.stderr or "sevrity" in ran.stderr


def test_an_empty_interpreter_is_nothing_to_judge(bare_python: Path, tmp_path: Path) -> None:
    for extra in ([], ["--no-canaries"], ["--format", "json"]):
        assert doctor("check", "--python", str(bare_python), *extra, cwd=tmp_path).returncode == 4


def test_an_interpreter_that_is_not_there_is_said(tmp_path: Path) -> None:
    ran = doctor("check", "--python", str(tmp_path / "nowhere"), cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "nowhere" in ran.stderr


def test_a_log_is_judged_beside_the_machine(saved: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(
        b"\x1b[31mRuntimeError\x1b[0m: operator torchvision::nms does not exist\r\n\xff\xfe"
    )
    report = json.loads(
        doctor("check", "--from", str(saved), "--log", str(log), "--format", "json").stdout
    )
    evidence = [item for item in report["findings"][0]["evidence"] if item["kind"] == "log"]
    assert [(item["text"], item["line"]) for item in evidence] == [
        ("RuntimeError: operator torchvision::nms does not exist", 1)
    ]


def test_a_log_comes_from_standard_input_as_well(saved: Path) -> None:
    ran = doctor(
        "check",
        "--from",
        str(saved),
        "--log",
        "-",
        "--format",
        "json",
        stdin="No such operator torchvision::nms\n",
    )
    assert json.loads(ran.stdout)["findings"][0]["confidence"] == "high"


def test_a_log_that_is_not_there_is_said(saved: Path) -> None:
    ran = doctor("check", "--from", str(saved), "--log", "/no/such/log")
    assert (ran.returncode, ran.stdout) == (2, "")


def test_a_source_that_is_not_there_is_said(tmp_path: Path) -> None:
    ran = doctor("check", "--flash-attn", str(tmp_path / "nowhere"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no such file or folder" in ran.stderr


def test_a_reader_that_goes_away_is_no_error(saved: Path) -> None:
    shell = f"{sys.executable} -m doctor check --from {saved} --format json | head -c 10"
    ran = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stderr == ""


def test_a_closed_standard_output_keeps_the_exit_code(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"facts": {}}', encoding="utf-8")
    codes = {}
    for snapshot in (saved, tmp_path / "empty.json"):
        for output in ("/dev/null", "&-"):
            shell = f"{sys.executable} -m doctor check --from {snapshot} >{output}"
            ran = subprocess.run(
                ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=60
            )
            codes[snapshot.name, output] = ran.returncode
            assert ("standard output is closed" in ran.stderr) == (output == "&-")
    assert codes[saved.name, "&-"] == codes[saved.name, "/dev/null"] == 1
    assert codes["empty.json", "&-"] == codes["empty.json", "/dev/null"] == 4


def test_a_snapshot_for_a_closed_standard_output_is_refused() -> None:
    shell = f"{sys.executable} -m doctor snapshot --no-canaries --python {sys.executable} -o - >&-"
    ran = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, "standard output is closed" in ran.stderr) == (3, True)


def test_a_full_disk_behind_standard_output_is_said(saved: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "doctor", "check", "--from", str(saved)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 3
    assert "cannot be written" in ran.stderr


def test_a_snapshot_masks_names_and_keeps_the_commands_working(
    bare_python: Path, tmp_path: Path
) -> None:
    out = tmp_path / "snapshot.json"
    home = str(bare_python.parents[2])
    ran = doctor(
        "snapshot",
        "-o",
        str(out),
        "--python",
        str(bare_python),
        "--no-canaries",
        cwd=tmp_path,
        HOME=home,
        HF_TOKEN="hf_" + "x" * 30,
    )
    assert ran.returncode == 0
    text = out.read_text()
    seen = msgspec.json.decode(text, type=Observation)
    assert home not in text
    assert "hf_x" not in text
    assert seen.targets[0].path.startswith("$HOME/")


def test_the_demo_is_marked_as_a_recording_and_judged_live() -> None:
    text, report = doctor("demo"), json.loads(doctor("demo", "--format", "json").stdout)
    assert text.returncode == 0
    assert "recording" in text.stdout.lower()
    assert report["recording"] is True
    assert [
        found for found in report["findings"] if found["severity"] == "error" and found["fixes"]
    ]


def test_what_is_declared_is_judged_as_if_it_were_there(
    saved: Path, bare_python: Path, tmp_path: Path
) -> None:
    ran = doctor(
        "check",
        "--python",
        str(bare_python),
        "--assume",
        "gpu=sm_90",
        "--assume",
        "driver=535.104",
        "--format",
        "json",
        cwd=tmp_path,
    )
    facts = json.loads(ran.stdout)["facts"]
    assert (facts["nvidia.capabilities"]["value"], facts["nvidia.capabilities"]["source"]) == (
        ["9.0"],
        "assumed",
    )
    assert facts["nvidia.driver_version"]["value"] == "535.104"
    assert (facts["nvidia.capability_max"]["value"], facts["nvidia.driver_branch"]["value"]) == (
        "9.0",
        "535",
    )
    assert doctor("check", "--assume", "gpu=big").returncode == 2


@pytest.mark.parametrize(
    "asked", ["gpu=sm_90,gpu", "driver=535.104;x", "driver=5", "gpu=sm_90,,driver=535", ""]
)
def test_what_cannot_be_declared_is_a_mistake(asked: str) -> None:
    assert doctor("check", "--assume", asked).returncode == 2


def test_a_snapshot_is_judged_with_what_is_declared_and_the_report_says_so(saved: Path) -> None:
    declared = (
        "check",
        "--from",
        str(saved),
        "--only",
        "torch/*",
        "--assume",
        "gpu=sm_90,driver=470.57",
    )
    report = json.loads(doctor(*declared, "--format", "json").stdout)
    assert report["assumed"] == ["gpu=sm_90", "driver=470.57"]
    assert "as if gpu=sm_90, driver=470.57" in " ".join(doctor(*declared, "--quiet").stdout.split())
    assert json.loads(doctor(*declared[:5], "--format", "json").stdout)["assumed"] == []


@pytest.mark.parametrize("word", ["--x\n::error::y", "--tier=x\n::error::y", "--tier=##[error]y"])
def test_a_mistake_repeats_no_command_for_a_runner_of_ci(word: str) -> None:
    said = doctor("check", word)
    assert (said.returncode, said.stdout) == (2, "")
    assert "Error" in said.stderr
    assert not [
        line for line in said.stderr.splitlines() if line.strip().startswith("::") or "##[" in line
    ]


def test_a_device_that_was_expected_and_not_reached_is_an_error(saved: Path) -> None:
    ran = doctor(
        "check",
        "--from",
        str(saved),
        "--skip",
        "torchvision/*",
        "--expect",
        "cuda",
        "--format",
        "json",
    )
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["findings"][0]["id"] == "expect/cuda"


@pytest.mark.parametrize(
    ("body", "warned"), [("print('another tool')", True), ("from doctor.cli import main", False)]
)
def test_another_tools_doctor_on_the_path_is_named(body: str, warned: bool, tmp_path: Path) -> None:
    other = tmp_path / "doctor"
    other.write_text(f"#!/usr/bin/env python3\n{body}\n")
    other.chmod(0o755)
    said = doctor("schema", "issue", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (str(other) in said.stderr, "canary-doctor" in said.stderr) == (warned, warned)
    assert said.returncode == 0


def test_help_and_version_and_listing() -> None:
    assert doctor("--version").stdout.startswith("canary-doctor ")
    assert finished("--version", env=os.environ, command=COLD).stdout.startswith("canary-doctor ")
    assert "--no-canaries" in doctor("check", "--help").stdout
    listed = doctor("list")
    assert listed.returncode == 0
    assert "inductor-compile" in listed.stdout
    explained = doctor("explain", "torchvision/other-torch")
    assert "https://github.com/pytorch/vision" in explained.stdout
