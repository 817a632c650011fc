"""What is recalled is what ran here, passed, and is not a day old.

Nobody else can have put it there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from doctor.catalog.check_headers import read_check
from doctor.host import Host
from doctor.host.keeping import cache_folder
from doctor.model.outcomes import Outcome, Verdict, refused
from doctor.observe.cache import Store
from doctor.observe.cache import store as stores
from doctor.observe.runner import Batch, Plan, Unit, units
from tests.faults.standins import script

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="verdicts are kept where the boot of a machine can be told"
)
_PLAN = Plan(command=(sys.executable,), target="interpreter", host=Host(), devices=("cpu",))
_PRINT = "5c1d77aa"


def _unit(where: Path, *, body: str = "pass", device: str = "cpu", plan: Plan = _PLAN) -> Unit:
    check = read_check(script(where, body, more='devices = "each"\n'))
    (unit,) = units(check, msgspec.structs.replace(plan, devices=(device,)))
    return unit


def _batch(verdict: Verdict = Verdict.PASSED, reason: str = "", code: int | None = 0) -> Batch:
    found = Outcome(
        id="stand-in",
        target="interpreter",
        device="cpu",
        verdict=verdict,
        reason=reason,
        exit_code=code,
    )
    return Batch(outcomes=(found,), facts={"torch.import_seconds": 1.5})


def _kept(where: Path, unit: Unit, batch: Batch, *, has_gpu: bool = False) -> Store:
    """Save what a unit gave, and return the store of the next run."""
    store = Store(where, _PRINT, has_gpu=has_gpu)
    store.remember(unit, batch)
    store.save(lambda: _PRINT)
    return Store(where, _PRINT, has_gpu=has_gpu)


def test_what_passed_is_recalled_with_its_time(tmp_path: Path) -> None:
    unit = _unit(tmp_path)
    batch = _kept(tmp_path / "kept", unit, _batch()).recall(unit)
    assert batch is not None
    assert batch.facts == {"torch.import_seconds": 1.5}
    ran = datetime.fromisoformat(batch.outcomes[0].cached_from)
    assert timedelta(seconds=-2) < datetime.now(timezone.utc) - ran < timedelta(minutes=5)
    assert [
        path.stat().st_mode & 0o777 for path in (tmp_path / "kept", *(tmp_path / "kept").iterdir())
    ] == [0o700, 0o600]


@pytest.mark.parametrize(
    "batch",
    [
        *(
            _batch(verdict)
            for verdict in Verdict
            if verdict not in (Verdict.PASSED, Verdict.SKIPPED)
        ),
        _batch(Verdict.SKIPPED, refused("room", "3 MB are free")),
        _batch(Verdict.SKIPPED, "the time budget of the whole run was used up", code=None),
        Batch(outcomes=()),
    ],
    ids=lambda batch: (
        batch.outcomes[0].verdict.value + batch.outcomes[0].reason[:7]
        if batch.outcomes
        else "nothing"
    ),
)
def test_what_did_not_pass_is_not_kept_and_ends_what_was(tmp_path: Path, batch: Batch) -> None:
    unit = _unit(tmp_path)
    assert _kept(tmp_path / "kept", unit, batch).recall(unit) is None
    assert _kept(tmp_path / "kept", unit, _batch()).recall(unit) is not None
    assert _kept(tmp_path / "kept", unit, batch).recall(unit) is None


def test_another_script_setting_or_device_is_another_unit(tmp_path: Path) -> None:
    store = _kept(tmp_path / "kept", _unit(tmp_path), _batch())
    assert (
        store.recall(
            _unit(tmp_path, plan=msgspec.structs.replace(_PLAN, settings={"CANARY_ARCH": "sm_90"}))
        )
        is None
    )
    assert store.recall(_unit(tmp_path, device="cuda:0")) is None
    assert store.recall(_unit(tmp_path)) is not None
    assert store.recall(_unit(tmp_path, body="time.sleep(0)")) is None


def test_a_card_is_asked_each_time(tmp_path: Path) -> None:
    on_card, on_processor = _unit(tmp_path, device="cuda:0"), _unit(tmp_path)
    assert _kept(tmp_path / "kept", on_card, _batch(), has_gpu=True).recall(on_card) is None
    assert (
        _kept(tmp_path / "kept", on_processor, _batch(), has_gpu=True).recall(on_processor)
        is not None
    )


def test_fresh_recalls_nothing_and_has_the_last_word(tmp_path: Path) -> None:
    unit = _unit(tmp_path)
    _kept(tmp_path / "kept", unit, _batch())
    fresh = Store(tmp_path / "kept", _PRINT, fresh=True)
    assert fresh.recall(unit) is None
    fresh.remember(unit, _batch(Verdict.FAILED))
    fresh.save(lambda: _PRINT)
    assert Store(tmp_path / "kept", _PRINT).recall(unit) is None


@pytest.mark.parametrize("has_gpu", [False, True])
def test_a_failure_is_recalled_for_whoever_asks_for_changes(tmp_path: Path, has_gpu: bool) -> None:
    unit = _unit(tmp_path, device="cuda:0" if has_gpu else "cpu")
    token = "ghp_" + "a1B2" * 9
    said = _batch(Verdict.FAILED, reason=f"GITHUB_TOKEN={token}")
    assert _kept(tmp_path / "kept", unit, said, has_gpu=has_gpu).recall(unit) is None
    again = Store(tmp_path / "kept", _PRINT, has_gpu=has_gpu, changed=True).recall(unit)
    assert again is not None
    assert again.outcomes[0].verdict is Verdict.FAILED
    assert token not in again.outcomes[0].reason
    assert Store(tmp_path / "kept", "another", changed=True).recall(unit) is None


@pytest.mark.parametrize("hours", [25, -1])
def test_a_day_old_or_of_the_future_is_not_recalled(
    tmp_path: Path, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = _unit(tmp_path)
    _kept(tmp_path / "kept", unit, _batch())

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(timezone.utc) + timedelta(hours=hours)

    monkeypatch.setattr(stores, "datetime", Clock)
    assert Store(tmp_path / "kept", _PRINT).recall(unit) is None


def test_an_environment_that_changed_meanwhile_keeps_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept", _PRINT)
    store.remember(_unit(tmp_path), _batch())
    store.save(lambda: "another")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"entries": {"a": 1}}', b"\xff" * 99, b"[" * 99_999]
)
def test_a_file_that_makes_no_sense_is_as_none(tmp_path: Path, content: bytes) -> None:
    unit = _unit(tmp_path)
    _kept(tmp_path / "kept", unit, _batch())
    (tmp_path / "kept" / f"{_PRINT}.json").write_bytes(content)
    assert Store(tmp_path / "kept", _PRINT).recall(unit) is None


def test_a_folder_that_others_can_write_is_neither_read_nor_written(tmp_path: Path) -> None:
    unit, where = _unit(tmp_path), tmp_path / "kept"
    _kept(where, unit, _batch())
    where.chmod(0o777)
    assert Store(where, _PRINT).recall(unit) is None
    (where / f"{_PRINT}.json").unlink()
    assert _kept(where, unit, _batch()).recall(unit) is None
    assert list(where.iterdir()) == []


def test_a_folder_behind_a_link_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "kept").symlink_to(tmp_path / "real")
    unit = _unit(tmp_path)
    assert _kept(tmp_path / "kept", unit, _batch()).recall(unit) is None
    assert list((tmp_path / "real").iterdir()) == []


def test_a_handful_of_environments_is_remembered(tmp_path: Path) -> None:
    for number in range(20):
        store = Store(tmp_path, f"{number:08}")
        store.remember(_unit(tmp_path.parent), _batch())
        store.save(lambda number=number: f"{number:08}")  # type: ignore[misc]
    assert len(list(tmp_path.glob("*.json"))) == 16


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HOME": "~"}, "~/.cache/canary-doctor"),
        ({"HOME": "~", "XDG_CACHE_HOME": "/fast"}, "/fast/canary-doctor"),
        ({"HOME": "~", "XDG_CACHE_HOME": "relative"}, "~/.cache/canary-doctor"),
        ({"HOME": "~", "DOCTOR_CACHE_DIR": "/mine"}, "/mine"),
        ({"HOME": "~", "DOCTOR_CACHE_DIR": ""}, None),
        ({"HOME": "~", "DOCTOR_CACHE_DIR": "relative"}, None),
        ({"HOME": "~/absent"}, None),
        ({"HOME": "~/absent", "XDG_CACHE_HOME": "/fast"}, "/fast/canary-doctor"),
        ({}, None),
    ],
)
def test_where_verdicts_are_kept(
    tmp_path: Path, env: Mapping[str, str], expected: str | None
) -> None:
    found = cache_folder({name: at.replace("~", str(tmp_path)) for name, at in env.items()})
    assert found == (None if expected is None else Path(expected.replace("~", str(tmp_path))))
