"""What is said of an equation of einsum (aten/src/ATen/native/Linear.cpp)."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text

EINSUM = Text(
    "The equation of einsum does not fit its tensors: {message}",
    (
        "Each tensor needs a group of letters before the arrow, with one letter for each of "
        "its dimensions, and a letter means the same size everywhere. The installation is sound."
    ),
    (
        code(
            "Compare the equation with the shapes",
            "before the call that fails",
            "print([one.shape for one in operands])",
        ),
    ),
    precision=Precision.EXACT,
)
