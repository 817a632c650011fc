"""A snapshot and a JSON report that an earlier doctor wrote are still read.

`documents` holds both as they were written on 2026-11-22, before checks of another tier and missing
facts had keys of their own; the report is cut to three undecided issues.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import doctor
from doctor.model.scales import Tier

_DOCUMENTS = Path(__file__).with_name("documents")
_SNAPSHOT, _REPORT = _DOCUMENTS / "snapshot.json", _DOCUMENTS / "report.json"


@pytest.mark.parametrize("path", [_SNAPSHOT, _REPORT], ids=lambda path: str(path.stem))
def test_the_deselected_checks_of_an_earlier_document_are_read(path: Path) -> None:
    report = doctor.check(from_=path)
    assert [(one.id, one.tier, one.seconds) for one in report.observation.deselected] == [
        ("flash-attn-build", Tier.DEEP, 3600),
        ("inductor-matmul", Tier.DEEP, 300),
    ]
    again = json.loads(doctor.to_json(report))
    assert again["left_out"] == json.loads(path.read_text(encoding="utf-8"))["left_out"]


def test_an_earlier_static_snapshot_is_static(tmp_path: Path) -> None:
    told = json.loads(_SNAPSHOT.read_text(encoding="utf-8"))
    path = tmp_path / "static.json"
    path.write_text(
        json.dumps({**told, "left_out": ["the canaries (--no-canaries)"]}), encoding="utf-8"
    )
    report = doctor.check(from_=path)
    assert report.observation.static
    assert json.loads(doctor.to_json(report))["left_out"] == ["the canaries (--no-canaries)"]


def test_every_key_of_an_earlier_report_is_still_written() -> None:
    told = json.loads(_REPORT.read_text(encoding="utf-8"))
    again = json.loads(doctor.to_json(doctor.check(from_=_REPORT)))
    assert set(told) <= set(again)
    was, now = (each["findings"][0] for each in (told, again))
    assert set(was) <= set(now)
    assert (was["id"], was["settles"]) == (now["id"], now["settles"])
    assert now["missing_facts"] == was["settles"].split(", ")
    assert told["assumed"] == again["assumed"] == ["gpu=sm_90"]


def test_an_earlier_report_is_a_baseline_and_a_side_of_a_comparison() -> None:
    assert doctor.check(from_=_REPORT, baseline=_REPORT).exit_code == 0
    changed = doctor.diff(_REPORT, _SNAPSHOT)
    assert (changed.came, changed.went) == ((), ())
    assert changed.before.taken == "2026-11-22T12:00:00+00:00"
