"""Whatever a check script does, the run goes on, and its outcome says what happened."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.host import run
from doctor.judge.match.generic import broken_checks
from doctor.model.observation import Observation
from doctor.model.outcomes import Verdict
from tests.faults.standins import lives_on, orphan, outcome, run_script

_DEATHS = {
    "segmentation fault": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "abort": ("os.abort()", "SIGABRT"),
    "kill": ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "a real-time signal": ("os.kill(os.getpid(), 40)", "40"),
}


@pytest.mark.parametrize("how", _DEATHS)
def test_a_signal_within_the_act_is_a_crash(tmp_path: Path, how: str) -> None:
    body, signal = _DEATHS[how]
    found = outcome(tmp_path, f"act()\n{body}")
    assert (found.verdict, found.device, found.cases["forward"].verdict) == (
        Verdict.CRASHED,
        "cpu",
        Verdict.CRASHED,
    )
    assert signal in (found.signal or "")
    assert signal in found.reason
    assert "forward" in found.reason


def test_the_log_of_a_crash_says_where_it_happened(tmp_path: Path) -> None:
    found = outcome(tmp_path, "act()\nimport ctypes\nctypes.string_at(0)")
    assert "Fatal Python error: Segmentation fault" in found.log
    assert "stand_in.py" in found.log


def test_an_exit_within_the_act_is_a_crash_whatever_its_code(tmp_path: Path) -> None:
    assert outcome(tmp_path, "act()\nos._exit(0)").verdict is Verdict.CRASHED


def test_an_exit_before_any_result_is_our_fault(tmp_path: Path) -> None:
    found = outcome(tmp_path, "os._exit(0)")
    assert found.verdict is Verdict.BROKEN
    assert "result" in found.reason


def test_a_module_of_others_that_hides_one_of_python_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('a namesake')\n", encoding="utf-8")
    found = outcome(tmp_path, f"sys.path.insert(0, {str(tmp_path)!r})\nimport colorsys")
    assert found.verdict is Verdict.CRASHED
    assert found.reason == (
        "the check could not begin: RuntimeError: a namesake (raised in "
        f"{tmp_path / 'colorsys.py'})"
    )


def test_an_exception_outside_the_act_is_our_fault(tmp_path: Path) -> None:
    found = outcome(
        tmp_path,
        (
            'put({"device": "cpu", "case": "forward", "act": False}, '
            'verdict="running")\nraise KeyError("shape")'
        ),
    )
    assert found.verdict is Verdict.BROKEN
    assert "KeyError: 'shape'" in found.reason


def test_a_syntax_error_is_our_fault(tmp_path: Path) -> None:
    assert outcome(tmp_path, "def (:").verdict is Verdict.BROKEN


@pytest.mark.parametrize(
    "result",
    [
        "{",
        "",
        "[]",
        "null",
        '{"contract": 1, "results": [{"verdict": 1}]}',
        '{"contract": 1, "results": ' + "[" * 100_000,
        "\xff\x00",
    ],
    ids=["half", "empty", "list", "null", "wrong type", "deep", "no text"],
)
def test_a_result_that_is_none_is_our_fault(tmp_path: Path, result: str) -> None:
    (tmp_path / "result").write_text(result, encoding="latin-1")
    found = outcome(
        tmp_path,
        f"import shutil\nshutil.copy({str(tmp_path / 'result')!r}, os.environ['CANARY_RESULT'])",
    )
    assert found.verdict is Verdict.BROKEN
    assert found.reason


@pytest.mark.parametrize("verdict", ["fine", "running", "broken", "crashed"])
def test_a_verdict_that_a_script_may_not_give_is_no_pass(tmp_path: Path, verdict: str) -> None:
    assert outcome(tmp_path, f"put(None, verdict={verdict!r})").verdict is not Verdict.PASSED


_FULL_DISK = """
try:
    with open("/dev/full", "w") as file: file.write("x")
except OSError as error:
    said = f"OSError: {{error}}"
put(None, verdict="failed", reason=said + {more!r}, cases={{"forward": {{"verdict": "failed", "reason": said}}, **{cases!r}}})
"""  # noqa: E501


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_is_full_says_nothing_about_the_patient(tmp_path: Path) -> None:
    found = outcome(tmp_path, _FULL_DISK.format(more="", cases={}))
    assert (found.verdict, found.cases["forward"].verdict) == (Verdict.SKIPPED, Verdict.SKIPPED)
    assert found.reason.startswith("no room to run in: OSError: [Errno 28] No space left on device")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_hides_no_other_failure(tmp_path: Path) -> None:
    wrong = {"backward": {"verdict": "failed", "reason": "2 + 2 is 5"}}
    found = outcome(tmp_path, _FULL_DISK.format(more="; backward: 2 + 2 is 5", cases=wrong))
    assert (found.verdict, found.cases["backward"].verdict) == (Verdict.FAILED, Verdict.FAILED)


def test_a_huge_result_is_not_read(tmp_path: Path) -> None:
    found = outcome(tmp_path, "put(None, verdict='passed', reason='x' * (64 << 20))")
    assert found.verdict is Verdict.BROKEN
    assert "larger" in found.reason


@pytest.mark.parametrize(
    "make",
    [
        "os.mkdir(path)",
        "os.mkfifo(path)",
        "os.symlink('/dev/zero', path)",
        "os.symlink('/dev/stdin', path)",
    ],
)
def test_a_result_that_is_no_file_is_our_fault(tmp_path: Path, make: str) -> None:
    assert (
        outcome(tmp_path, f"path = os.environ['CANARY_RESULT']\n{make}", timeout=10).verdict
        is Verdict.BROKEN
    )


def test_a_pass_is_a_pass_whatever_the_log_says(tmp_path: Path) -> None:
    assert (
        outcome(
            tmp_path, "put(None, verdict='passed')\nprint('Traceback (most recent call last):')"
        ).verdict
        is Verdict.PASSED
    )


def test_output_without_end_is_bounded_in_time_and_size(tmp_path: Path) -> None:
    started = time.monotonic()
    found = outcome(
        tmp_path, "act()\nwhile True: os.write(1, b'spam and eggs\\n' * 4096)", timeout=2
    )
    assert found.verdict is Verdict.TIMED_OUT
    assert 1000 < len(found.log) < 1 << 20
    assert "left out" in found.log
    assert time.monotonic() - started < 120


def test_one_line_without_end_is_bounded(tmp_path: Path) -> None:
    found = outcome(tmp_path, "act()\nos.write(2, b'x' * (8 << 20))\nos.abort()")
    assert found.verdict is Verdict.CRASHED
    assert len(found.log) < 1 << 20


def test_output_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    found = outcome(
        tmp_path, "act()\nos.write(1, bytes(range(256)) + b'\\x1b[31mred\\x1b[0m\\n')\nos.abort()"
    )
    assert found.verdict is Verdict.CRASHED
    assert "red" in found.log
    assert "\x1b" not in found.log
    assert "\x00" not in found.log


def test_what_hangs_is_stopped(tmp_path: Path) -> None:
    started = time.monotonic()
    found = outcome(tmp_path, "act()\ntime.sleep(600)", timeout=1)
    assert (found.verdict, found.cases["forward"].verdict) == (Verdict.TIMED_OUT, Verdict.TIMED_OUT)
    assert time.monotonic() - started < 120


def test_what_ignores_every_signal_is_stopped(tmp_path: Path) -> None:
    body = """
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        act()
        while True: time.sleep(1)
    """
    assert outcome(tmp_path, body, timeout=1).verdict is Verdict.TIMED_OUT


def test_what_stops_itself_is_stopped_for_good(tmp_path: Path) -> None:
    assert (
        outcome(tmp_path, "act()\nos.kill(os.getpid(), signal.SIGSTOP)", timeout=1).verdict
        is Verdict.TIMED_OUT
    )


_SPAWN = """
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session={session})
    with open({note!r}, "w") as file: file.write(str(child.pid))
"""  # noqa: E501


@pytest.mark.parametrize("session", [False, True], ids=["same session", "own session"])
@pytest.mark.parametrize(
    "end",
    ["put(None, verdict='passed')", "act(); time.sleep(600)", "act(); os.abort()"],
    ids=["passes", "hangs", "dies"],
)
def test_a_grandchild_neither_holds_up_the_run_nor_outlives_it(
    tmp_path: Path, end: str, session: bool
) -> None:
    note = tmp_path / "pid"
    started = time.monotonic()
    body = _SPAWN.format(session=session, note=str(note)) + f"    {end}\n"
    outcome(tmp_path, body, timeout=2)
    assert time.monotonic() - started < 120
    assert not lives_on(int(note.read_text(encoding="utf-8")))


def test_an_orphan_in_its_own_session_does_not_outlive_the_run(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    outcome(tmp_path, orphan(note) + "act()\ntime.sleep(600)", timeout=2)
    assert not lives_on(int(note.read_text(encoding="utf-8")))


def test_what_eats_memory_is_stopped_before_the_machine_suffers(tmp_path: Path) -> None:
    import sys

    from doctor.host import Termination

    eater = (
        "kept = []\nwhile True: kept.append(bytearray(b'x') * (16 << 20)); "
        "__import__('time').sleep(0.01)"
    )
    ran = run([sys.executable, "-c", eater], timeout=30, memory=256 << 20)
    assert ran.ended is Termination.MEMORY
    assert ran.seconds < 29


def test_the_temporary_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    body = (
        "os.makedirs('deep/er')\nopen('deep/er/file', 'w').close()\nos.chmod('deep', "
        "0)\nact()\nos.abort()"
    )
    outcome(tmp_path, body)
    assert list(scratch.iterdir()) == []


def test_a_spent_budget_skips_with_that_reason(tmp_path: Path) -> None:
    (found,) = run_script(tmp_path, "put(None, verdict='passed')", budget=0).outcomes
    assert found.verdict is Verdict.SKIPPED
    assert "budget" in found.reason


def test_the_budget_bounds_a_check_that_may_take_longer(tmp_path: Path) -> None:
    (found,) = run_script(tmp_path, "act()\ntime.sleep(600)", timeout=60, budget=1).outcomes
    assert found.verdict is Verdict.TIMED_OUT
    assert found.seconds < 5


def test_an_interpreter_that_does_not_start_is_told(tmp_path: Path) -> None:
    (found,) = run_script(tmp_path, "", executable="/nonexistent/python").outcomes
    assert found.verdict is Verdict.BROKEN
    assert "/nonexistent/python" in found.reason


def test_a_standard_input_that_is_waited_for_is_at_its_end(tmp_path: Path) -> None:
    assert (
        outcome(tmp_path, "sys.stdin.read()\nput(None, verdict='passed')", timeout=5).verdict
        is Verdict.PASSED
    )


def test_a_module_beside_the_user_does_not_shadow_what_is_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert outcome(tmp_path, "import random\nput(None, verdict='passed')").verdict is Verdict.PASSED


def test_a_result_that_was_overwritten_is_no_fault_of_doctor(tmp_path: Path) -> None:
    body = 'put(verdict="passed")\nopen(os.environ["CANARY_RESULT"], "w").write("null")\n'
    found = outcome(tmp_path, body)
    assert found.verdict is Verdict.BROKEN
    (finding,) = broken_checks(Observation(outcomes=(found,)))
    assert finding.title.startswith("Something in this environment overwrote the result of ")
    assert "fault of doctor" not in finding.message
