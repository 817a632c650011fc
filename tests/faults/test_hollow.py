"""A framework with half its files is reported as that, and a check that died passed nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doctor.catalog.check_headers import read_check
from doctor.host import CompletedCommand, Host, Termination
from doctor.host.scratch import Scratch
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.watching import Watcher
from doctor.observe.runner import Line, Plan, units
from doctor.observe.runner.verdicts import judged
from tests.checks.trial import SCRIPTS
from tests.command import Said, check
from tests.environments import UnavailableError, interpreter, make, site_packages
from tests.faults.standins import package
from tests.workspaces import write

_INFO = "torch-2.13.0.dist-info"


@pytest.fixture(
    params=[
        "no __init__.py",
        "an empty __init__.py",
        "version.py alone, unknown to installers",
        "no RECORD",
        "no _C",
    ]
)
def hollow(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The interpreter of an environment with half a torch."""
    try:
        make(tmp_path / "patient", ())
    except UnavailableError as error:
        pytest.skip(str(error))
    python = interpreter(tmp_path / "patient")
    site = site_packages(python)
    package(python, "torch", "2.13.0", "from torch._C import *")
    init, record = site / "torch/__init__.py", site / _INFO / "RECORD"
    record.write_text("torch/__init__.py,,22\n", encoding="utf-8")
    match request.param:
        case "no __init__.py":
            init.unlink()
        case "an empty __init__.py":
            init.write_text("", encoding="utf-8")
        case "version.py alone, unknown to installers":
            init.unlink()
            for file in (*(site / _INFO).iterdir(), site / _INFO):
                file.unlink() if file.is_file() else file.rmdir()
        case "no RECORD":
            init.unlink()
            record.unlink()
        case _:
            record.unlink()
    return python


def _told_as_what_it_is(said: Said) -> None:
    assert said.code == 1
    errors = [found for found in said.report["findings"] if found["severity"] == "error"]
    (first, *_) = [
        found
        for found in errors
        if found["id"] in ("python/module-gone", "torch/interrupted-install")
    ]
    commands = [command for fix in first["fixes"] for command in fix["commands"]]
    assert [
        command for command in commands if "install" in command and "torch==2.13.0" in command
    ], commands


def test_the_static_check_tells_half_a_torch_as_that(hollow: Path, tmp_path: Path) -> None:
    _told_as_what_it_is(check("--no-canaries", "--python", hollow, cwd=tmp_path))


def test_no_check_passes_with_half_a_torch(hollow: Path, tmp_path: Path) -> None:
    said = check("--python", hollow, "--skip", "*candle*", cwd=tmp_path)
    _told_as_what_it_is(said)
    verdicts = {outcome["id"]: outcome["verdict"] for outcome in said.report["outcomes"]}
    assert not {"passed", "broken"} & set(verdicts.values()), verdicts
    if verdicts["torch-runtime"] != "skipped":
        assert verdicts["torch-runtime"] == "failed"


_IMPORTED = '{"contract": 1, "results": [{"device": null, "verdict": "passed"}], "doing": %s}'
_DOING = '{"device": null, "case": "", "act": false}'


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (Termination.ITSELF, 1),
        (Termination.ITSELF, 0),
        (Termination.ITSELF, -11),
        (Termination.TIMEOUT, -9),
        (Termination.MEMORY, -9),
    ],
)
def test_what_was_passed_on_the_way_is_no_pass(
    tmp_path: Path, ended: Termination, code: int
) -> None:
    result, base = (
        tmp_path / "result.json",
        Outcome(id="a-check", target="interpreter", verdict=Verdict.BROKEN),
    )
    result.write_text(_IMPORTED % _DOING, encoding="utf-8")
    (outcome,) = judged(base, CompletedCommand(ended=ended, code=code), result, 60).outcomes
    assert outcome.verdict in (Verdict.BROKEN, *RED)
    result.write_text(_IMPORTED % "null", encoding="utf-8")
    (outcome,) = judged(
        base, CompletedCommand(ended=Termination.ITSELF, code=0), result, 60
    ).outcomes
    assert outcome.verdict is Verdict.PASSED


_YES = '''
import os, sys
STEPS = 0
class Yes:
    """Agrees to everything, and ends at a step."""
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        step()
        return self
    def __call__(self, *given, **named):
        step()
        return self
    def __iter__(self): return iter(())
    def __bool__(self): return True
    def __len__(self): return 0
    def __index__(self): return 1
    def __float__(self): return 0.0
    def __enter__(self): return self
    def __exit__(self, *how): return False
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __getitem__(self, key): return self
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __getitem__
    def __neg__(self): return self
    __abs__ = __invert__ = __neg__
def step():
    global STEPS
    STEPS += 1
    if STEPS == {last}: {end}
YES = Yes()
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    step()
    return YES
'''  # noqa: E501
_ENDS = {
    "exit": "os._exit(0)",
    "leaves": "sys.exit()",
    "error": "raise AttributeError('half of it is gone')",
    "crash": "os.abort()",
}
_LEANING = {
    read.id: read
    for read in map(read_check, SCRIPTS)
    if set(read.header.needs) & {"torch", "jax", "onnxruntime"}
}


@pytest.mark.parametrize("name", _LEANING)
@pytest.mark.parametrize("end", _ENDS)
def test_a_check_that_dies_at_any_step_has_not_passed(tmp_path: Path, name: str, end: str) -> None:
    one, plans = _LEANING[name], {}
    for last in (1, 4, 16):
        folder = tmp_path / str(last)
        body = _YES.replace("{last}", str(last)).replace("{end}", _ENDS[end])
        for framework in one.header.needs:
            write(folder, {f"{framework}/__init__.py": body})
        plans[last] = Plan(
            command=(sys.executable,),
            target=str(last),
            host=Host(env={**os.environ, "PYTHONPATH": str(folder)}),
            devices=("cpu",),
            timeout=30,
        )
    with Scratch() as scratch:
        scratch.forks = False
        line = Line(scratch, Watcher())
        for plan in plans.values():
            line.add(units(one, plan))
        outcomes = [outcome for _, batch in line for outcome in batch.outcomes]
    assert {outcome.target for outcome in outcomes} == {"1", "4", "16"}
    assert [outcome for outcome in outcomes if outcome.verdict is Verdict.PASSED] == []


def test_the_sweep_covers_what_leans_on_a_framework() -> None:
    assert {
        "torch-runtime",
        "cross-device-add",
        "inductor-compile",
        "jax-devices",
        "onnxruntime-devices",
    } <= set(_LEANING)
