"""Compiled packages that cannot load: told once, where nothing better explains it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.judge.match import diagnose
from doctor.model.facts import present
from doctor.model.findings import Detection
from doctor.model.issues import Affected, Option, Proof
from doctor.model.observation import Observation
from doctor.model.outcomes import Outcome
from doctor.model.scales import Severity
from tests import toy

GONE = {
    "torch.version": "2.13.0",
    "extension.scan.undefined_symbols": ["_ZN3c103oldEv", "_ZN2at3oldEv"],
    "extension.scan.undefined_means": "torch",
}
CATALOG = toy.catalog(torch__wrong_sum=toy.issue())


def _findings(observation: Observation) -> dict[str, Detection]:
    return {found.id: found for found in diagnose(observation, CATALOG).findings}


def _loaded(failed: dict[str, str], **cases: str) -> Outcome:
    verdict = "failed" if failed else "passed"
    return msgspec.structs.replace(
        toy.outcome(verdict, device=None, check="extension-imports", **cases),
        data={"failed": failed},
    )


@pytest.mark.parametrize(
    ("facts", "title"),
    [
        (GONE, "scan was built for another torch than 2.13.0"),
        (
            {**GONE, "extension.scan.undefined_means": "cxx11-abi"},
            "scan was built with the other C++ ABI than torch 2.13.0",
        ),
        (
            {**GONE, "extension.scan.built_for": "torch 2.3.0 to 2.7.1"},
            "scan was built for torch 2.3.0 to 2.7.1; torch 2.13.0 is installed",
        ),
        (
            {"extension.scan.missing_libraries": ["libcudart.so.12"]},
            "scan was built for another CUDA or torch: libcudart.so.12 is not here",
        ),
        (
            {"extension.scan.system_versions": ["GLIBC_2.32"]},
            "scan was compiled for a newer system: it needs GLIBC_2.32",
        ),
        (
            {"extension.scan.unsupported_gpus": ["12.0"]},
            "scan holds no code for a GPU of compute capability 12.0",
        ),
    ],
)
def test_each_fault_has_its_words_and_a_way_out(facts: dict[str, Any], title: str) -> None:
    found = _findings(toy.seen(facts))["extension/scan"]
    assert (found.title, found.severity) == (title, Severity.WARNING)
    assert found.recipes


def test_the_evidence_names_file_and_symbol() -> None:
    observation = toy.seen(GONE)
    fact = present(
        ["_ZN3c103oldEv", "_ZN2at3oldEv"], "/venv/lib/python3.11/site-packages/scan/_C.so"
    )
    named = msgspec.structs.replace(
        observation, facts={**observation.facts, "extension.scan.undefined_symbols": fact}
    )
    (evidence,) = _findings(named)["extension/scan"].evidence
    assert evidence.text == (
        "_C.so asks for the symbol _ZN3c103oldEv (and 1 more), which what is installed "
        "does not define"
    )
    assert evidence.source == "/venv/lib/python3.11/site-packages/scan/_C.so"


def test_a_module_that_programs_import_is_an_error() -> None:
    fact = present(
        ["_ZN3c103oldEv"],
        "/venv/lib/python3.11/site-packages/selective_scan_cuda.cpython-311-x86_64-linux-gnu.so",
    )
    observation = msgspec.structs.replace(
        toy.seen({}), facts={"extension.scan.undefined_symbols": fact}
    )
    assert _findings(observation)["extension/scan"].severity is Severity.ERROR


def test_a_package_that_did_not_load_is_an_error_and_the_check_is_explained() -> None:
    found = _findings(toy.seen(GONE, _loaded({"scan": "undefined symbol"}, others="failed")))
    assert set(found) == {"extension/scan"}
    assert found["extension/scan"].severity is Severity.ERROR


def test_a_check_that_also_speaks_of_others_is_told_as_well() -> None:
    found = _findings(
        toy.seen(
            GONE, _loaded({"scan": "undefined symbol", "other": "died of SIGSEGV"}, others="failed")
        )
    )
    assert set(found) == {"extension/scan", "canary/extension-imports"}


def test_what_is_in_order_is_not_spoken_of() -> None:
    assert not _findings(
        toy.seen(
            {
                "torch.version": "2.13.0",
                "extension.scan.archs": ["sm_90"],
                "extension.scan.undefined_symbols": None,
            }
        )
    )


def test_a_wish_for_another_torch_is_told_in_the_same_breath() -> None:
    wish = {
        "requires.scan.torch.met": False,
        "requires.scan.torch.specifier": "==2.5.1",
        "requires.scan.torch.installed": "2.13.0",
    }
    found = _findings(toy.seen({**GONE, **wish}))
    assert set(found) == {"extension/scan"}
    keep, give = (one.steps[0] for one in found["extension/scan"].recipes[:2])
    assert (keep.install, keep.options) == (("scan",), (Option.UPGRADE, Option.HOLD_TORCH))
    assert (give.install, give.companions) == (
        ("torch==2.5.1",),
        ("torchvision", "torchaudio", "xformers"),
    )


def test_a_package_that_stays_beside_torch_never_goes_back() -> None:
    wish = {
        "requires.scan.torch.met": False,
        "requires.scan.torch.specifier": "==2.5.1",
        "package.scan.version": "0.8.5+cu124",
    }
    moved_on = _findings(
        toy.seen({**GONE, **wish, "requires.scan.torch.installed": "2.13.0+cu130"})
    )
    assert moved_on["extension/scan"].recipes[0].steps[0].install == ("scan>=0.8.5",)
    moved_back = _findings(toy.seen({**GONE, **wish, "requires.scan.torch.installed": "2.4.0"}))
    assert moved_back["extension/scan"].recipes[0].steps[0].install == ("torch==2.5.1",)


def test_a_package_for_another_cuda_gives_way_to_the_one_of_another_name() -> None:
    gone = {
        "extension.cupy-cuda12x.missing_libraries": ["libcublas.so.12"],
        "torch.cuda_major": "13",
    }
    recipe = _findings(toy.seen(gone))["extension/cupy-cuda12x"].recipes[0]
    assert (recipe.steps[0].uninstall, recipe.steps[1].install) == (
        ("cupy-cuda12x",),
        ("cupy-cuda13x",),
    )


def test_a_known_issue_speaks_for_the_package() -> None:
    row = Affected(when=(toy.condition("extension.scan.undefined_symbols", present=True),))
    known = toy.issue(
        certain=True,
        affected=(row,),
        signatures=(),
        proofs=(Proof(check="extension-imports", case="others"),),
    )
    found = diagnose(
        toy.seen(GONE, _loaded({"scan": "undefined symbol"}, others="failed")),
        toy.catalog(scan__built_for_other_torch=known),
    ).findings
    assert [one.id for one in found] == ["scan/built-for-other-torch"]


@pytest.mark.parametrize("value", ["text", {"a": 1}, 5, [[]], [None], True])
@pytest.mark.parametrize(
    "kind", ["undefined_symbols", "missing_libraries", "system_versions", "unsupported_gpus"]
)
def test_odd_values_of_a_foreign_snapshot_harm_nobody(kind: str, value: object) -> None:
    assert "extension/scan" in _findings(
        toy.seen({f"extension.scan.{kind}": value, "extension.scan.undefined_means": value})
    )


@pytest.mark.parametrize(
    ("releases", "title"),
    [
        ("torch 2.14.0 to 2.14.1", "Move torch to 2.14.1, which scan was built for"),
        ("torch 2.14.0 or later", "Move torch to 2.14.0, which scan was built for"),
        ("torch 2.3.0 to 2.7.1", "Take a newer scan, and leave torch where it is"),
        ("torch 2.6.0 or earlier", "Take a newer scan, and leave torch where it is"),
        ("cudart 13.2 or later", "Take a newer scan, and leave torch where it is"),
    ],
)
def test_a_package_for_a_newer_torch_asks_for_that_torch(releases: str, title: str) -> None:
    found = _findings(toy.seen({**GONE, "extension.scan.built_for": releases}))["extension/scan"]
    assert found.recipes[0].title == title


def test_what_defines_the_symbols_is_evidence() -> None:
    facts = {**GONE, "extension.scan.built_for": "torch 2.3.0 to 2.7.1"}
    evidence = _findings(toy.seen(facts))["extension/scan"].evidence
    assert evidence[-1].text == "torch 2.3.0 to 2.7.1 defines every symbol that it asks for"
