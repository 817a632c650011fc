"""The plan at the end of a check, in each format."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
import pytest

from doctor.catalog import loading
from doctor.model.report import Report
from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.report.markdown import step_summary
from doctor.report.structured import json_document
from doctor.report.terminal.document import render

_RECORDED = Path(__file__).parents[2] / "fixtures" / "plans" / "torch-moved-alone.json"
_BACK = "pip install torch==2.5.1"


@functools.cache
def _report() -> Report:
    return assess(read_observation(_RECORDED), loading.load())


def _text(verbosity: int = 0, width: int = 80) -> str:
    return render(_report(), verbosity=verbosity, width=width, colour=False, unicode=True)


@pytest.mark.parametrize("width", [80, 120])
def test_a_check_ends_in_the_plan(width: int) -> None:
    _, _, end = _text(width=width).partition("  plan     Move torch to 2.5.1")
    assert _BACK in end
    assert "changes  torch 2.15.0 → 2.5.1" in end
    assert "keeps    torchaudio 2.5.1, torchvision 0.20.1, xformers 0.0.28.post3" in end
    assert "doctor fix --prove --python" in end


def test_the_command_at_the_end_is_about_the_target_of_the_check() -> None:
    report = _report()
    target = msgspec.structs.replace(
        report.observation.targets[0], chosen_by=".venv", project="/srv/other project"
    )
    seen = msgspec.structs.replace(report.observation, targets=(target,))
    elsewhere = msgspec.structs.replace(report, observation=seen)
    text = render(elsewhere, verbosity=0, width=80, colour=False, unicode=True)
    assert "doctor fix --prove --project '/srv/other project'" in text


def test_the_fixes_that_a_plan_takes_the_place_of_are_shown_with_v_only() -> None:
    assert "\n  fix " not in _text()
    assert "Do first" not in _text()
    assert "\n  fix " in _text(verbosity=1)


def test_every_format_has_the_plan() -> None:
    for text in (markdown.render(_report()), step_summary.render(_report())):
        assert "### Plan for all findings" in text
        assert _BACK in text
    page = html.render(_report())
    assert 'id="plan"' in page
    assert _BACK in page
    plan = json_document.document(_report()).plan
    assert plan is not None
    assert plan.steps[-1].argv[-1] == "torch==2.5.1"
