# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Multiplies at sizes where kernels change, and compares single elements"
# needs = ["torch"]
# tier = "quick"
# timeout = 300
# devices = "each"
# cases = ["long-inner", "wide-columns", "huge-batch", "one-output-gradient"]
# ///
"""Products stay right where a dimension is long, wide or huge.

Picked elements agree with sums made in plain Python.

A failure means that a matmul kernel of this device loses or invents terms beyond a size: a tile
that is not clipped, an index that overflows. Splitting the product, or the CPU, gets around it.

All of these are known to be wrong somewhere on Metal (numbers of issues of pytorch/pytorch): inner
lengths from 32767 on with 16 rows and columns or more, where the answer depends on what lies behind
the operands (193487, 195163); more than 32768 columns (111634, 116769, 122045); results beyond
2**32 elements of an operand that is not contiguous (197636); the gradient of a linear layer with
one output, over more rows than a page of 16 KB holds (189565). The operands are drawn as Python
lists of eighths up to two, and lie before NaN. So the longest sum here is exact in float32 in any
order, and an element is right within the rounding of the result, |x| u; in float16 a sum of length
k over products of absolute sum S is right within (k + 4) u S.
"""

from __future__ import annotations

import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_cases import Trial, run_table
from canary_report import CaseEnded, Report
from oracle import NAN, Output, check, dot, read, read_at, rounded

REPORT = Report()
torch = REPORT.load("torch")

LONG = 32769
GIB = 1 << 30


def check_all(trial: Trial, got: dict[str, Output], want: Any, what: str, **how: Any) -> None:
    """Compare what several ways to one product gave."""
    for op, result in got.items():
        check(result, want, f"{op}, {what}", unit=trial.roundoff("float32"), **how)


def before_nan(values: Any, dtype: str, device: str) -> Any:
    """Make a contiguous tensor of nested lists in a storage whose rest is NaN."""
    made = torch.tensor(values, dtype=getattr(torch, dtype), device=device)
    storage = torch.full((made.numel() + 8192,), NAN, dtype=made.dtype, device=made.device)
    return storage[: made.numel()].view(made.shape).copy_(made)


def long_inner(trial: Trial) -> None:
    """Sum more terms than a kernel may take in one go."""
    side = 16
    first, second = trial.draw(LONG + side), trial.draw(LONG + side)
    places = [(place, trial.rng.randrange(side)) for place in range(side)]
    want = [rounded(dot(first[i : i + LONG], second[j : j + LONG])[0]) for i, j in places]
    rows = [first[i : i + LONG] for i in range(side)]
    columns = [second[i : i + side] for i in range(LONG)]
    with trial.act():
        a, b = (before_nan(values, "float32", trial.device) for values in (rows, columns))
        results = {
            "mm": torch.mm(a, b),
            "bmm": torch.bmm(a[None], b[None])[0],
            "einsum": torch.einsum("bij,bjk->bik", a[None], b[None])[0],
            "linear": torch.nn.functional.linear(a, b.t()),
        }
        got = {op: read_at(result, places) for op, result in results.items()}
    check_all(trial, got, want, f"inner length {LONG}", shape=(side, side))


def wide_columns(trial: Trial) -> None:
    """Make a result of more than 32768 columns."""
    only_deep("134 MB")
    rows, columns = 1025, 32769
    fed, weight = trial.draw(rows), trial.draw(columns)
    edges = [(rows - 1, column) for column in (1023, 1024, 32767, 32768)]
    anywhere = [(trial.rng.randrange(rows), trial.rng.randrange(columns)) for _ in range(500)]
    places = anywhere + edges
    want = [rounded(fed[i] * weight[j]) for i, j in places]
    with trial.act():
        x, w = (
            before_nan([[value] for value in values], "float32", trial.device)
            for values in (fed, weight)
        )
        results = {
            "linear": torch.nn.functional.linear(x, w).cpu(),
            "matmul": torch.matmul(x, w.t()).cpu(),
        }
        results["bmm"] = torch.bmm(x[None], w.t()[None])[0].cpu()
        got = {op: read_at(result, places) for op, result in results.items()}
    check_all(trial, got, want, f"{columns} columns", shape=(rows, columns))


def huge_batch(trial: Trial) -> None:
    """Make a result of more than 2**32 elements of a right operand that is transposed.

    On the CPU a small one, in float32: torch multiplies float16 there from 2.2 on only.
    """
    only_deep("up to 20 GiB")
    device, length, width, pool = trial.device, 256, 16, 4
    count, dtype = (8, "float32") if device == "cpu" else ((1 << 16) + 16, "float16")
    if device != "cpu" and free_memory(device) < 40 * GIB:
        # Half of what is free stays with those who share the card.
        raise CaseEnded(
            "skipped",
            f"takes 20 GiB where 40 are free; {device} says it has {free_memory(device) / GIB:.0f}",
        )
    a, b = (trial.draw(pool, length, width) for _ in range(2))
    places = [(trial.rng.randrange(length), trial.rng.randrange(length)) for _ in range(200)]
    with trial.act():
        left, right = (
            before_nan(values, dtype, device).repeat(count // pool, 1, 1) for values in (a, b)
        )
        result = torch.bmm(left, right.transpose(1, 2))
        got = {index: read_at(result[index].cpu(), places) for index in (0, count - 1)}
    unit = trial.roundoff(dtype)
    for index, picked in got.items():
        want = [dot(a[index % pool][i], b[index % pool][j]) for i, j in places]
        what = f"bmm, matrix {index} of {count}, right operand transposed"
        check(picked, want, what, dtype=dtype, unit=unit, shape=(length, length))


def one_output_gradient(trial: Trial) -> None:
    """Hand the repeated gradient of a sum to a linear layer with one output."""
    rows, inner = 3840, 33
    fed, weight, slope = trial.draw(inner), trial.draw(inner), trial.draw(1)[0]
    with trial.act():
        x, w = (trial.make()(values).requires_grad_() for values in ([fed] * rows, [weight]))
        total = torch.nn.functional.linear(x, w).sum() * slope
        got = dict(zip(("input", "weight"), map(read, torch.autograd.grad(total, (x, w)))))
    want = {
        "input": [[rounded(slope * value) for value in weight]] * rows,
        "weight": [[rounded(rows * slope * value) for value in fed]],
    }
    unit = trial.roundoff("float32")
    for of, result in got.items():
        what = f"gradient of linear to one output over {rows} rows, {of}"
        check(result, want[of], what, unit=unit)


def only_deep(cost: str) -> None:
    """Leave out what costs much."""
    if os.environ.get("CANARY_TIER") != "deep":
        raise CaseEnded("skipped", f"only in the deep tier: takes {cost} of memory")


def free_memory(device: str) -> int:
    """Return the free bytes of a device, 0 where torch does not know them."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    limit = getattr(torch.mps, "recommended_max_memory", None) if device == "mps" else None
    return int(limit()) - int(torch.mps.driver_allocated_memory()) if limit else 0


CASES = {
    "long-inner": long_inner,
    "wide-columns": wide_columns,
    "huge-batch": huge_batch,
    "one-output-gradient": one_output_gradient,
}


if __name__ == "__main__":
    REPORT.run(lambda: run_table(REPORT, torch, CASES))
