"""triton, whichever distribution brought it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import triton
from tests.hosts import facts_of, put, script, values
from tests.sites import install, seen_at, seen_of, site_of

_SAYS = "echo 'Cuda compilation tools, release 12.8, V12.8.93'"


def _facts(prefix: Path, **env: str) -> dict[str, Fact]:
    facts = facts_of(triton.probe(seen_at(prefix, env=env)))
    assert not [name for name in facts if not is_known(name)]
    return facts


def test_no_triton(tmp_path: Path) -> None:
    assert {fact.state for fact in _facts(tmp_path).values()} == {State.ABSENT}


def test_triton_and_its_ptxas(tmp_path: Path) -> None:
    install(
        tmp_path,
        "pytorch-triton",
        "3.7.1+git",
        files={"triton/__init__.py": "'''doc'''\n__version__ = '3.7.1'\n"},
    )
    ptxas = script(site_of(tmp_path) / "triton/backends/nvidia/bin/ptxas", _SAYS)
    assert values(_facts(tmp_path)) == {
        "triton.distributions": ["pytorch-triton 3.7.1+git"],
        "triton.path": str(site_of(tmp_path) / "triton"),
        "triton.version": "3.7.1",
        "triton.ptxas": str(ptxas),
        "triton.ptxas_version": "12.8.93",
    }


def test_the_environment_may_name_another_ptxas(tmp_path: Path) -> None:
    install(tmp_path, "triton", "3.7.1", files={"triton/__init__.py": "__version__ = '3.7.1'"})
    inside = script(site_of(tmp_path) / "triton/backends/nvidia/bin/ptxas", _SAYS)
    other = script(tmp_path / "other", _SAYS.replace("12.8.93", "13.0.1"))
    named = _facts(tmp_path, TRITON_PTXAS_PATH=str(other))
    assert (named["triton.ptxas"].value, named["triton.ptxas"].source) == (
        str(other),
        "TRITON_PTXAS_PATH",
    )
    assert named["triton.ptxas_version"].value == "13.0.1"
    assert _facts(tmp_path, TRITON_PTXAS_PATH="/gone")["triton.ptxas"].value == str(inside)


@pytest.mark.parametrize("body", ["exit 1", "kill -SEGV $$", "echo no version here"])
def test_a_ptxas_that_gives_no_version(tmp_path: Path, body: str) -> None:
    install(tmp_path, "triton", "3.7.1", files={"triton/__init__.py": "__version__ = '3.7.1'"})
    script(site_of(tmp_path) / "triton/backends/nvidia/bin/ptxas", body)
    assert _facts(tmp_path)["triton.ptxas_version"].state is State.UNKNOWN


@pytest.mark.parametrize("source", ["", "__version__ = 3.7.1", "__version__ = compute()", "\0"])
def test_a_damaged_module(tmp_path: Path, source: str) -> None:
    install(tmp_path, "triton", "3.7.1", files={"triton/__init__.py": source})
    assert _facts(tmp_path)["triton.version"].state is State.UNKNOWN
    assert _facts(tmp_path)["triton.ptxas"].state is State.ABSENT


def test_a_distribution_without_its_module(tmp_path: Path) -> None:
    install(tmp_path, "triton", "3.7.1")
    put(site_of(tmp_path) / "triton/leftover.txt")
    assert _facts(tmp_path)["triton.version"].state is State.UNKNOWN


@pytest.mark.patient
def test_a_real_triton(torch_python: Path) -> None:
    seen = values(facts_of(triton.probe(seen_of(torch_python))))
    assert seen["triton.version"] == "3.7.1"
    assert seen["triton.ptxas_version"] == "12.8.93"
