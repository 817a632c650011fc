"""A package that does not import is named, with what fails with it, and only once."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.issues import Action, Option, Proof, Recipe, Signature
from doctor.model.outcomes import Case, Outcome, Verdict
from tests import toy

VISION = "RuntimeError: operator torchvision::nms does not exist (raised in torch)"
WRAPPED = (
    "RuntimeError: Failed to import transformers because of: operator torchvision::nms does "
    "not exist (raised in torch)"
)
PANDAS = "ImportError: C extension: None not built (raised in pandas)"


def _tried(**failed: str) -> Outcome:
    cases = {name: Case(verdict=Verdict.FAILED, reason=reason) for name, reason in failed.items()}
    outcome = toy.outcome("failed", device=None, check="module-imports")
    return msgspec.structs.replace(
        outcome,
        cases={"numpy": Case(verdict=Verdict.PASSED), **cases},
        reason="; ".join(failed.values()),
    )


def _found(outcome: Outcome, facts: dict[str, Any] | None = None, **issues: Any) -> dict[str, Any]:
    seen = toy.seen(facts or {}, outcome)
    return {one.id: one for one in diagnose(seen, toy.catalog(**issues)).findings}


def test_what_fails_with_another_is_told_with_it() -> None:
    found = _found(_tried(torchvision=VISION, transformers=WRAPPED, pandas=PANDAS))
    assert set(found) == {"import/torchvision", "import/pandas"}
    assert "transformers fails with it" in found["import/torchvision"].message
    assert (
        found["import/pandas"].title
        == "pandas does not import: ImportError: C extension: None not built"
    )


def test_a_known_issue_speaks_for_what_fails_with_its_text() -> None:
    known = toy.issue(
        signatures=(Signature(pattern="operator torchvision::nms does not exist"),),
        affected=(),
        proofs=(),
    )
    found = _found(_tried(torchvision=VISION, transformers=WRAPPED), torchvision__other=known)
    assert set(found) == {"torchvision/other"}


def test_a_known_issue_that_names_the_case_speaks_for_it() -> None:
    proof = Proof(check="module-imports", case="torchvision")
    known = toy.issue(certain=True, signatures=(), proofs=(proof,), affected=toy.issue().affected)
    found = _found(
        _tried(torchvision=VISION), {"torch.version": "1.13.1"}, torchvision__other=known
    )
    assert set(found) == {"torchvision/other"}


def test_an_issue_that_cannot_name_the_package_is_told_with_the_package() -> None:
    said = (
        "ImportError: cannot import name 'FLAX_WEIGHTS_NAME' from 'transformers' (raised in "
        "diffusers)"
    )
    known = toy.issue(
        signatures=(
            Signature(pattern="cannot import name 'FLAX_WEIGHTS_NAME' from 'transformers'"),
        ),
        affected=(),
        proofs=(),
        fixes=(
            Recipe(
                title="Take a newer program",
                steps=(Action(install=("<package>",), options=(Option.UPGRADE,)),),
            ),
            Recipe(title="Go back", steps=(Action(install=("transformers<5",)),)),
        ),
    )
    found = _found(
        _tried(diffusers=said), {"package.diffusers.version": "0.31.0"}, transformers__gone=known
    )
    assert list(found) == ["import/diffusers"]
    (one,) = found.values()
    assert "(transformers/gone)" in one.message
    assert [step.install for recipe in one.recipes for step in recipe.steps][:2] == [
        ("diffusers>=0.31.0",),
        ("transformers<5",),
    ]


def test_what_a_package_asks_for_in_vain_is_part_of_the_story() -> None:
    wish = {
        "requires.pandas.numpy.met": False,
        "requires.pandas.numpy.specifier": ">=2.0.2",
        "requires.pandas.numpy.installed": "1.26.4",
    }
    found = _found(_tried(pandas=PANDAS), wish)
    assert set(found) == {"import/pandas"}
    assert found["import/pandas"].recipes[0].steps[0].install == ("numpy>=2.0.2",)


def test_what_wants_a_gpu_is_folded_under_the_gpu_that_is_not_reached() -> None:
    said = _tried(vllm="RuntimeError: Failed to infer device type (raised in vllm)", pandas=PANDAS)
    said = msgspec.structs.replace(said, data={"want_gpu": ["vllm"]})
    card = [{"index": 0, "name": "NVIDIA H100", "uuid": "GPU-0", "pci_bus_id": "0000:41:00.0"}]
    built = {
        "torch.build": "cuda",
        "nvidia.gpus": card,
        "nvidia.visible": card,
        "torch.devices": ["cpu"],
    }
    skipped = toy.outcome("skipped", check="torch-runtime", device="cuda")

    def found(**changes: Any) -> set[str]:
        seen = toy.seen(
            built | {name.replace("__", "."): value for name, value in changes.items()},
            said,
            skipped,
        )
        derived = msgspec.structs.replace(seen, facts=derive(seen.facts, toy.catalog()))
        return {one.id for one in diagnose(derived, toy.catalog()).findings}

    assert found(torch__cuda_available=False, torch__cuda_error="initialization error") == {
        "reach/cuda",
        "import/pandas",
    }
    assert found(
        torch__cuda_available=True, torch__cuda_devices=card, torch__devices=["cpu", "cuda:0"]
    ) == {"import/vllm", "import/pandas"}
