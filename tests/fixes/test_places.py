"""At which line of the project a finding is shown."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.fixes.locations import location
from doctor.model.facts import Fact, present
from doctor.model.findings import Evidence, EvidenceKind, Finding
from doctor.model.fixes import Command, Fix, Step
from tests.report import reports

_PINS = {"torch": 1, "torchvision": 2, "flash-attn": 3, "triton": 4, "candle-core": 5, "cuda": 6}


def _facts(**more: Any) -> dict[str, Fact]:
    pins = {
        f"manifest.{name}": {"path": "requirements.txt", "line": line}
        for name, line in _PINS.items()
    }
    return {
        name: present(value, "test")
        for name, value in {
            **pins,
            **{key.replace("__", "."): value for key, value in more.items()},
        }.items()
    }


def _finding(id_: str, *argvs: str, seen: tuple[str, ...] = (), **changes: Any) -> Finding:
    fixes = tuple(
        Fix(kind="pin", title="Do it", steps=(Step(command=Command(argv=tuple(argv.split()))),))
        for argv in argvs
    )
    evidence = tuple(Evidence(kind=EvidenceKind.FACT, text=name, fact=name) for name in seen)
    return reports.wrong_torch(id=id_, fixes=fixes, evidence=evidence, **changes)


def _line(found: Finding, **more: Any) -> int | None:
    place = location(found.id, found.fixes, found.evidence, _facts(**more))
    return place.line if place else None


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (_finding("x/y", "python -m pip install --no-deps torchvision==0.22.*"), 2),
        (
            _finding("x/y", "uv pip install --python /p/python --upgrade-package torch torch>=2.8"),
            1,
        ),
        (_finding("x/y", "python -m pip install Flash_Attn[all]"), 3),
        (_finding("x/y", "apt-get install -y gcc", "pip install triton"), 4),
        (_finding("x/y", "python -m pip uninstall -y triton"), 4),
        (_finding("x/y", "cargo update -p candle-core"), 5),
        (_finding("x/y", "python -c import\xa0torch"), None),
        (_finding("x/y", "apt-get install -y gcc"), None),
        (_finding("x/y"), None),
    ],
)
def test_the_package_that_the_first_fix_moves(found: Finding, line: int | None) -> None:
    assert _line(found) == line


def test_of_several_the_one_that_the_finding_is_called_after() -> None:
    argv = "pip install --upgrade torch torchvision"
    assert _line(_finding("torchvision/other-torch", argv)) == 2
    assert _line(_finding("requires/torchvision", argv)) == 2
    assert _line(_finding("stack/x", argv)) == 1


def test_what_a_fix_holds_where_it_is_is_not_to_blame() -> None:
    found = _finding("stack/x", "pip install --upgrade torch==2.7.1 flash-attn")
    assert _line(found, torch__release="2.7.1") == 3
    assert _line(found, torch__release="2.6.0") == 1
    again = _finding("stack/x", "pip install --force-reinstall torch==2.7.1")
    assert _line(again, torch__release="2.7.1") == 1


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("requires.torchvision.torch.met", 2),
        ("package.flash-attn.version", 3),
        ("extension.torchvision.undefined_symbols", 2),
        ("crate.candle-core.version", 5),
        ("torch.version", 1),
        ("cuda.missing", 6),
        ("torch.cuda_error", None),
        ("nvidia.driver_version", None),
        ("package.numpy.version", None),
    ],
)
def test_without_such_a_fix_the_evidence_tells(fact: str, line: int | None) -> None:
    assert _line(_finding("x/y", "export A=b", seen=("host.os", fact))) == line


@pytest.mark.parametrize(
    "value",
    [None, 7, "requirements.txt", {}, {"path": 3, "line": 1}, {"path": "x", "line": "1"}, [1]],
)
def test_a_fact_out_of_a_foreign_snapshot_may_be_anything(value: Any) -> None:
    fixes = _finding("x/y", "pip install torch").fixes
    assert location("x/y", fixes, (), {"manifest.torch": present(value, "test")}) is None


def test_without_a_pin_there_is_no_location() -> None:
    assert location("x/y", _finding("x/y", "pip install torch").fixes, (), {}) is None
