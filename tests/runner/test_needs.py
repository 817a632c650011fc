"""Which checks have to do with an environment, by what is installed there."""

from __future__ import annotations

from pathlib import Path

import pytest

import doctor
from doctor.catalog.check_headers import load_checks
from doctor.model.facts import Fact, absent, present
from doctor.model.roles import CHECKS, Role
from doctor.observe.run_checks import concerns, unmet_need

_CHECKS = load_checks()
_VERSION = present("1.0", "test")


@pytest.mark.parametrize(
    ("name", "facts", "is_here"),
    [
        ("jax-devices", {}, False),
        ("jax-devices", {"package.jax.version": absent("test")}, False),
        ("jax-devices", {"package.jax.version": _VERSION}, True),
        ("onnxruntime-devices", {"package.jax.version": _VERSION}, False),
        ("onnxruntime-devices", {"package.onnxruntime.version": _VERSION}, True),
        ("onnxruntime-devices", {"package.onnxruntime-gpu.version": _VERSION}, True),
    ],
)
def test_a_framework_that_is_not_here_is_not_asked(
    name: str, facts: dict[str, Fact], is_here: bool
) -> None:
    assert concerns(_CHECKS[name], facts) is is_here
    assert bool(unmet_need(_CHECKS[name], facts)) is not is_here


def test_checks_of_torch_are_skipped_with_a_reason() -> None:
    name = "torch-runtime"
    assert concerns(_CHECKS[name], {})
    assert unmet_need(_CHECKS[name], {}) == "torch is not installed in this interpreter"


def test_headers_and_the_list_of_roles_agree() -> None:
    of_headers = {name: check.header.role for name, check in _CHECKS.items()}
    listed = {name: role for role, names in CHECKS.items() for name in names}
    assert {name: role for name, role in of_headers.items() if role is not Role.NONE} == listed


@pytest.mark.parametrize("folder", ["judge", "pipeline", "observe", "repair", "report/view"])
def test_no_stage_knows_a_check_by_its_name(folder: str) -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(doctor.__file__).parent / folder).rglob("*.py")
    )
    assert not [name for name in _CHECKS if f'"{name}"' in code]
