"""Processes that end without a word of their own are explained by their status."""

from __future__ import annotations

import pytest

from doctor.analyzers import process_ends
from tests.analyzers.explained import said
from tests.analyzers.logs import case_of

COVERED = (
    ("Loading model\nKilled", "ended-by-sigkill"),
    ("./run.sh: line 3:  4711 Killed                  python train.py", "ended-by-sigkill"),
    ("Illegal instruction (core dumped)", "ended-by-sigill"),
    (
        "text_generation_launcher: Shard process was signaled to shutdown with signal 4 rank=0",
        "ended-by-sigill",
    ),
    ("Fatal Python error: Segmentation fault", "ended-by-sigsegv"),
    ("DataLoader worker (pid 1) is killed by signal: Bus error.", "ended-by-sigbus"),
    ("  exitcode  : -9 (pid: 4421)", "ended-by-sigkill"),
    ("process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)", "ended-by-sigkill"),
    (
        "subprocess.CalledProcessError: Command 'x' died with <Signals.SIGILL: 4>.",
        "ended-by-sigill",
    ),
    ("Container exited with exit code 137", "ended-by-sigkill"),
    ("llama runner process has terminated: exit status 0xc0000135", "ended"),
    ("Process finished with exit code -1073741819 (0xC0000005)", "ended"),
    ("returned non-zero exit status 3221225477.", "ended"),
    ("A worker died or was killed while executing a task by an unexpected", "ray-worker-died"),
    ("Windows fatal exception: access violation", "ended"),
    ("Exception code: 0xc0000005", "ended"),
    ("  Reason: OOMKilled", "oom-killed"),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch.", "oom-killed"),
    ("Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:2kB", "oom-killed"),
    ("*** JOB 1 ON n CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "time-limit"),
    ("The node was low on resource: ephemeral-storage.", "pod-evicted"),
    ("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "gpu-not-scheduled"),
)


@pytest.mark.parametrize(("text", "kind"), COVERED, ids=[text[:40] for text, _ in COVERED])
def test_the_end_is_explained(text: str, kind: str) -> None:
    """Signals in words and numbers, statuses of Windows, limits of schedulers."""
    assert [one for one, _ in said(text)] == [kind]


def test_windows_names_its_status() -> None:
    """0xC0000135 is a library that was not found."""
    ((_, title),) = said("exit status 0xc0000135")
    assert title == "The process ended with 0xc0000135: STATUS_DLL_NOT_FOUND"


def test_an_error_says_more_than_the_abort_after_it() -> None:
    """A process that ends itself after an error is a consequence."""
    text = "CUDA error: misaligned address\nAborted (core dumped)\nexit code: -6"
    assert [kind for kind, _ in said(text)] == ["cuda-error"]


@pytest.mark.parametrize(
    "text",
    [
        "Process finished with exit code 0",
        "make: *** [all] Error: exit status 1",
        "Killed 3 stale workers",
        "signal 15 handler installed",
        "exit code: 99999999999",
        "Terminated by user request, see above",
        "exit status " + "0x" * 1000,
        # SGLang kills its processes after a failure of one.
        (
            "Traceback (most recent call last):\n"
            '  File "/a/site-packages/sglang/srt/managers/scheduler.py", line 9, in f\n'
            "RuntimeError: invalid argument\n\nKilled"
        ),
    ],
)
def test_silence_on_other_lines(text: str) -> None:
    """A status that tells nothing, prose and hostile text get no finding."""
    assert [kind for kind, _ in said(text) if "sigterm" not in kind] == []


def test_an_illegal_instruction_on_a_jetson_is_openblas() -> None:
    log = "nano@jetson-nano:~$ python3 a.py\nIllegal instruction"
    (found,) = process_ends.explain(case_of(log))
    assert found.detection.recipes[0].steps[0].env == {"OPENBLAS_CORETYPE": "ARMV8"}
