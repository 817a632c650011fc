"""Look-alikes share rare words with a failure that nothing explains, and are no findings."""

from __future__ import annotations

import io
import json

import pytest

from doctor.catalog import loading
from doctor.judge.match.lookalikes import look_alikes
from doctor.model.report import Report
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from doctor.report.structured import json_document
from doctor.report.terminal import document as terminal

KNOWN = loading.load()


def judged(text: str) -> Report:
    """Return the report of `doctor diagnose` on a text."""
    log = read_log("log", io.BytesIO(text.encode()), KNOWN)
    return assess(observation_from_logs([log]), KNOWN, command="diagnose")


def screen(report: Report) -> str:
    """Return the report as the terminal shows it, as one line."""
    text = terminal.render(report, verbosity=0, width=100, colour=False, unicode=True)
    return " ".join(text.split())


def test_a_failure_in_new_words_resembles_the_known_one() -> None:
    text = (
        "[TensorRT-LLM][ERROR] CUDA runtime error in cudaFuncSetAttribute(mmha::masked): no kernel "
        "image is available for execution on the device"
    )
    seen = observation_from_logs([read_log("log", io.BytesIO(text.encode()), KNOWN)])
    found = look_alikes(seen, KNOWN.issues)
    assert 1 <= len(found) <= 3
    assert "torch/no-kernel-image" in [one.id for one in found]
    assert all(one.shares for one in found)


def test_an_unknown_failure_is_said_in_plain_words() -> None:
    text = """\
Traceback (most recent call last):
  File "/w/run.py", line 4, in <module>
    frobnicate()
zorklib.errors.ZorkError: the quux of the frobnicator is bent"""
    report = judged(text)
    shown = screen(report)
    assert report.exit_code == 4
    assert not report.findings
    assert report.look_alikes == ()
    assert "Not recognised" in shown
    assert "an exception, line 4 (printed by Python): zorklib.errors.ZorkError" in shown
    assert "no error" not in shown


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("step 9\nKilled", "signal 9"),
        ("job 7 ended\nProcess completed with exit code 139.", "signal 11"),
        ("worker exited with code -4", "instruction"),
        ("error: process terminated: exit status 0xc0000135", "STATUS_DLL_NOT_FOUND"),
        ("process exited with code 3221225477", "STATUS_ACCESS_VIOLATION"),
        ("shard was signaled to shutdown with signal 4", "instruction"),
    ],
)
def test_a_status_explains_how_a_process_ended(text: str, meaning: str) -> None:
    report = judged(text)
    said = screen(report) + "".join(f"{one.title} {one.message}" for one in report.findings)
    assert meaning in said


def test_a_wrapper_alone_is_called_one() -> None:
    shown = screen(judged("make: *** [all] Error 2"))
    assert "reports only that something else failed" in shown


def test_a_log_without_a_failure_is_not_blamed() -> None:
    shown = screen(judged("epoch 1: loss 0.3\nsaved"))
    assert "recognises nothing in this log" in shown
    assert "The failure" not in shown


def test_the_json_report_holds_look_alikes_apart_from_findings() -> None:
    report = judged("zorklib.errors.ZorkError: could not load libtorchcodec today")
    published = json.loads(json_document.render(report))
    assert published["findings"] == []
    assert [one["id"] for one in published["look_alikes"]] == [one.id for one in report.look_alikes]
    assert published["look_alikes"]
    assert published["exit_code"] == 4


def test_a_warning_resembles_nothing() -> None:
    text = "WARNING in app: no kernel image is available for cudaFuncSetAttribute, using the CPU"
    assert not judged(text).look_alikes
