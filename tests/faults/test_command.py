"""`doctor check` ends soon, with its code and without a traceback, whatever is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.base.errors import DoctorError
from doctor.host import Host
from doctor.model.vocabulary import FACTS
from doctor.observe.targets import describe
from tests.command import Running, alive, check, doctor, wait_for
from tests.environments import UnavailableError, interpreter, make
from tests.faults.standins import on_path, package, program

_SOON = 120.0


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    """Return the interpreter of an empty environment that a test may fill."""
    folder = tmp_path / "patient"
    try:
        make(folder, ())
    except UnavailableError:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return interpreter(folder)


TORCHES = {
    "raises": (
        (
            "raise ImportError('libcudart.so.13: cannot open shared object file: No such file "
            "or directory')"
        ),
        "libcudart.so.13",
    ),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "aborts": ("import os; os.abort()", "SIGABRT"),
    "exits": ("import os; os._exit(0)", ""),
    "leaves": ("import sys; sys.exit(3)", ""),
    "hangs": ("import time; time.sleep(600)", "still running"),
    "prints for ever": ("while True: print('spam')", "still running"),
    "recurses": ("def f(): f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize("how", TORCHES)
def test_a_torch_that_cannot_be_imported_is_one_error(
    patient: Path, tmp_path: Path, how: str
) -> None:
    body, sign = TORCHES[how]
    package(patient, "torch", "2.13.0", body)
    bound = "2" if sign == "still running" else "20"
    said = check("--python", patient, "--timeout", bound, cwd=tmp_path)
    assert said.seconds < _SOON
    assert said.code == 1
    errors = [finding for finding in said.report["findings"] if finding["severity"] == "error"]
    assert len(errors) == 1
    assert sign in json.dumps(errors)
    assert {outcome["verdict"] for outcome in said.report["outcomes"]} <= {
        "failed",
        "crashed",
        "timed_out",
        "skipped",
    }


def test_an_empty_target_is_nothing_to_judge(patient: Path, tmp_path: Path) -> None:
    assert check("--python", patient, cwd=tmp_path).code == 4


def test_only_what_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    said = check("--only", "nosuch", cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert "nosuch" in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nosuch"],
        ["--format", "nosuch"],
        ["--timeout", "-1"],
        ["--project", "nosuch"],
        ["one", "two"],
    ],
)
def test_a_wrong_command_line_is_a_usage_error(tmp_path: Path, arguments: list[str]) -> None:
    said = doctor("check", *arguments, cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.err


INTERPRETERS = {
    "exits": "exit 0",
    "fails": "echo broken >&2; exit 7",
    "dies": "kill -SEGV $$",
    "leaves a child": "sleep 600 & sleep 600",
    "lies": "echo '<<doctor-target:{}:doctor-target>>'",
}


@pytest.mark.parametrize("how", INTERPRETERS)
def test_an_interpreter_that_does_not_start_ends_the_run(tmp_path: Path, how: str) -> None:
    fake = program(tmp_path / "bin" / "python", INTERPRETERS[how])
    said = check("--python", fake, cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert str(fake) in said.err
    assert said.seconds < _SOON


def test_an_interpreter_that_prints_for_ever_is_ended(tmp_path: Path) -> None:
    fake = program(tmp_path / "bin" / "python", "yes")
    with pytest.raises(DoctorError, match=str(fake)):
        describe(Host(), fake, timeout=1)


@pytest.mark.parametrize("what", ["nosuch", "folder", "file"])
def test_an_interpreter_that_is_none_ends_the_run(tmp_path: Path, what: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("no program", encoding="utf-8")
    said = check("--python", tmp_path / what, cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert what in said.err


@pytest.mark.parametrize(
    "body",
    [
        "sleep 600",
        "yes",
        "kill -SEGV $$",
        "echo '[broken'; exit 9",
        "exec 1>&-; sleep 600 & exit 0",
    ],
)
def test_a_tool_that_misbehaves_costs_its_own_facts(
    patient: Path, tmp_path: Path, body: str
) -> None:
    for tool in ("nvidia-smi", "nvcc", "g++", "rustc", "cargo", "ldconfig", "uv"):
        program(tmp_path / "tools" / tool, body)
    said = check(
        "--python", patient, "--no-canaries", cwd=tmp_path, env=on_path(tmp_path / "tools")
    )
    assert said.code == 4
    assert said.report["facts"]["python.version"]["state"] == "present"
    assert said.seconds < _SOON


FILES = {
    "nothing": b"",
    "text": b"no JSON",
    "half": b'{"schema_version": 1, "facts": {"torch.ver',
    "list": b"[]",
    "number": b"1e999",
    "other": b'{"facts": 3, "targets": "x"}',
    "deep": b"[" * 200_000,
    "binary": bytes(range(256)) * 64,
    "wrong fact": b'{"facts": {"torch.version": {"state": "perhaps"}}}',
}


@pytest.mark.parametrize("what", FILES)
def test_a_snapshot_that_is_none_is_told(tmp_path: Path, what: str) -> None:
    path = tmp_path / "snapshot.json"
    path.write_bytes(FILES[what])
    said = check("--from", path, cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "snapshot.json" in said.err
    assert len(said.err) < 2000


@pytest.mark.parametrize("what", ["nosuch.json", "."])
def test_a_snapshot_that_cannot_be_read_is_told(tmp_path: Path, what: str) -> None:
    said = check("--from", tmp_path / what, cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.err


@pytest.mark.parametrize(
    "value",
    [None, 3, "", "\x1b[31m", "9" * 400, [[]], {"a": [1]}, True],
    ids=lambda value: repr(value)[:9],
)
@pytest.mark.parametrize("kind", ["json", "text"])
def test_an_odd_value_of_a_known_fact_makes_no_fault(
    tmp_path: Path, value: object, kind: str
) -> None:
    facts = {
        name: {"state": "present", "value": value, "source": "x"}
        for name in (*FACTS, "package.flash-attn.version")
    }
    path = tmp_path / "report.json"
    target = {"name": "interpreter", "kind": "interpreter", "path": "/x", "chosen_by": "x"}
    path.write_text(
        json.dumps({"doctor_version": "0", "taken": "", "targets": [target], "facts": facts}),
        encoding="utf-8",
    )
    said = doctor("check", "--from", path, "--format", kind, "-v", cwd=tmp_path)
    assert said.code in (0, 1, 4), said.err
    assert said.out


def test_a_broken_catalog_is_told_with_its_file(patient: Path, tmp_path: Path) -> None:
    entry = tmp_path / "own" / "issues" / "torch" / "mine.yaml"
    entry.parent.mkdir(parents=True)
    entry.write_text("title: [half", encoding="utf-8")
    said = check("--python", patient, "--matrices", tmp_path / "own", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "mine.yaml" in said.err


def test_a_temporary_folder_that_cannot_be_written_is_told(patient: Path, tmp_path: Path) -> None:
    package(patient, "torch", "2.13.0", "")
    nowhere = tmp_path / "nowhere"
    said = check(
        "--python",
        patient,
        cwd=tmp_path,
        env={"TMPDIR": str(nowhere), "TEMP": str(nowhere), "TMP": str(nowhere)},
    )
    assert said.code in (0, 1, 4)
    assert said.err or said.out


def _may_mount() -> bool:
    probe = (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
        if os.name == "posix" and os.geteuid() == 0
        else None
    )
    return probe is not None and probe.returncode == 0


@pytest.mark.skipif(
    not _may_mount(), reason="needs root and a mount namespace of its own to have a full disk"
)
def test_a_full_disk_is_told(patient: Path, tmp_path: Path) -> None:
    package(patient, "torch", "2.13.0", "")
    full = tmp_path / "full"
    full.mkdir()
    setup = (
        'mount -t tmpfs -o size=64k,nr_inodes=40 none "$0" && head -c 60000 /dev/zero > '
        '"$0/ballast"; TMPDIR="$0" exec "$@"'
    )
    command = ("unshare", "-m", "sh", "-c", setup, str(full), sys.executable, "-m", "doctor")
    said = doctor("check", "--format", "json", "--python", patient, cwd=tmp_path, command=command)
    assert said.code == 4
    assert said.seconds < 120
    assert {outcome["verdict"] for outcome in said.report["outcomes"]} == {"skipped"}
    assert [found["id"] for found in said.report["findings"]] == ["machine/room"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_gives_what_was_seen_and_leaves_no_child(
    patient: Path, tmp_path: Path, number: signal.Signals
) -> None:
    note = tmp_path / "pid"
    package(
        patient,
        "torch",
        "2.13.0",
        f"""
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        with open({str(note)!r}, "w") as file: file.write(f"{{os.getpid()}} {{child.pid}}\\n")
        time.sleep(600)
        """,  # noqa: E501
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = Running("--python", patient, cwd=tmp_path, env={"TMPDIR": str(scratch)})
    wait_for(note)
    said = running.interrupt(number)
    assert said.code == 130
    assert said.report["interrupted"] is True
    assert said.report["facts"]["torch.version"]["value"] == "2.13.0"
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    assert len(pids) == 2
    assert not [pid for pid in pids if alive(pid)]
    assert list(scratch.iterdir()) == []


def test_the_budget_bounds_the_whole_run(patient: Path, tmp_path: Path) -> None:
    package(patient, "torch", "2.13.0", "import time; time.sleep(600)")
    said = check("--python", patient, "--budget", "2", cwd=tmp_path)
    assert said.seconds < 120
    assert said.code == 1


def test_a_closed_pipe_makes_no_noise(patient: Path, tmp_path: Path) -> None:
    line = f"'{sys.executable}' -m doctor check --no-canaries --python '{patient}' | true"
    ran = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr
