"""Which GPU runs which code."""

from __future__ import annotations

import pytest

from doctor.facts.derive.arch import runs, uncovered

CU130 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize(
    ("arch", "capability", "fits"),
    [
        ("sm_86", "8.9", True),
        ("sm_86", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_80", "8.7", False),
        ("sm_87", "8.7", True),
        ("sm_87", "8.9", False),
        ("sm_90", "9.0", True),
        ("sm_90a", "9.0", True),
        ("sm_100a", "10.3", False),
        ("sm_100", "10.3", True),
        ("sm_100f", "10.3", True),
        ("sm_120", "12.1", True),
        ("sm_90", "10.0", False),
        ("compute_90", "12.0", True),
        ("compute_90", "8.9", False),
        ("compute_90a", "9.0", True),
        ("compute_90a", "10.0", False),
        ("compute_100f", "10.3", True),
        ("compute_100f", "12.0", False),
        ("sm_101", "11.0", True),
        ("sm_60", "6.1", True),
        ("nonsense", "9.0", False),
        ("sm_90", "nonsense", False),
    ],
)
def test_binary_compatibility(arch: str, capability: str, fits: bool) -> None:
    assert runs(arch, capability) is fits


def test_what_no_architecture_covers() -> None:
    assert uncovered(CU130, ["7.0", "8.9", "9.0", "12.1", "7.0"]) == ["7.0"]
    assert uncovered(CU130, []) == []


@pytest.mark.parametrize(
    ("arch", "capability", "fits"),
    [
        ("sm_80", "8.7", True),
        ("sm_87", "8.7", True),
        ("sm_87", "8.9", False),
        ("sm_72", "7.5", False),
    ],
)
def test_cuda_that_counts_orin_with_its_generation(arch: str, capability: str, fits: bool) -> None:
    assert runs(arch, capability, unified=True) is fits
