"""Operators that torch does not know.

Genuine messages of torch 2.13, and of torch 1.13 (schema).
"""

from __future__ import annotations

import pytest

from tests.analyzers.packages import explained, hostile, installs, told

MISSING = "AttributeError: '_OpNamespace' '{}' object has no attribute '{}'"


@pytest.mark.parametrize(
    ("text", "title", "installed"),
    [
        (
            MISSING.format("my_ext", "fused_add"),
            "No library that is loaded registers torch.ops.my_ext.fused_add",
            [(), ()],
        ),
        (
            "RuntimeError: No such operator torch_cluster::fps",
            "The operators of torch-cluster are not registered: its compiled part is not loaded",
            [(), ("torch-cluster",)],
        ),
        (
            "RuntimeError: Could not find schema for torch_sparse::ptr2ind",
            "The operators of torch-sparse are not registered: its compiled part is not loaded",
            [(), ("torch-sparse",)],
        ),
        (
            MISSING.format("aten", "_scaled_mm_v9"),
            "This torch has no operator aten::_scaled_mm_v9",
            [("torch",)],
        ),
    ],
)
def test_whose_operator_it_is(text: str, title: str, installed: list[tuple[str, ...]]) -> None:
    found = told("unregistered_operators", text)
    assert found.detection.title == title
    assert installs(found) == installed


def test_an_operator_of_another_program_is_not_meant() -> None:
    assert not explained(
        "unregistered_operators", "kubectl: operator gpu-operator does not exist in the namespace"
    )


def test_hostile_texts() -> None:
    hostile(
        "unregistered_operators",
        ("'_OpNamespace' '", "No such operator ", "operator a::", "Could not find schema for "),
    )
