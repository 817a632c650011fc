# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Multiplies with sizes at which kernels are known to change their ways, and compares picked elements"
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

import math
import os
import random
import sys
from typing import Any

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, CHECKS)
from canary_report import CaseEnded, Report, devices  # noqa: E402

sys.path.remove(CHECKS)


REPORT = Report()
torch = REPORT.load("torch")

NAN = math.nan
LONG = 32769
GIB = 1 << 30
EIGHTHS = [sign * eighths / 8 for sign in (-1, 1) for eighths in range(1, 17)]


def draw(rng: random.Random, size: int) -> list[float]:
    """Draw eighths up to two, none of them zero."""
    return rng.choices(EIGHTHS, k=size)


def compare(got: list[float], wants: list[tuple[float, float]], dtype: str, what: str) -> None:
    """Raise where a picked element is further off than allowed: the exact value, and the error for each unit of roundoff."""
    unit = torch.finfo(getattr(torch, dtype)).eps / 2
    wrong = [
        (value, exact, allowed * unit)
        for value, (exact, allowed) in zip(got, wants)
        if not abs(value - exact) <= allowed * unit
    ]
    if wrong:
        value, exact, allowed = wrong[0]
        said = f"{len(wrong)} of {len(got)} picked elements are wrong, the first is {value:.8g}, expected {exact:.8g} within {allowed:.3g}"
        raise CaseEnded("failed", f"{what}, {dtype}: {said}")


def before_nan(values: Any, dtype: str, device: str) -> Any:
    """Make a contiguous tensor of nested lists at the beginning of a storage that goes on with NaN."""
    made = torch.tensor(values, dtype=getattr(torch, dtype), device=device)
    storage = torch.full((made.numel() + 8192,), NAN, dtype=made.dtype, device=made.device)
    return storage[: made.numel()].view(made.shape).copy_(made)


def long_inner(rng: random.Random, device: str) -> None:
    """Sum more terms than a kernel may take in one go."""
    side = 16
    first, second = draw(rng, LONG + side), draw(rng, LONG + side)
    places = [(place, rng.randrange(side)) for place in range(side)]
    wants = [
        math.fsum(x * y for x, y in zip(first[i : i + LONG], second[j : j + LONG]))
        for i, j in places
    ]
    with REPORT.act():
        a = before_nan([first[i : i + LONG] for i in range(side)], "float32", device)
        b = before_nan([second[i : i + side] for i in range(LONG)], "float32", device)
        got = {
            "mm": torch.mm(a, b),
            "bmm": torch.bmm(a[None], b[None])[0],
            "einsum": torch.einsum("bij,bjk->bik", a[None], b[None])[0],
            "linear": torch.nn.functional.linear(a, b.t()),
        }
        picked = {op: [result.tolist()[i][j] for i, j in places] for op, result in got.items()}
    for op, values in picked.items():
        compare(
            values,
            [(value, abs(value)) for value in wants],
            "float32",
            f"{op}, inner length {LONG}",
        )


def wide_columns(rng: random.Random, device: str) -> None:
    """Make a result of more than 32768 columns."""
    only_deep("134 MB")
    rows, columns = 1025, 32769
    fed, weight = draw(rng, rows), draw(rng, columns)
    edges = [(rows - 1, column) for column in (1023, 1024, 32767, 32768)]
    places = [(rng.randrange(rows), rng.randrange(columns)) for _ in range(500)] + edges
    with REPORT.act():
        x, w = (
            before_nan([[value] for value in values], "float32", device) for values in (fed, weight)
        )
        got = {
            "linear": torch.nn.functional.linear(x, w).cpu(),
            "matmul": torch.matmul(x, w.t()).cpu(),
        }
        got["bmm"] = torch.bmm(x[None], w.t()[None])[0].cpu()
    for op, result in got.items():
        wants = [(fed[i] * weight[j], abs(fed[i] * weight[j])) for i, j in places]
        compare(
            [result[i, j].item() for i, j in places], wants, "float32", f"{op}, {columns} columns"
        )


def huge_batch(rng: random.Random, device: str) -> None:
    """Make a result of more than 2**32 elements of a right operand that is transposed.

    On the CPU, a small one.
    """
    only_deep("up to 20 GiB")
    length, width, pool = 256, 16, 4
    count = 8 if device == "cpu" else (1 << 16) + 16
    if device != "cpu" and room(device) < 40 * GIB:
        # Half of what is free stays with those who share the card.
        raise CaseEnded(
            "skipped",
            f"takes 20 GiB where 40 are free; {device} says it has {room(device) / GIB:.0f}",
        )
    a, b = ([[draw(rng, width) for _ in range(length)] for _ in range(pool)] for _ in range(2))
    places = [(rng.randrange(length), rng.randrange(length)) for _ in range(200)]
    with REPORT.act():
        left, right = (
            before_nan(values, "float16", device).repeat(count // pool, 1, 1) for values in (a, b)
        )
        result = torch.bmm(left, right.transpose(1, 2))
        got = {index: result[index].cpu() for index in (0, count - 1)}
    for index, matrix in got.items():
        terms = [[x * y for x, y in zip(a[index % pool][i], b[index % pool][j])] for i, j in places]
        wants = [(math.fsum(each), (width + 4) * math.fsum(map(abs, each))) for each in terms]
        compare(
            [matrix[i, j].item() for i, j in places],
            wants,
            "float16",
            f"bmm, matrix {index} of {count}, right operand transposed",
        )


def one_output_gradient(rng: random.Random, device: str) -> None:
    """Hand the repeated gradient of a sum to a linear layer with one output."""
    rows, inner = 3840, 33
    fed, weight, slope = draw(rng, inner), draw(rng, inner), draw(rng, 1)[0]
    with REPORT.act():
        x = torch.tensor([fed] * rows, dtype=torch.float32, device=device, requires_grad=True)
        w = torch.tensor([weight], dtype=torch.float32, device=device, requires_grad=True)
        by_input, by_weight = torch.autograd.grad(
            torch.nn.functional.linear(x, w).sum() * slope, (x, w)
        )
        got, summed = by_input.tolist(), by_weight.tolist()[0]
    wants = [(slope * value, abs(slope * value)) for value in weight]
    compare(
        [value for row in got for value in row],
        wants * rows,
        "float32",
        f"gradient of linear to one output over {rows} rows, input",
    )
    wants = [(rows * slope * value, abs(rows * slope * value)) for value in fed]
    compare(summed, wants, "float32", f"gradient of linear to one output over {rows} rows, weight")


def only_deep(cost: str) -> None:
    """Leave out what costs much."""
    if os.environ.get("CANARY_TIER") != "deep":
        raise CaseEnded("skipped", f"only in the deep tier: takes {cost} of memory")


def room(device: str) -> int:
    """Bytes that a device has to spare, as far as torch tells."""
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


def main() -> None:
    """Try every size on every device."""
    for device in devices(torch):
        with REPORT.result(device) as data:
            REPORT.reach(torch, device)
            data["seed"] = random.SystemRandom().getrandbits(32)
            rng = random.Random(data["seed"])
            for name, trial in CASES.items():
                with REPORT.case(name):
                    trial(rng, device)
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
