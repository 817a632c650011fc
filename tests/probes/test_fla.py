"""flash-linear-attention's own part in a fault of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import State
from doctor.observe.probes import fla
from tests.hosts import facts_of
from tests.sites import install, seen_at

FILE = "fla/ops/delta_rule/fused_recurrent.py"
OPERATOR = "def fused_recurrent_delta_rule(\n    q: torch.Tensor,\n):\n    pass\n"
OTHER = "@torch.compiler.disable\ndef other():\n    pass\n\n\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"{OTHER}@torch.compiler.disable\n{OPERATOR}", True),
        (f"{OTHER}@contiguous\n@torch.compiler.disable\n@checked\n{OPERATOR}", True),
        (f"{OTHER}{OPERATOR}", False),
        (f"{OTHER}@contiguous\n{OPERATOR}", False),
        ("def fused_recurrent(): pass\n", None),
        ("@a\n" * 100_000, None),
        ("", None),
    ],
)
def test_the_operator_is_kept_out_or_not(
    tmp_path: Path, source: str, expected: bool | None
) -> None:
    install(tmp_path, "flash-linear-attention", "0.1", files={"fla/__init__.py": "", FILE: source})
    found = facts_of(fla.probe(seen_at(tmp_path)))["fla.delta_rule_disabled"]
    assert found.value is expected
    assert (found.state is State.ABSENT) is (expected is None)


def test_no_such_package(tmp_path: Path) -> None:
    assert facts_of(fla.probe(seen_at(tmp_path)))["fla.delta_rule_disabled"].state is State.ABSENT
