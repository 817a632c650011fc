"""Each device is proved in a process of its own.

What one GPU does costs no other anything, and a hang costs its bound once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.catalog.check_headers import read_check
from doctor.host import Host
from doctor.model.facts import Fact, present
from doctor.model.observation import TargetKind
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.watching import Watcher
from doctor.observe.cache import Store
from doctor.observe.run_checks import check_all
from doctor.observe.runner import Plan
from doctor.observe.runner import devices as alive
from tests.faults.standins import script

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="checks share imports on Linux only"
)

_RUNTIME = """
    asked = os.environ["CANARY_DEVICES"]
    forked = "builtins.shared" in sys.modules
    with open({starts!r}, "a") as file: file.write(asked + "\\n")
    def tell(results=(), **facts):
        facts = {{f"torch.{{name}}": value for name, value in facts.items()}}
        with open(os.environ["CANARY_RESULT"], "w") as file:
            json.dump({{"contract": 1, "facts": facts, "results": results, "doing": None}}, file)
    def act(device):
        with open(os.environ["CANARY_RESULT"], "w") as file:
            json.dump({{"contract": 1, "results": [{{"device": device, "verdict": "running"}}],
                       "doing": {{"device": device, "case": "", "act": True}}}}, file)
    def fail(reason): tell([{{"device": asked, "verdict": "failed", "reason": reason}}]); sys.exit()
    passed = [{{"device": asked, "verdict": "passed"}}]
    if asked == "cpu":
        sys.modules["builtins.shared"] = sys
        FORK_SERVER() if "FORK_SERVER" in globals() else None
        {first}
        tell(passed, devices=["cpu"], cuda_version="13.0", import_seconds=0.1)
    elif asked == "cuda":
        {look}
        tell(cuda_available=True, cuda_devices=[{{"index": index}} for index in range(4)])
    else:
        act(asked)
        {{1: lambda: {one}, 2: lambda: {two}}}.get(int(asked[-1]), int)()
        tell(passed)
"""
_LEANING = """
    put(None, verdict="passed", data={"peers": os.environ["CANARY_PEERS"], "forked": "builtins.shared" in sys.modules})
"""  # noqa: E501


class Machine:
    """Make four played GPUs in the place of torch-runtime, and one check that needs it."""

    def __init__(self, folder: Path, **plays: str) -> None:
        self.starts = folder / "starts"
        body = _RUNTIME.format(
            starts=str(self.starts),
            **{"first": "pass", "look": "pass", "one": "0", "two": "0", **plays},
        )
        needs = 'needs = ["torch"]\n'
        self.checks = [
            read_check(
                script(
                    folder,
                    body,
                    name="torch_runtime",
                    more=needs + 'fork_server = true\nrole = "proves-torch"\n',
                )
            ),
            read_check(script(folder, _LEANING, name="leaning", more=needs + 'devices = "each"\n')),
        ]

    def check(
        self, timeout: float = 10, env: Mapping[str, str] | None = None
    ) -> Mapping[tuple[str, str | None], Outcome]:
        """Run both with these variables; return their outcomes by name and device."""
        host = Host(env={"PATH": os.environ["PATH"], **(env or {})})
        plan = Plan(command=(sys.executable,), target="interpreter", host=host, timeout=timeout)
        facts: dict[str, Fact] = {"torch.version": present("2.13.0", "test")}
        self.seen = check_all(
            self.checks,
            {TargetKind.INTERPRETER: plan},
            facts,
            Watcher(),
            Store(None, ""),
        )
        leaning = [outcome for outcome in self.seen.outcomes if outcome.id == "leaning"]
        # The stand-in writes "cpu" whatever it was asked for; the order of the outcomes is that of
        # the devices.
        return {
            (outcome.id, outcome.device): outcome
            for outcome in self.seen.outcomes
            if outcome.id == "torch-runtime"
        } | {("leaning", str(place)): outcome for place, outcome in enumerate(leaning)}

    def started(self) -> list[str]:
        """Return what the script was asked for, start by start."""
        return self.starts.read_text(encoding="utf-8").split()


def _verdicts(found: Mapping[tuple[str, str | None], Outcome]) -> dict[str | None, Verdict]:
    return {
        device: outcome.verdict
        for (name, device), outcome in found.items()
        if name == "torch-runtime"
    }


def test_every_device_has_a_process_of_its_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    found = machine.check()
    assert sorted(machine.started()) == ["cpu", "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3"]
    assert _verdicts(found) == dict.fromkeys(
        ("cpu", "cuda:0", "cuda:1", "cuda:2", "cuda:3"), Verdict.PASSED
    )
    assert found["leaning", "0"].data == {"peers": "cuda:0,cuda:1,cuda:2,cuda:3", "forked": True}
    assert machine.seen.facts["torch.devices"].value == [
        "cpu",
        "cuda:0",
        "cuda:1",
        "cuda:2",
        "cuda:3",
    ]


def test_an_error_of_one_device_is_its_own(tmp_path: Path) -> None:
    machine = Machine(
        tmp_path, one="fail('CUDA error: uncorrectable ECC error encountered')", two="os.abort()"
    )
    found = machine.check()
    good, bad = Verdict.PASSED, (Verdict.FAILED, Verdict.CRASHED)
    assert _verdicts(found) == {
        "cpu": good,
        "cuda:0": good,
        "cuda:1": bad[0],
        "cuda:2": bad[1],
        "cuda:3": good,
    }
    assert found["leaning", "0"].data["peers"] == "cuda:0,cuda:3"
    assert machine.started().count("cuda:2") == 2, "a crash in a fork may be the fork's doing"


def test_a_device_that_hangs_costs_its_bound_once(tmp_path: Path) -> None:
    machine, began = Machine(tmp_path, two="time.sleep(600)"), time.monotonic()
    found = machine.check(timeout=6)
    assert found["torch-runtime", "cuda:2"].verdict is Verdict.TIMED_OUT
    assert "signal" not in found["torch-runtime", "cuda:2"].reason
    assert found["torch-runtime", "cuda:2"].signal is None
    assert [found["torch-runtime", f"cuda:{index}"].verdict for index in (0, 1, 3)] == [
        Verdict.PASSED
    ] * 3
    assert machine.started().count("cuda:2") == 1
    assert time.monotonic() - began < 120


def test_a_search_that_hangs_is_tried_in_both_ways_within_one_bound(tmp_path: Path) -> None:
    machine, began = Machine(tmp_path, look="act('cuda'); time.sleep(600)"), time.monotonic()
    found = machine.check(timeout=6)
    assert found["torch-runtime", "cuda"].verdict is Verdict.TIMED_OUT
    assert machine.started() == ["cpu", "cuda", "cuda"]
    assert found["leaning", "0"].data["peers"] == ""
    assert time.monotonic() - began < 120


@pytest.mark.parametrize(
    "end", ["os.abort()", "fail('Cannot re-initialize CUDA in forked subprocess')"]
)
def test_what_the_first_fork_may_have_done_is_tried_again_without_one(
    tmp_path: Path, end: str
) -> None:
    machine = Machine(tmp_path, first=f"{end} if 'FORK_SERVER' in globals() else None")
    found = machine.check()
    assert set(_verdicts(found).values()) == {Verdict.PASSED}
    assert found["leaning", "0"].data["forked"] is False


def test_where_no_fork_reaches_a_device_the_checks_are_not_forked_either(tmp_path: Path) -> None:
    machine = Machine(tmp_path, look="os.abort() if forked else None")
    found = machine.check()
    assert set(_verdicts(found).values()) == {Verdict.PASSED}
    assert [found["leaning", str(place)].data["forked"] for place in range(5)] == [
        True,
        False,
        False,
        False,
        False,
    ]


def _import_fact(seen: Any) -> object:
    return seen.facts["torch.imports"].value


def test_an_import_that_dies_ends_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    text = machine.checks[0].path.read_text(encoding="utf-8")
    machine.checks[0].path.write_text(
        text.replace("asked = os", "os.abort(); asked = os", 1), encoding="utf-8"
    )
    found = machine.check()
    assert _verdicts(found) == {None: Verdict.CRASHED}
    assert _import_fact(machine.seen) is False


def test_devices_without_number_are_bounded_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alive, "MOST_DEVICES", 3)
    many = (
        'tell(cuda_available=True, cuda_devices=[{"index": index} for index in [0, 0, '
        "*range(3000)]]); sys.exit()"
    )
    machine = Machine(tmp_path, look=many)
    machine.check()
    assert sorted(device for device in machine.started() if ":" in device) == [
        "cuda:0",
        "cuda:1",
        "cuda:2",
    ]
    left = [outcome for outcome in machine.seen.outcomes if outcome.verdict is Verdict.SKIPPED]
    assert [outcome.reason for outcome in left] == [
        "2997 further devices were left out: doctor examines 3 of one machine"
    ]
