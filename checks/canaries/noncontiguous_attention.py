# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Attends over views that are not contiguous and compares with a softmax in plain Python"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# cases = [
#     "dtypes", "transposed-heads", "packed", "time-first", "strided", "repeated-heads", "causal",
#     "masked", "odd-keys", "value-width", "grouped-heads", "backward",
# ]
# ///
"""Attention over non-contiguous views, and its gradients, agree with a softmax in plain Python.

A failure means that a fused attention kernel of this device reads queries, keys, values or a mask
by the wrong strides, reads past them, or attends to what is masked: models give wrong tokens and no
error. `.contiguous()` on the operands, an explicit mask in place of `is_causal`, or the math
backend gets around it.

The oracle never enters torch. Queries and keys are plus or minus one and the mask is of quarters,
so that a score has no rounding but that of the scale: at most 4 u s, where u is the unit roundoff
and s the largest absolute score of its row. That moves a weight by 8 u s of itself; n exponentials,
their sum and the sum of n weighted values add 2 (n + 4) u, where n counts the keys that are not
masked. So an element is right within (8 s + 2 n + 8) u W, with W the sum of the weighted absolute
values. A gradient runs through four such steps and two products more: it is right within 4 (8 s + 2
n + d + 8) u times the sum of the absolute values of its terms, d the width of a head; bfloat16
would be allowed too much there and is left out. Where the environment lets products of float32 be
rounded to TF32 or bfloat16, that is the unit roundoff of float32. What lies between the elements of
a view is NaN, and so is memory of the size of a result before it is asked for.

Cases that Metal, or CUDA, is known to have got wrong (numbers of issues and pulls of
pytorch/pytorch): queries with their heads permuted and at most eight steps (163597), all three with
a batch of two and more (170837, 181133), numbers of keys that 32 does not divide (169222), grouped
heads over 1024 keys (174861), values of another width (176767), is_causal in half precision
(195910); on CUDA, a mask beside keys and values that are not contiguous (112577).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle
from canary_cases import Trial, run_table
from canary_report import CaseEnded, Report
from oracle import NAN, flip, read

REPORT = Report()
torch = REPORT.load("torch")

if TYPE_CHECKING:
    Heads = list[list[list[list[float]]]]  # batch, head, step, width
    Make = Callable[[Any], Any]
    Layout = Callable[[Heads, Make], Any]
    Want = tuple[float, float]  # the exact value, and the error allowed per unit of roundoff
    Mask = list[float] | None  # what is added to a row of scores; None: nothing

DTYPES = ("float32", "float64", "float16", "bfloat16")
WIDTH = 64  # a width that fused kernels take
SIGNS = (-1.0, 1.0)
OPERANDS = ("queries", "keys", "values")
QUARTERS = [quarters / 4 for quarters in range(-8, 3)]


def plain(values: Heads, make: Make) -> Any:
    """Lay the values out as they are."""
    return make(values)


def transposed_heads(values: Heads, make: Make) -> Any:
    """Let the heads run inside the steps, as a linear layer leaves them."""
    return make([flip(heads) for heads in values]).transpose(1, 2)


def packed(values: Heads, make: Make) -> Any:
    """Take the second third of what one linear layer makes of queries, keys and values."""
    hole = [[NAN] * len(values[0][0][0])] * len(values[0])
    return make([[[hole, heads, hole] for heads in flip(parts)] for parts in values])[
        :, :, 1
    ].transpose(1, 2)


def time_first(values: Heads, make: Make) -> Any:
    """Let the batch run inside the steps."""
    return make(flip([flip(heads) for heads in values])).permute(1, 2, 0, 3)


def strided(values: Heads, make: Make) -> Any:
    """Leave a gap after every element."""
    gaps = [[[oracle.strided(row) for row in head] for head in heads] for heads in values]
    return make(gaps)[..., ::2]


def repeated_heads(values: Heads, make: Make) -> Any:
    """Give all heads of a batch the values of its first one, with a stride of zero."""
    return make([heads[:1] for heads in values]).expand(-1, len(values[0]), -1, -1)


LAYOUTS = {
    "transposed-heads": transposed_heads,
    "packed": packed,
    "time-first": time_first,
    "strided": strided,
    "repeated-heads": repeated_heads,
}


def values_of_view(layout: Layout, values: Heads) -> Heads:
    """Return what the view holds: one layout repeats the first head."""
    return [[heads[0]] * len(heads) for heads in values] if layout is repeated_heads else values


def inner(x: list[float], y: list[float]) -> float:
    """Sum the products of two lists."""
    return math.fsum(a * b for a, b in zip(x, y))


def weights(q: list[float], k: list[list[float]], mask: Mask) -> tuple[list[float], float]:
    """Return the softmax of one row of scores, and its error bound per weight."""
    scores = [
        inner(q, key) / math.sqrt(len(q)) + (mask[j] if mask else 0.0) for j, key in enumerate(k)
    ]
    seen = [score for score in scores if score > -math.inf]
    powers = [math.exp(score - max(seen)) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers], 8 * max(map(abs, seen)) + 2 * len(seen) + 8


def attend(q: Heads, k: Heads, v: Heads, barred: list[Mask]) -> list[Any]:
    """Attention, element by element; queries may have more heads than keys, in groups."""
    group = len(q[0]) // len(k[0])
    pairs = [
        [(rows, keys[h // group], values[h // group]) for h, rows in enumerate(heads)]
        for heads, keys, values in zip(q, k, v)
    ]
    return [
        [
            [mixed(*weights(row, ks, mask), vs) for row, mask in zip(rows, barred)]
            for rows, ks, vs in heads
        ]
        for heads in pairs
    ]


def mixed(shares: list[float], doubt: float, values: list[list[float]]) -> list[Want]:
    """One row of the result: the values by their weights."""
    return [
        (inner(shares, column), doubt * inner(shares, list(map(abs, column))))
        for column in zip(*values)
    ]


def check(trial: Trial, got: oracle.Output, want: Any, dtype: str, what: str) -> None:
    """Compare within the rounding of products in that dtype."""
    oracle.check(got, want, what, dtype=dtype, unit=trial.roundoff_of_products(dtype))


def attention(q: Any, k: Any, v: Any, **how: Any) -> Any:
    """Attend over poisoned memory; see Trial.poison."""
    torch.full((*q.shape[:3], v.shape[3]), NAN, dtype=q.dtype, device=q.device)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **how)


def draw_operands(
    trial: Trial, batch: int, heads: int, steps: int, keys: int, width: int = WIDTH
) -> tuple[Heads, Heads, Heads]:
    """Draw queries, keys and values."""
    q, k = (trial.draw(batch, heads, count, width, pool=SIGNS) for count in (steps, keys))
    return q, k, trial.draw(batch, heads, keys, width)


def attend_and_check(
    trial: Trial,
    drawn: tuple[Heads, Heads, Heads],
    want: Any,
    what: str,
    *,
    dtypes: list[str] | None = None,
    mask: Callable[[str], Any] | None = None,
    **how: Any,
) -> None:
    """Attend over transposed heads in every dtype, and compare.

    `mask` makes the mask for a dtype; `how` is handed on to torch.
    """
    for dtype in trial.dtypes if dtypes is None else dtypes:
        with trial.act():
            laid = {"attn_mask": mask(dtype)} if mask else {}
            operands = (transposed_heads(values, trial.make(dtype)) for values in drawn)
            got = read(attention(*operands, **laid, **how))
        check(trial, got, want, dtype, what)


def try_attention(device: str, dtype: str) -> None:
    """Attend over the smallest thing there is, and differentiate."""
    ones = torch.ones(1, 1, 2, 16, dtype=getattr(torch, dtype), device=device, requires_grad=True)
    attention(ones, ones, ones).sum().backward()
    ones.grad.tolist()


def dtypes(trial: Trial) -> None:
    """Find the dtypes in which this device attends."""
    trial.find_dtypes(DTYPES, try_attention)


def masks(steps: int, *, causal: bool) -> list[Mask]:
    """One mask for each step: to what came before, or to everything."""
    return [
        [0.0 if j <= i else -math.inf for j in range(steps)] if causal else None
        for i in range(steps)
    ]


def by_layout(name: str, layout: Layout, trial: Trial) -> None:
    """Try one layout for the queries and for all operands, and with is_causal.

    Few steps: there Metal has kernels of its own.
    """
    steps = 6
    for sides, causal in (("queries", False), ("operands", False), ("operands", True)):
        drawn = draw_operands(trial, 2, 3, steps, steps)
        hows = (layout, plain, plain) if sides == "queries" else (layout, layout, layout)
        seen = [values_of_view(how, values) for how, values in zip(hows, drawn)]
        want = attend(*seen, masks(steps, causal=causal))
        for dtype in trial.dtypes:
            make = trial.make(dtype)
            with trial.act():
                operands = (how(values, make) for how, values in zip(hows, drawn))
                got = read(attention(*operands, is_causal=causal))
            what = f"attention, {name} {sides}{', is_causal' if causal else ''}"
            check(trial, got, want, dtype, what)


def causal(trial: Trial) -> None:
    """Attend to what came before over more steps than a group or a tile holds."""
    steps = 36
    drawn = draw_operands(trial, 1, 2, steps, steps)
    want = attend(*drawn, masks(steps, causal=True))
    what = f"attention, is_causal over {steps} steps"
    attend_and_check(trial, drawn, want, what, is_causal=True)


def masked(trial: Trial) -> None:
    """Attend under masks that are transposed, laid out with gaps, and repeated."""
    steps, keys, width = 5, 9, 16
    drawn = draw_operands(trial, 2, 3, steps, keys, width)
    added = trial.draw(steps, keys, pool=QUARTERS)
    allowed = [[j == i or trial.rng.random() < 0.5 for j in range(keys)] for i in range(steps)]
    barred = [[0.0 if yes else -math.inf for yes in row] for row in allowed]
    gaps = [oracle.strided(row) for row in added]
    ways = {
        "transposed": (added, lambda dtype: trial.make(dtype)(flip(added)).t()),
        "strided": (added, lambda dtype: trial.make(dtype)(gaps)[:, ::2]),
        "repeated boolean": (
            barred,
            lambda _: trial.make("bool")(flip(allowed)).t().expand(2, 3, steps, keys),
        ),
    }
    for name, (rows, mask) in ways.items():
        want = attend(*drawn, rows)
        attend_and_check(trial, drawn, want, f"attention, {name} mask", mask=mask)


def odd_keys(trial: Trial) -> None:
    """Attend from few steps to a number of keys that no block size divides."""
    drawn = draw_operands(trial, 1, 2, 3, 38)
    want = attend(*drawn, masks(3, causal=False))
    attend_and_check(trial, drawn, want, "attention from 3 steps to 38 keys")


def value_width(trial: Trial) -> None:
    """Take values of another width than queries and keys."""
    q, k, _ = draw_operands(trial, 2, 2, 5, 7)
    drawn = q, k, trial.draw(2, 2, 7, 24)
    want = attend(*drawn, masks(5, causal=False))
    attend_and_check(trial, drawn, want, f"attention, values of width 24 beside {WIDTH}")


def grouped_heads(trial: Trial) -> None:
    """Let two heads of queries share one of keys.

    There are as many keys as make a kernel work in two passes.
    """
    keys = 1024
    if "enable_gqa" not in (torch.nn.functional.scaled_dot_product_attention.__doc__ or ""):
        raise CaseEnded("skipped", "this torch has no enable_gqa")
    release = [int(part) for part in torch.__version__.split(".")[:2]]
    if trial.device == "mps" and release < [2, 7]:
        # Before, it ends the process.
        raise CaseEnded("skipped", "enable_gqa came to Metal with torch 2.7")
    q, k = (trial.draw(1, *sides, WIDTH, pool=SIGNS) for sides in ((4, 1), (2, keys)))
    v = trial.draw(1, 2, keys, WIDTH)
    want = attend(q, k, v, masks(1, causal=False))
    what = f"attention, grouped heads over {keys} keys"
    attend_and_check(trial, (q, k, v), want, what, dtypes=trial.dtypes[:1], enable_gqa=True)


def backward(trial: Trial) -> None:
    """Differentiate by queries, keys and values of each layout, with and without is_causal."""
    steps, width = 6, 16
    for name, layout in LAYOUTS.items():
        for causal in (False, True):
            drawn = *draw_operands(trial, 2, 2, steps, steps, width), trial.draw(2, 2, steps, width)
            seen = (values_of_view(layout, values) for values in drawn)
            want = slopes(*seen, masks(steps, causal=causal))
            for dtype in [each for each in trial.dtypes if each != "bfloat16"]:
                make = trial.make(dtype)
                with trial.act():
                    operands = (layout(values, make).detach() for values in drawn)
                    got = gradients(*operands, is_causal=causal)
                for of, result in got.items():
                    what = f"gradient of {of}, {name} operands{', is_causal' if causal else ''}"
                    check(trial, result, want[of], dtype, what)


def slopes(q: Heads, k: Heads, v: Heads, g: Heads, barred: list[Mask]) -> dict[str, Any]:
    """Work out by hand what `gradients` asks autograd for."""
    heads = [[slopes_of_head(*parts, barred) for parts in zip(*batch)] for batch in zip(q, k, v, g)]
    return {
        what: [[head[index] for head in batch] for batch in heads]
        for index, what in enumerate(OPERANDS)
    }


def slopes_of_head(q: Any, k: Any, v: Any, g: Any, barred: list[Mask]) -> tuple[Any, Any, Any]:
    """The gradients of one head by its queries, keys and values."""
    width, rows = len(q[0]), []
    for query, slope, mask in zip(q, g, barred):
        shares, doubt = weights(query, k, mask)
        doubt = 4 * (doubt + width)
        reached = [inner(slope, value) for value in v]
        absolute = [inner(list(map(abs, slope)), list(map(abs, value))) for value in v]
        mean, bound = inner(shares, reached), inner(shares, absolute)
        scale = 1 / math.sqrt(width)
        by_score = [
            (scale * p * (x - mean), scale * doubt * p * (a + bound))
            for p, x, a in zip(shares, reached, absolute)
        ]
        rows.append((by_score, [(p, doubt * p) for p in shares]))
    scores, parts = zip(*rows)
    by_query = [combined(row, k) for row in scores]
    return (
        by_query,
        [combined(column, q) for column in flip(scores)],
        [combined(column, g) for column in flip(parts)],
    )


def combined(factors: Any, rows: list[list[float]]) -> list[Want]:
    """Sum rows by their factors."""
    exact, allowed = zip(*factors)
    return [
        (inner(list(exact), list(column)), inner(list(allowed), list(map(abs, column))))
        for column in zip(*rows)
    ]


class Incoming(torch.autograd.Function):
    """Hand a gradient in with its strides.

    `grad_outputs` would too, but imports sympy for seconds first.
    """

    @staticmethod
    def forward(ctx: Any, result: Any, gradient: Any) -> Any:
        """Stand for any scalar loss."""
        ctx.gradient = gradient
        return result.new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Any) -> tuple[Any, None]:
        """Give the gradient as it was laid out."""
        return ctx.gradient, None


def gradients(q: Any, k: Any, v: Any, g: Any, **how: Any) -> dict[str, oracle.Output]:
    """Differentiate attention by all three."""
    operands = tuple(operand.requires_grad_() for operand in (q, k, v))
    result = Incoming.apply(attention(*operands, **how), g)
    return dict(zip(OPERANDS, map(read, torch.autograd.grad(result, operands))))


CASES = {
    "dtypes": dtypes,
    **{name: partial(by_layout, name, layout) for name, layout in LAYOUTS.items()},
    "causal": causal,
    "masked": masked,
    "odd-keys": odd_keys,
    "value-width": value_width,
    "grouped-heads": grouped_heads,
    "backward": backward,
}


def main() -> None:
    """Try every layout and every mask on every device."""
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        raise CaseEnded("skipped", "this torch has no scaled_dot_product_attention")
    # Heads this small gain nothing from threads, and lose seconds to them where the processor is
    # busy.
    torch.set_num_threads(1)
    run_table(REPORT, torch, CASES)


if __name__ == "__main__":
    REPORT.run(main)
