"""Explain sizes of tensor parallelism that divide no heads."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explanation
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that a size of parallelism divides no heads, where the lines above speak of heads."""
    for event in case.of("not-divisible"):
        near = " ".join(case.log.lines[max(0, event.at - _AT) : event.at])[:4000]
        width = event.objects["parts"] in _WIDTHS and "head" in near
        if width or ("head" in near and "parallel" in near):
            one = explanation(case, event, _COLUMNS if width else _HEADS)
            if one is not None:
                yield one


_AT = 6
_WIDTHS = {"32", "64", "80", "96", "128", "160", "192", "256"}
_CAUSE = (
    "Tensor parallelism gives each GPU whole heads, so its size has to divide the number of "
    "heads. GPT-2 small has 12: 2, 3, 4 and 6 divide them, and 8 does not. Neither the "
    "installation nor the batch is at fault."
)
_DIVIDE = code(
    "Take a size of tensor parallelism that divides the number of heads",
    "the configuration of the run",
    "tensor_parallel_size = 4",
    before="tensor_parallel_size = 8",
    note="The other GPUs serve data or pipeline parallelism, or ZeRO. Or take a model whose number "
    "of heads the size divides.",
)
_COLUMNS = Text(
    "Tensor parallelism does not divide the heads: {size} columns for each GPU, and {parts} for "
    "each head",
    _CAUSE,
    (_DIVIDE,),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
_HEADS = _COLUMNS._replace(
    titles="The number of heads, {size}, cannot be divided among {parts} GPUs"
)
