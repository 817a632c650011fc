"""What members of the stack ask of each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.judge.match.requirements import unmet_requirements
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import requirements
from tests.hosts import facts_of, values
from tests.sites import NOW, install, requires, seen_at, seen_of


def _facts(prefix: Path) -> dict[str, Fact]:
    facts = facts_of(requirements.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return facts


def test_a_requirement_that_is_met_and_one_that_is_not(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.13.0", *requires("triton==3.7.1", "numpy>=2", "requests==1"))
    install(tmp_path, "triton", "3.1.0", installer="pip", at=NOW + 3600)
    install(tmp_path, "numpy", "2.4.0")
    facts = _facts(tmp_path)
    seen = values(facts)
    assert seen["requires.torch.triton.met"] is False
    assert seen["requires.torch.triton.specifier"] == "==3.7.1"
    assert seen["requires.torch.triton.installed"] == "3.1.0"
    assert seen["requires.torch.triton.moved"] == {
        "package": "triton",
        "at": "2027-01-15T09:00:00Z",
        "installer": "pip",
        "later_than": "2027-01-15T08:00:00Z",
    }
    assert seen["requires.torch.numpy.met"] is True
    assert "requires.torch.numpy.moved" not in facts
    assert seen["requires.torch.requests.met"] is False


def test_what_lies_beside_the_stack_is_told_where_it_is_not_met(tmp_path: Path) -> None:
    install(tmp_path, "pandas", "3.0.0", *requires("numpy>=2.0.2", "python-dateutil>=2.8"))
    install(tmp_path, "python-dateutil", "2.9")
    install(tmp_path, "numpy", "1.26.4")
    install(tmp_path, "jupyter", "1.0", *requires("numpy>=2", "notebook"))
    seen = values(_facts(tmp_path))
    assert {name for name in seen if name.endswith(".met")} == {"requires.pandas.numpy.met"}


def test_the_one_that_asks_may_be_the_one_that_came_later(tmp_path: Path) -> None:
    install(tmp_path, "torchvision", "0.19.1", *requires("torch==2.4.1"), at=NOW + 60)
    install(tmp_path, "torch", "2.13.0")
    moved = values(_facts(tmp_path))["requires.torchvision.torch.moved"]
    assert isinstance(moved, dict)
    assert moved["package"] == "torchvision"


def test_nothing_moved_where_both_came_at_once(tmp_path: Path) -> None:
    install(tmp_path, "torchvision", "0.19.1", *requires("torch==2.4.1"))
    install(tmp_path, "torch", "2.13.0", at=NOW + 0.4)
    assert _facts(tmp_path)["requires.torchvision.torch.moved"].state is State.ABSENT


def test_what_comes_from_an_address_is_asked_for_there(tmp_path: Path) -> None:
    address = "git+https://example.org/b.git@v1"
    install(tmp_path, "torch", "2.13.0", *requires(f"b @ {address}", "c @ https://d/{e}"))
    seen = values(_facts(tmp_path))
    assert seen["requires.torch.b.met"] is False
    assert seen["requires.torch.b.specifier"] == f"@ {address}"
    assert not [name for name in seen if name.startswith("requires.torch.c")]
    (finding,) = unmet_requirements(_facts(tmp_path), frozenset(), "torch")
    assert [recipe.steps[0].install for recipe in finding.recipes] == [(f"b@ {address}",)]


def test_what_is_not_installed_is_not_met(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.13.0", *requires("triton==3.7.1"))
    facts = _facts(tmp_path)
    assert facts["requires.torch.triton.met"].value is False
    assert facts["requires.torch.triton.installed"].state is State.ABSENT
    assert "requires.torch.triton.moved" not in facts


@pytest.mark.parametrize(
    ("installed", "specifier", "met"),
    [
        ("2.4.1+cu121", "==2.4.1", True),
        ("2.4.1+cu121", "==2.4.1+cu118", False),
        ("2.13.0", "==2.13", True),
        ("2.5.0a0+nv24.08", ">=2.4", True),
        ("2.5.0a0+nv24.08", ">=2.5", None),
        ("2.5.0a0+nv24.08", ">=2.6", False),
        ("main", ">=2.4", None),
    ],
)
def test_builds_and_pre_releases(
    tmp_path: Path, installed: str, specifier: str, met: bool | None
) -> None:
    install(tmp_path, "xformers", "0.1", *requires(f"torch{specifier}"))
    install(tmp_path, "torch", installed)
    fact = _facts(tmp_path)["requires.xformers.torch.met"]
    assert (fact.value, fact.state is State.UNKNOWN) == (met, met is None)


def test_an_extra_counts_where_a_member_asks_for_it(tmp_path: Path) -> None:
    pins = requires(
        "nvidia-cublas==13.1.*; extra == 'cublas'", "nvidia-cufft==12.0.*; extra == 'cufft'"
    )
    install(tmp_path, "torch", "2.13.0", *requires("cuda-toolkit[cublas]==13.0.3"))
    install(tmp_path, "cuda-toolkit", "13.0.3.0", *pins)
    install(tmp_path, "nvidia-cublas", "13.0.2.14")
    install(tmp_path, "nvidia-cufft", "11.0")
    seen = values(_facts(tmp_path))
    assert seen["requires.torch.cuda-toolkit.met"] is True
    assert seen["requires.cuda-toolkit.nvidia-cublas.met"] is False
    assert "requires.cuda-toolkit.nvidia-cufft.met" not in seen


def test_two_lines_for_one_package_must_both_be_met(tmp_path: Path) -> None:
    install(tmp_path, "transformers", "4.0", *requires("numpy>=1.17", "numpy<2"))
    install(tmp_path, "numpy", "2.1.0")
    seen = values(_facts(tmp_path))
    assert seen["requires.transformers.numpy.met"] is False
    assert seen["requires.transformers.numpy.specifier"] == ">=1.17,<2"


def test_another_distribution_may_bring_the_module(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.8.0", *requires("triton>=3.4"))
    install(tmp_path, "pytorch-triton", "3.4.0")
    assert values(_facts(tmp_path))["requires.torch.triton.met"] is True


def test_what_cannot_be_told_is_unknown(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.8.0", *requires("nvidia-cublas-cu12==12.1"), installer="conda")
    install(tmp_path, "torchvision", "0.23", *requires("torch @ https://example.org/torch.whl"))
    facts = _facts(tmp_path)
    assert facts["requires.torch.nvidia-cublas-cu12.met"].state is State.UNKNOWN
    assert facts["requires.torchvision.torch.met"].state is State.UNKNOWN


@pytest.mark.patient
def test_a_real_environment_is_in_order(torch_python: Path) -> None:
    seen = values(facts_of(requirements.probe(seen_of(torch_python))))
    met = {name: value for name, value in seen.items() if name.endswith(".met")}
    assert met["requires.torch.triton.met"] is True
    assert met["requires.cuda-toolkit.nvidia-cublas.met"] is True
    assert all(met.values())
