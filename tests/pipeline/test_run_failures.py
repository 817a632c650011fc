"""`doctor run` after a failure: how the command ended, its own output first, what it asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalog import loading
from doctor.model.findings import Finding
from doctor.model.fixes import Command, Fix, Step
from doctor.model.report import Report
from doctor.model.scales import Confidence, Severity
from doctor.pipeline.asked_releases import with_asked_releases
from doctor.pipeline.diagnose import explain_failure
from doctor.pipeline.requests import RunRequest
from doctor.report.terminal.document import render


def _run(status: int, output: bytes = b"epoch 1\n", *argv: str) -> Report:
    return explain_failure(
        RunRequest(argv=argv or ("python", "train.py"), status=status, output=output)
    )


def _text(report: Report) -> str:
    return render(report, verbosity=0, width=100, colour=False, unicode=True)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("status", "id_", "words"),
    [
        (137, "failure/ended-by-sigkill", "exit status 137, killed by SIGKILL"),
        (0xC0000005, "failure/ended", "STATUS_ACCESS_VIOLATION"),
        (-1073741819, "failure/ended", "STATUS_ACCESS_VIOLATION"),
    ],
)
def test_an_exit_status_explains_a_silent_end(status: int, id_: str, words: str) -> None:
    report = _run(status)
    assert report.findings[0].id == id_
    assert words in _text(report)


def test_a_status_that_tells_nothing_is_still_named() -> None:
    text = _text(_run(3))
    assert "exit status 3" in text
    assert "python train.py" in text
    assert "machine  " not in text


def test_the_output_comes_before_the_status() -> None:
    log = b"RuntimeError: operator torchvision::nms does not exist\n"
    report = _run(139, log)
    assert [found.id for found in report.findings[:2]] == [
        "torchvision/other-torch",
        "failure/ended-by-sigsegv",
    ]
    assert "operator torchvision::nms does not exist (line 1 of its output)" in _text(report)


def _installing(*argv: str) -> Finding:
    steps = tuple(
        Step(command=Command(argv=("python", "-m", "pip", "install", one))) for one in argv
    )
    return Finding(
        id="x/y",
        target="interpreter",
        title="x",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="x",
        fixes=(Fix(kind="install", title="x", steps=steps),),
    )


@pytest.mark.parametrize(
    ("asked", "installed"),
    [
        ("flash-attn==2.7.4.post1", ["torch==2.6.*", "flash-attn==2.7.4.post1", "ninja"]),
        ("flash_attn>=2.8", ["torch==2.8.*", "flash_attn>=2.8", "ninja"]),
        ("flash-attn", ["torch==2.8.*", "flash-attn", "ninja"]),
    ],
)
def test_a_fix_installs_the_release_that_was_asked_for(asked: str, installed: list[str]) -> None:
    (found,) = with_asked_releases(
        [_installing("torch==2.8.*", "flash-attn", "ninja")],
        ("pip", "install", asked),
        loading.load(),
    )
    assert [command.argv[-1] for command in found.fixes[0].commands] == installed
