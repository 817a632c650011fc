"""The coordinator answers for each node once, within its time, and keeps what arrived."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from doctor.base.errors import DoctorError, UsageError
from doctor.fleet import run, settings, wire
from doctor.fleet.engine import Job
from doctor.fleet.settings import open_engine
from doctor.host import Host
from doctor.model.fleet import NodeAnswer, NodeState
from tests.fleet.reports import answered, report


class LocalEngine:
    """An engine whose nodes are functions of this process."""

    name = "local"

    def __init__(
        self, nodes: Sequence[str], act: Callable[[Job, str], Iterator[NodeAnswer]]
    ) -> None:
        self._nodes, self._act = tuple(nodes), act
        self.placed: list[str] = []
        self.cancelled = threading.Event()

    def nodes(self) -> tuple[str, ...]:
        return self._nodes

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        for node in nodes:
            self.placed.append(node)
            yield from self._act(job, node)

    def cancel(self) -> None:
        self.cancelled.set()

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        return (("drain", *nodes, reason),)


def _plan(spool: Path | None = None, seconds: float = 5.0) -> run.Plan:
    return run.Plan(
        options=("--no-canaries",),
        python="python3",
        archive=None,
        timeout=seconds,
        start_timeout=0.1,
        spool=spool,
    )


def _collected(engine: LocalEngine, plan: run.Plan) -> dict[str, NodeAnswer]:
    found = list(run.collect(engine, plan, lambda _done, _total, _failed: None))
    assert len({answer.name for answer in found}) == len(found)
    return {answer.name: answer for answer in found}


def _equal(_job: Job, node: str) -> Iterator[NodeAnswer]:
    yield answered(node, wire.compress(report()))


def test_a_node_that_nobody_speaks_of_is_silent() -> None:
    def act(job: Job, node: str) -> Iterator[NodeAnswer]:
        if node != "n2":
            yield from _equal(job, node)
            yield from _equal(job, node)  # twice
            yield from _equal(job, "stranger")

    found = _collected(LocalEngine(["n1", "n2", "n3"], act), _plan())
    assert {name: answer.state.value for name, answer in found.items()} == {
        "n1": "answered",
        "n2": "silent",
        "n3": "answered",
    }


def test_an_engine_that_hangs_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_GRACE_SECONDS", 0.2)

    def act(job: Job, node: str) -> Iterator[NodeAnswer]:
        if node == "n1":
            yield from _equal(job, node)
        else:
            engine.cancelled.wait(20)

    engine = LocalEngine(["n1", "n2"], act)
    begun = time.monotonic()
    found = _collected(engine, _plan(seconds=0.2))
    assert found["n1"].state is NodeState.ANSWERED
    assert found["n2"].state is NodeState.SILENT
    assert engine.cancelled.is_set()
    assert time.monotonic() - begun < 15  # the other node hangs for 20


def test_what_arrived_is_not_asked_again(tmp_path: Path) -> None:
    def dies(job: Job, node: str) -> Iterator[NodeAnswer]:
        if node == "n3":
            raise DoctorError("the scheduler went")
        if node == "n2":
            yield NodeAnswer(name=node, state=NodeState.LOST)
        else:
            yield from _equal(job, node)

    spool = tmp_path / "spool"
    with pytest.raises(DoctorError, match="the scheduler went"):
        _collected(LocalEngine(["n1", "n2", "n3"], dies), _plan(spool))
    assert [path.name for path in spool.iterdir()] == ["n1.packet"]
    (spool / "n9.packet").write_bytes(b"of no node of this run")
    engine = LocalEngine(["n1", "n2", "n3"], _equal)
    found = _collected(engine, _plan(spool))
    assert engine.placed == ["n2", "n3"]
    assert {answer.state for answer in found.values()} == {NodeState.ANSWERED}


def test_an_interrupt_names_the_nodes_that_did_not_answer() -> None:
    def act(job: Job, node: str) -> Iterator[NodeAnswer]:
        if node == "n2":
            raise KeyboardInterrupt
        yield from _equal(job, node)

    found: list[NodeAnswer] = []
    answers = run.collect(LocalEngine(["n1", "n2"], act), _plan(), lambda _a, _b, _c: None)
    with pytest.raises(KeyboardInterrupt):
        found.extend(answers)
    assert [(answer.name, answer.state.value) for answer in found] == [
        ("n1", "answered"),
        ("n2", "lost"),
    ]


def test_the_job_of_a_node_holds_the_options_behind_two_dashes() -> None:
    job = run.job_of(_plan())
    assert job.arguments[-2:] == ("--", "--no-canaries")
    assert job.command("/tmp/x.pyz")[:2] == ("python3", "/tmp/x.pyz")
    assert job.command()[:3] == ("python3", "-m", "doctor")


def test_an_unknown_setting_names_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.ENGINES, "slurm", f"{__name__}:Settings")
    with pytest.raises(UsageError, match="slurm has the settings grace, options, partition"):
        open_engine("slurm", Host(), "", ["nonsense=1"])
    with pytest.raises(UsageError, match="a number is wanted"):
        open_engine("slurm", Host(), "", ["grace=soon"])
    made = open_engine("slurm", Host(), "4", ["grace=3", "options=--a", "options=--b=1"])
    assert vars(made) == {"nodes": "4", "partition": "", "options": ("--a", "--b=1"), "grace": 3.0}


class Settings:
    """The signature of an engine."""

    def __init__(
        self,
        _host: Host,
        *,
        nodes: str = "",
        partition: str = "",
        options: Sequence[str] = (),
        grace: float = 30.0,
    ) -> None:
        self.nodes, self.partition, self.options, self.grace = nodes, partition, options, grace
