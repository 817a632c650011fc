"""A probe that raises or hangs costs its own facts, and no other's."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from types import ModuleType

import pytest

import doctor.observe.probes
from doctor.host import Host
from doctor.model.facts import FactStream, present
from doctor.model.observation import ProbeFailure
from doctor.observe.run_probes import probes, run_probes
from doctor.observe.scene import ProbeInput

SCENE = ProbeInput(host=Host(env={}))


def module(
    name: str, *, hang: float = 0, fail: bool = False, waits: bool = False, bound: float = 0.3
) -> ModuleType:
    """Make a probe module that gives one fact, and then hangs, fails or gives a second one."""

    def probe(_scene: ProbeInput) -> FactStream:
        yield f"{name}.first", present(1, name)
        time.sleep(hang)
        if fail:
            raise RuntimeError("broke")
        yield f"{name}.second", present(2, name)

    made = ModuleType(f"probes.{name}")
    made.probe = probe  # type: ignore[attr-defined]
    made.WAITS = waits  # type: ignore[attr-defined]
    made.BOUND = bound  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("entry", probes(), ids=lambda module: module.__name__)
def test_each_entry_of_the_folder_is_a_probe(entry: ModuleType) -> None:
    scene, *options = inspect.signature(entry.probe).parameters.values()
    assert scene.name == "scene"
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in options)
    assert 0 < getattr(entry, "BOUND", 20) <= 120
    assert getattr(entry, "WAITS", False) in (False, True)


def test_helpers_live_inside_packages() -> None:
    folder = Path(doctor.observe.probes.__file__ or "").parent
    names = {path.stem for path in folder.iterdir() if path.stem[:2] != "__"}
    assert names == {module.__name__.rpartition(".")[2] for module in probes()}


@pytest.mark.parametrize("waits", [False, True])
def test_one_that_hangs_is_left_behind(waits: bool) -> None:
    started = time.monotonic()
    facts, failures = run_probes(
        SCENE,
        [
            module("a"),
            module("b", hang=30, waits=waits),
            module("c", hang=30, waits=waits),
            module("d"),
        ],
    )
    assert sorted(facts) == ["a.first", "a.second", "b.first", "c.first", "d.first", "d.second"]
    assert [failure.probe for failure in failures] == ["b", "c"]
    assert failures[0].why.startswith("gave no answer within")
    assert time.monotonic() - started < 25


@pytest.mark.parametrize("waits", [False, True])
def test_one_that_fails_keeps_what_it_gave(waits: bool) -> None:
    facts, failures = run_probes(SCENE, [module("a", fail=True, waits=waits), module("b")])
    assert sorted(facts) == ["a.first", "b.first", "b.second"]
    assert failures == (ProbeFailure(probe="a", why="RuntimeError: broke"),)


def test_one_that_was_left_behind_and_comes_back_says_nothing_twice() -> None:
    facts, failures = run_probes(
        SCENE,
        [module("a", hang=0.5), *(module(f"b{number}", hang=0.1, bound=60) for number in range(5))],
    )
    assert [failure.probe for failure in failures] == ["a"]
    assert len(facts) == 11
