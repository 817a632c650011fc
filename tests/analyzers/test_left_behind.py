"""Programs that torch, TensorRT or a driver left behind."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import said

LINES = (
    ("RuntimeError: Legacy autograd function with non-static forward method is deprecated.", "1.5"),
    ("ModuleNotFoundError: No module named 'torch.legacy'", "torch 1.0 took torch.legacy away"),
    ("please report a bug to PyTorch. Placeholder tensor is empty!", "tensor without elements"),
    ("Could not find CUDA in standard locations, set it manually", "does not find the CUDA"),
    ("  what():  Attribute not found: axes", "newer opset"),
    ("in WSL: failed call to cuInit: CUDA_ERROR_NOT_FOUND: named symbol not found", "incomplete"),
)


@pytest.mark.parametrize(("text", "words"), LINES)
def test_the_title_says_which_side_was_left_behind(text: str, words: str) -> None:
    """Each message gets the explanation of its own."""
    assert any(words in title for _, title in said(text)), said(text)


def test_a_driver_outside_of_wsl_is_another_matter() -> None:
    """The same error of a Linux machine has other causes."""
    text = "failed call to cuInit: CUDA_ERROR_NOT_FOUND: named symbol not found"
    assert "wsl-driver-too-new" not in dict(said(text))
