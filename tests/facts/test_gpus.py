"""The compute capability of a GPU by its name."""

from __future__ import annotations

import pytest

from doctor.catalog.loading import load
from doctor.facts.derive.gpus import capabilities

_TABLE = load().tables["gpu-arch"]


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("NVIDIA GeForce RTX 4070 Laptop GPU", "8.9"),
        ("NVIDIA GeForce RTX 3090", "8.6"),
        ("Tesla V100S-PCIE-32GB", "7.0"),
        ("Tesla T4", "7.5"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A10G", "8.6"),
        ("NVIDIA A10", "8.6"),
        ("NVIDIA L40S", "8.9"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H20", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA RTX A6000", "8.6"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("NVIDIA GB10", "12.1"),
    ],
)
def test_a_card_is_known_by_its_name(name: str, capability: str) -> None:
    assert capabilities([name], _TABLE) == [capability]


@pytest.mark.parametrize(
    "name", ["AMD Instinct MI300X", "NVIDIA Graphics Device", "", "NVIDIA RTX 7090"]
)
def test_a_card_that_is_not_known_leaves_all_unknown(name: str) -> None:
    assert capabilities([name, "Tesla T4"], _TABLE) is None
