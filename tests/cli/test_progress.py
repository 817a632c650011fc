"""What `doctor check` shows while it runs, on a terminal and elsewhere."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import msgspec
import pytest

from doctor.cli import progress
from doctor.cli.console import render
from doctor.cli.progress import View
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.report import Report
from doctor.pipeline.check import demo
from doctor.report import Format


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def _passed(name: str) -> Outcome:
    return Outcome(id=name, target="interpreter", verdict=Verdict.PASSED, device="cpu", seconds=1.5)


@pytest.fixture(scope="module")
def judged() -> Report:
    return demo()


def _streamed(report: Report, ended: Sequence[Outcome], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a terminal shows: the report on files and tools, each check, the end."""
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    seen = msgspec.structs.replace(report.observation, outcomes=())
    with progress.display(Format.TEXT) as view:
        view.first(msgspec.structs.replace(report, observation=seen), ["check-one", "check-two"])
        for number, outcome in enumerate(ended, 1):
            view.watcher.check([outcome], number, len(ended))
    whole = msgspec.structs.replace(
        report, observation=msgspec.structs.replace(seen, outcomes=tuple(ended))
    )
    return screen.getvalue() + render(whole, Format.TEXT, stream=screen, shown=view.already)


def test_a_terminal_shows_each_thing_once(judged: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _streamed(judged, [_passed("check-one"), _passed("check-two")], monkeypatch)
    loud = [found for found in judged.counted if found.severity.value != "note"]
    assert loud
    for found in loud:
        assert text.count(f"explain {found.id}") <= 1, found.id
    assert text.count("canary-doctor ") == 1
    assert text.index("check-one") < text.index("check-two")
    assert text.count("check-two ") == 1


def test_a_finding_that_the_checks_refute_is_taken_back(
    judged: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doctor.report.terminal.changes import changed
    from doctor.report.terminal.document import shapes
    from doctor.report.terminal.page import look, rendered_lines

    how = look(width=100, unicode=True)
    healthy = msgspec.structs.replace(judged, findings=())
    before = shapes(judged, how)
    lines = rendered_lines(changed((), before, healthy, how), how)
    assert f"{before[0].id} does not hold" in lines
    assert rendered_lines(changed(before, before, judged, how), how) == ""


def test_a_finding_whose_evidence_another_one_takes_over_is_not_taken_back(judged: Report) -> None:
    from doctor.report.terminal.changes import changed
    from doctor.report.terminal.document import shapes
    from doctor.report.terminal.page import look, rendered_lines

    how = look(width=100, unicode=True)
    before = shapes(judged, how)
    after = tuple(msgspec.structs.replace(one, id="import/other") for one in before)
    assert "does not hold" not in rendered_lines(changed(after, before, judged, how), how)


def test_a_ci_job_sees_each_check_and_a_sign_of_life(
    judged: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SILENCE", 0.1)
    with progress.display(Format.JSON) as view:
        view.watcher.static(judged.observation, ["check-one", "check-two-longer"])
        view.watcher.check([_passed("check-one")], 1, 2)
        view.watcher.running(["check-two"], 20.0)
        _wait_for_silence()
        view.watcher.check([_passed("check-two-longer")], 2, 2)
    said = capsys.readouterr()
    assert said.out == ""
    columns = {line.index(" s") for line in said.err.splitlines() if " ✓ " in line}
    assert len(columns) == 1, "the checks stand in columns"
    assert "  1/2" in said.err
    assert "still running after" in said.err
    assert "check-two, 20 s" in said.err


def _wait_for_silence() -> None:
    import time

    time.sleep(0.3)


def test_nothing_is_shown_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress.display(Format.JSON) as view:
        assert type(view) is View


def test_new_evidence_of_a_finding_refers_to_its_first_place(judged: Report) -> None:
    from doctor.report.terminal.changes import changed
    from doctor.report.terminal.document import shapes
    from doctor.report.terminal.page import look, rendered_lines
    from doctor.report.view.blocks import Evidence

    how = look(width=100, unicode=True)
    now = shapes(judged, how)
    before = tuple(
        msgspec.structs.replace(
            one, blocks=tuple(b for b in one.blocks if not isinstance(b, Evidence))
        )
        for one in now
    )
    lines = rendered_lines(changed(now, before, judged, how), how)
    assert f"{now[0].title} (see above)" in lines
    assert "fix" not in lines
