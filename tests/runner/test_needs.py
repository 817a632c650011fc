"""Which checks have to do with an environment, by what is installed there."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalog.check_headers import load_checks
from doctor.model.checks import Role
from doctor.model.facts import Fact, absent, present
from doctor.observe import run_checks
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


def test_one_script_proves_torch_and_says_so_in_its_header() -> None:
    roles = {name: check.header.role for name, check in _CHECKS.items()}
    assert [name for name, role in roles.items() if role is Role.PROVES_TORCH] == ["torch-runtime"]
    source = Path(run_checks.__file__).read_text(encoding="utf-8")
    assert not [name for name in roles if name in source]
