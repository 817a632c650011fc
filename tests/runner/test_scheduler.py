"""What may run side by side does, and nothing else."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec
import pytest

from doctor.catalog.check_headers import read_check
from doctor.host import Host
from doctor.host.scratch import Scratch
from doctor.model.checks import Reach
from doctor.model.outcomes import Verdict
from doctor.model.watching import Watcher
from doctor.observe.runner import Line, Plan, Unit, units
from tests.faults.standins import script

_SPAN = """
    begun = time.time()
    time.sleep(1.2)
    put(None, verdict="passed", data={"begun": begun, "ended": time.time(), "told": os.environ.get("CANARY_DEVICES")})
"""  # noqa: E501
_PLAN = Plan(
    command=(sys.executable,), target="interpreter", host=Host(), devices=("cpu", "cuda:0")
)


def _spans(
    folder: Path, reaches: list[str], monkeypatch: pytest.MonkeyPatch, plan: Plan = _PLAN
) -> dict[str, tuple[float, float]]:
    """Run a script for each reach, on four processors.

    Return when each began and ended, by the name of its unit.
    """
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    found = {}
    with Scratch() as scratch:
        line = Line(scratch, Watcher())
        for number, reach in enumerate(reaches):
            more = f'devices = "{reach.partition(" ")[0]}"\n' + "peers = true\n" * reach.endswith(
                "peers"
            )
            line.add(
                units(
                    read_check(
                        script(folder, _SPAN, name=f"{reach.replace(' ', '_')}_{number}", more=more)
                    ),
                    plan,
                )
            )
        for unit, batch in line:
            (outcome,) = batch.outcomes
            assert outcome.verdict is Verdict.PASSED, outcome
            assert outcome.data["told"] == unit.device
            found[unit.name] = (outcome.data["begun"], outcome.data["ended"])
    return found


def _beside(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def test_devices_and_the_host_go_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = _spans(tmp_path, ["each", "host"], monkeypatch)
    assert set(spans) == {"each-0-cpu", "each-0-cuda-0", "host-1"}
    assert all(_beside(one, other) for one in spans.values() for other in spans.values())


def test_one_device_does_one_thing_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = _spans(tmp_path, ["each", "each"], monkeypatch)
    assert not _beside(spans["each-0-cpu"], spans["each-1-cpu"])
    assert not _beside(spans["each-0-cuda-0"], spans["each-1-cuda-0"])


_TWO = msgspec.structs.replace(_PLAN, devices=("cpu", "cuda:0", "cuda:1"))


def test_what_opens_its_peers_has_them_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = _spans(tmp_path, ["each peers", "each"], monkeypatch, _TWO)
    assert not _beside(spans["each-peers-0-cuda-0"], spans["each-peers-0-cuda-1"])
    for index in range(2):
        assert not _beside(spans[f"each-peers-0-cuda-{index}"], spans[f"each-1-cuda-{1 - index}"])
    assert _beside(spans["each-peers-0-cpu"], spans["each-peers-0-cuda-0"])


def test_where_a_gpu_takes_one_process_they_go_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = _spans(
        tmp_path, ["each", "host"], monkeypatch, msgspec.structs.replace(_TWO, exclusive=True)
    )
    on_gpus = [spans[name] for name in ("each-0-cuda-0", "each-0-cuda-1", "host-1")]
    assert not any(
        _beside(one, other) for place, one in enumerate(on_gpus) for other in on_gpus[:place]
    )
    assert any(_beside(spans["each-0-cpu"], other) for other in on_gpus)


def test_without_devices_a_script_finds_them_by_itself(tmp_path: Path) -> None:
    plan = Plan(command=(sys.executable,), target="interpreter", host=Host())
    check = read_check(script(tmp_path, _SPAN, more='devices = "each"\n'))
    assert [(unit.device, unit.name) for unit in units(check, plan)] == [(None, "stand-in")]
    assert check.header.devices is Reach.EACH


def test_leaving_the_line_stops_what_runs(tmp_path: Path) -> None:
    started = time.monotonic()
    plan = Plan(command=(sys.executable,), target="interpreter", host=Host())

    def leave(_names: object, seconds: float) -> None:
        if seconds > 0.5:
            raise KeyboardInterrupt

    def iterate() -> list[Unit]:
        with Scratch() as scratch:
            line = Line(scratch, Watcher(running=leave))
            line.add(units(read_check(script(tmp_path, "act()\ntime.sleep(600)")), plan))
            return [unit for unit, _ in line]

    with pytest.raises(KeyboardInterrupt):
        iterate()
    assert time.monotonic() - started < 120
