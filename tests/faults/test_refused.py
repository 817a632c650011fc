"""What the machine refuses is told once, as what it is.

Not as a fault of doctor, and not as a broken stack.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.model.outcomes import Verdict
from tests.command import Said, doctor
from tests.faults.standins import bare, outcome, package
from tests.faults.test_scratch import may_mount

limited = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
mounted = pytest.mark.skipif(
    not may_mount(), reason="needs root and a mount namespace of its own to have a full disk"
)
_ON_TMPFS = 'mount -t tmpfs -o "$1" none "$0" && shift && TMPDIR="$0" exec "$@"'


def told_once(said: Said, what: str) -> str:
    """Return the title of the one finding that tells it.

    Nothing else is found, and no check is broken or red for it.
    """
    assert said.code == 4, said.err
    (found,) = [one for one in said.report["findings"] if one["severity"] != "note"]
    assert (found["id"], found["severity"]) == (f"machine/{what}", "warning")
    assert "torch-runtime" in found["evidence"][-1]["text"]
    assert {one["verdict"] for one in said.report["outcomes"]} <= {"skipped", "passed"}
    assert not any("reinstall" in line for fix in found["fixes"] for line in fix["commands"])
    return str(found["title"])


@limited
def test_too_few_open_files(tmp_path: Path) -> None:
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", "")
    command = ("sh", "-c", 'ulimit -n 48; exec "$@"', "sh", sys.executable, "-m", "doctor")
    said = doctor(
        "check",
        "--format",
        "json",
        "--python",
        python,
        "--only",
        "torch-runtime",
        cwd=tmp_path,
        command=command,
    )
    assert (
        told_once(said, "files")
        == "Too few open files to run with: 48 may be open at once (ulimit -n), 64 are needed"
    )
    text = doctor(
        "check", "--python", python, "--only", "torch-runtime", cwd=tmp_path, command=command
    )
    assert "Nothing to judge: no check could run. Too few open files to run with: 48" in " ".join(
        text.out.split()
    )
    assert "holds no framework" not in text.out


def _on_tmpfs(tmp_path: Path, python: Path, options: str, *more: str) -> Said:
    full = tmp_path / "full"
    full.mkdir()
    command = (
        "unshare",
        "-m",
        "sh",
        "-c",
        _ON_TMPFS,
        str(full),
        options,
        sys.executable,
        "-m",
        "doctor",
    )
    return doctor(
        "check", "--format", "json", "--python", python, *more, cwd=tmp_path, command=command
    )


@mounted
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("size=2m", "No room to run in: 2 MB are free in {}, 64 MB are needed"),
        (
            "size=80m,nr_inodes=8",
            "No room to run in: 6 more files fit into {} (df -i), 2048 are needed",
        ),
    ],
)
def test_too_little_room(tmp_path: Path, options: str, words: str) -> None:
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", "")
    said = _on_tmpfs(tmp_path, python, options, "--only", "torch-runtime")
    assert told_once(said, "room") == words.format(tmp_path / "full")


@mounted
@pytest.mark.parametrize("megabytes", [1, 8, 24])
def test_a_real_torch_is_not_to_blame_for_a_full_disk(
    tmp_path: Path, torch_python: Path, megabytes: int
) -> None:
    if megabytes == 24:
        # Enough to begin with: the compiler of torch.compile fills it, and that check alone is
        # skipped.
        said = _on_tmpfs(
            tmp_path, torch_python, "size=24m", "--only", "inductor-compile", "--fresh"
        )
        assert (said.code, [found["id"] for found in said.report["findings"]]) == (
            0,
            ["machine/room"],
        )
    else:
        told_once(_on_tmpfs(tmp_path, torch_python, f"size={megabytes}m"), "room")


_ENDS = {
    "a write": ("act()\nraise OSError(28, os.strerror(28))", "no room to run in"),
    "a crash whose log tells": (
        (
            "act()\nprint('cc1plus: cannot write PCH file: No space left on device', "
            "flush=True)\nos.abort()"
        ),
        "no room",
    ),
    "threads": (
        "act()\nprint('libgomp: Thread creation failed', flush=True)\nos._exit(1)",
        "too few processes to run with",
    ),
    "a process": ("raise BlockingIOError(11, os.strerror(11))", "too few processes to run with"),
}


@limited
@pytest.mark.parametrize("what", _ENDS)
def test_an_end_for_want_of_something_is_no_verdict(tmp_path: Path, what: str) -> None:
    body, begin = _ENDS[what]
    found = outcome(tmp_path, body)
    assert found.verdict is Verdict.SKIPPED
    assert found.reason.startswith(begin)
    assert {case.verdict for case in found.cases.values()} <= {Verdict.SKIPPED}


@limited
def test_memory_counts_where_it_is_bounded(tmp_path: Path) -> None:
    body = (
        "act()\nprint('ImportError: libtorch_cpu.so: failed to map segment from shared "
        "object', flush=True)\nos._exit(1)"
    )
    assert outcome(tmp_path, body).verdict is Verdict.CRASHED
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, hard))
    try:
        (tmp_path / "bounded").mkdir()
        found = outcome(tmp_path / "bounded", body)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert (found.verdict, found.reason[-24:]) == (
        Verdict.SKIPPED,
        " (ulimit -v: 67108864 KB)"[-24:],
    )


def test_a_wrong_number_stands_whatever_is_full(tmp_path: Path) -> None:
    body = (
        "print('No space left on device', flush=True)\nput(None, verdict='failed', reason='2 "
        "+ 2 is 5', cases={})"
    )
    assert outcome(tmp_path, body).verdict is Verdict.FAILED


@limited
def test_an_end_for_processor_time_is_no_verdict(tmp_path: Path) -> None:
    """`ulimit -t` ends a process with SIGXCPU at its soft limit."""
    found = outcome(tmp_path, "act()\nos.kill(os.getpid(), signal.SIGXCPU)")
    assert (found.verdict, found.reason[:37]) == (
        Verdict.SKIPPED,
        "too little processor time to run in: ",
    )
