"""Doctor's own work ends in time, and at once when it is interrupted."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from doctor.base import time_limit as watching
from doctor.base.time_limit import TimeLimitExceeded, time_limit
from doctor.catalog.loading import load
from doctor.model.facts import present
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.scales import Severity
from doctor.pipeline import assess as assess_module
from doctor.pipeline.assess import assess

_POSIX = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such clock")
_CLOCKS = [
    pytest.param(watching._interrupt, id="thread"),
    *([watching._alarm] if hasattr(signal, "setitimer") else []),
]


def _for_ever() -> None:
    while True:
        with contextlib.suppress(Exception):  # as code on the way may do
            time.sleep(0.001)


@pytest.mark.parametrize("clock", _CLOCKS)
def test_what_never_ends_is_ended(
    clock: Callable[[float], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_alarm", clock)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    begun = time.monotonic()
    with (
        pytest.raises(TimeLimitExceeded, match="it did not end within 0 s"),
        time_limit(0.3, "it did not end"),
    ):
        _for_ever()
    assert 0.2 < time.monotonic() - begun < 10
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.mark.parametrize("clock", _CLOCKS)
def test_what_ends_in_time_is_left_alone(
    clock: Callable[[float], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_alarm", clock)
    with time_limit(0.2, "never"):
        done = 1
    time.sleep(0.5)
    assert done


@_POSIX
def test_an_expression_that_goes_on_and_on_is_ended() -> None:
    with pytest.raises(TimeLimitExceeded), time_limit(0.3, "it did not end"):
        re.match("(a+)+$", "a" * 60 + "b")


def test_in_another_thread_nothing_is_bounded() -> None:
    ended: list[str] = []

    def work() -> None:
        with time_limit(0.05, "never"):
            time.sleep(0.3)
        ended.append("whole")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == ["whole"]


def _seen() -> Observation:
    failed = Outcome(
        id="torch-runtime",
        target="interpreter",
        verdict=Verdict.FAILED,
        reason="it broke",
        log="slow words",
    )
    return Observation(
        targets=(Target(name="interpreter", kind=TargetKind.INTERPRETER, path="/p"),),
        facts={
            "python.executable": present("/p", "test"),
            "torch.version": present("2.6.0", "test"),
        },
        outcomes=(failed,),
        logs=(Log(source="build.log", lines=("slow words",)),),
    )


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the judgement of the words above take for ever."""
    judge = getattr(assess_module, "diagnose")  # noqa: B009 - which it imports

    def slowly(seen: Observation, catalog: Any) -> Any:
        if seen.logs or any(outcome.log for outcome in seen.outcomes):
            _for_ever()
        return judge(seen, catalog)

    monkeypatch.setattr(assess_module, "diagnose", slowly)


@pytest.mark.usefixtures("slow")
def test_a_judgement_that_takes_too_long_is_made_without_what_was_printed() -> None:
    begun = time.monotonic()
    report = assess(_seen(), load(), seconds=3)
    assert time.monotonic() - begun < 30
    found = {each.id: each for each in report.findings}
    assert found["judging/unfinished"].severity is Severity.WARNING
    assert "within 3 s" in found["judging/unfinished"].evidence[0].text
    assert found["judging/unfinished"].fixes
    assert found["canary/torch-runtime"].severity is Severity.ERROR
    assert report.exit_code == 1


@pytest.mark.usefixtures("slow")
def test_where_nothing_else_is_judged_that_is_said() -> None:
    with pytest.raises(TimeLimitExceeded, match="could not be judged within 1 s"):
        assess(_seen(), load(), command="diagnose", seconds=1)


_HANGING = """
import re, sys, time
from doctor.pipeline import assess
def diagnose(*_):
    print("judging", file=sys.stderr, flush=True)
    {hang}
assess.diagnose = diagnose
from doctor.cli import main
main()
"""
_EXPONENTIAL = _HANGING.format(hang='re.match("(a+)+$", "a" * 60 + "b")')
_ASLEEP = _HANGING.format(hang="time.sleep(600)")  # costs no processor time


@_POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_judgement_that_hangs_is_interrupted_at_once(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "build.log").write_text(
        "RuntimeError: no kernel image is available\n", encoding="utf-8"
    )
    command = [sys.executable, "-c", _EXPONENTIAL, "diagnose", str(tmp_path / "build.log")]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "judging\n"
        process.send_signal(number)
        try:
            process.wait(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130


@_POSIX
def test_the_budget_bounds_the_judgement_too(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    seen.write_text(_json(), encoding="utf-8")
    command = [sys.executable, "-c", _ASLEEP, "check", "--from", str(seen), "--budget", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 3
    assert "could not be judged within 5 s" in ran.stderr


def _json() -> str:
    import msgspec

    return msgspec.json.encode(_seen()).decode()
