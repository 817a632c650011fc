# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Multiplies views that are not contiguous and compares with products made without torch"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# cases = [
#     "dtypes", "transposed", "strided", "offset", "expanded", "permuted-batch", "size-one-dims",
#     "permuted-heads", "bias", "into-view", "backward",
# ]
# ///
"""Products of non-contiguous views, and their gradients, agree with sums made in plain Python.

A failure means that a matmul kernel of this device reads its operands, or writes its result, by the
wrong strides: models give wrong numbers and no error. `.contiguous()` on the operands gets around
it.

The oracle never enters torch: the operands are drawn as Python lists, and each expected element is
a `math.fsum` of products. An element of reduction length k is right within (k + 4) u S, where u is
the unit roundoff of the dtype and S the sum of the absolute products, a bias included: the bound of
a dot product summed in that dtype, in any order. The operands have five significant bits, so that
inputs rounded on purpose (TF32) are not mistaken for a wrong stride. What lies between the elements
of a view is NaN; memory of the size of a result is filled with NaN and let go before the product is
asked for, and what lies around a result that is written into a view must still be NaN afterwards.

Cases that Metal is known to have got wrong (numbers of issues and pulls of pytorch/pytorch): linear
with a weight that is not contiguous (161640, 162730), or with a repeated input (167154); a product
of permuted heads (78511); out= a slice (104832).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle
from canary_cases import Trial, run_table
from canary_report import Report
from oracle import NAN, dot, flip, read

REPORT = Report()
torch = REPORT.load("torch")

if TYPE_CHECKING:
    Matrix = list[list[float]]
    Make = Callable[[Any], Any]
    Layout = Callable[[list[Matrix], Make], Any]
    Want = tuple[float, float]  # the exact value, and the error allowed per unit of roundoff

SHAPES = ((2, 9, 33, 13),)  # batch, rows, inner, columns
SHAPES_OF_ONE = ((1, 9, 33, 13), (2, 1, 33, 13), (2, 9, 33, 1), (1, 1, 33, 1))
DTYPES = ("float32", "float64", "float16", "bfloat16")
BETA, ALPHA = 0.5, 2.0  # powers of two: they round nothing


def plain(values: list[Matrix], make: Make) -> Any:
    """Lay the values out as they are."""
    return make(values)


def transposed(values: list[Matrix], make: Make) -> Any:
    """Lay the matrices out column by column."""
    return make([flip(matrix) for matrix in values]).transpose(1, 2)


def strided(values: list[Matrix], make: Make) -> Any:
    """Leave a gap after every element."""
    return make([[oracle.strided(row) for row in matrix] for matrix in values])[:, :, ::2]


def offset(values: list[Matrix], make: Make) -> Any:
    """Begin inside the storage, with gaps between rows and between matrices."""
    width = len(values[0][0]) + 3
    framed = [[[NAN] * width] + [[NAN] * 3 + row for row in matrix] for matrix in values]
    return make([framed[0], *framed])[1:, 1:, 3:]


def expanded(values: list[Matrix], make: Make) -> Any:
    """Repeat the first matrix with a batch stride of zero."""
    return make(values[:1]).expand(len(values), -1, -1)


def permuted_batch(values: list[Matrix], make: Make) -> Any:
    """Let the batch run inside the rows."""
    return make(flip(values)).permute(1, 0, 2)


def size_one_dims(values: list[Matrix], make: Make) -> Any:
    """Give dimensions of size one a stride that no contiguous tensor has.

    It is never stepped, so it never matters.
    """
    base = make(values)
    return base.as_strided(
        base.shape, [7 if size == 1 else stride for size, stride in zip(base.shape, base.stride())]
    )


LAYOUTS = {
    "transposed": transposed,
    "strided": strided,
    "offset": offset,
    "expanded": expanded,
    "permuted-batch": permuted_batch,
    "size-one-dims": size_one_dims,
}


def values_of_view(layout: Layout, values: list[Matrix]) -> list[Matrix]:
    """Return what the view holds: one layout repeats the first matrix."""
    return [values[0]] * len(values) if layout is expanded else values


def shapes(layout: Layout) -> tuple[tuple[int, int, int, int], ...]:
    """Return the sizes of the products to try with a layout."""
    return SHAPES_OF_ONE if layout is size_one_dims else SHAPES


def product(left: Matrix, right: Matrix) -> list[list[Want]]:
    """Multiply two matrices."""
    columns = flip(right)
    return [[dot(row, column) for column in columns] for row in left]


def products(lefts: Iterable[Matrix], rights: Iterable[Matrix]) -> list[list[list[Want]]]:
    """Multiply pair by pair."""
    return [product(left, right) for left, right in zip(lefts, rights)]


def biased(wants: list[list[list[Want]]], bias: list[Matrix]) -> list[list[list[Want]]]:
    """Take ALPHA of every product and add BETA of the bias."""
    return [
        [
            [
                (BETA * x + ALPHA * exact, 4 * abs(BETA * x) + ALPHA * allowed)
                for (exact, allowed), x in zip(*rows)
            ]
            for rows in zip(*pair)
        ]
        for pair in zip(wants, bias)
    ]


def check(trial: Trial, got: oracle.Output, want: Any, dtype: str, what: str) -> None:
    """Compare within the rounding of sums in that dtype."""
    oracle.check(got, want, what, dtype=dtype, unit=trial.roundoff(dtype))


def try_product(device: str, dtype: str) -> None:
    """Multiply the smallest thing there is."""
    ones = torch.ones(2, 2, dtype=getattr(torch, dtype), device=device)
    torch.bmm(ones[None], ones[None]).tolist()


def dtypes(trial: Trial) -> None:
    """Find the dtypes that this device multiplies."""
    trial.find_dtypes(DTYPES, try_product)


def forward(name: str, layout: Layout, trial: Trial) -> None:
    """Try one layout on the left, on the right and on both sides."""
    for count, rows, inner, columns in shapes(layout):
        for left, right in (layout, plain), (plain, layout), (layout, layout):
            a, b = trial.draw(count, rows, inner), trial.draw(count, inner, columns)
            lefts, rights = values_of_view(left, a), values_of_view(right, b)
            want, shared = products(lefts, rights), products(lefts, rights[:1] * count)
            first = {
                "linear": shared,
                "mm": want[0],
                "mv": [row[0] for row in want[0]],
                "dot": want[0][0][0],
            }
            sides = " and ".join(
                side for side, how in (("left", left), ("right", right)) if how is layout
            )
            for dtype in trial.dtypes:
                make = trial.make(dtype)
                with trial.act():
                    got = multiply(trial, left(a, make), right(b, make))
                for op, result in got.items():
                    what = f"{op}, {name} operand on the {sides}"
                    check(trial, result, first.get(op, want), dtype, what)


def multiply(trial: Trial, a: Any, b: Any) -> dict[str, oracle.Output]:
    """Return what every way from two operands to a product gives.

    `a` has the shape (batch, rows, inner), `b` (batch, inner, columns).
    """
    whole, one = (a.shape[0], a.shape[1], b.shape[2]), (a.shape[1], b.shape[2])
    poisoned = torch.full(whole, NAN, dtype=a.dtype, device=a.device)
    torch.matmul(a, b, out=poisoned)
    ways = {
        "matmul": (whole, lambda: torch.matmul(a, b)),
        "bmm": (whole, lambda: torch.bmm(a, b)),
        "einsum": (whole, lambda: torch.einsum("bij,bjk->bik", a, b)),
        "linear": (whole, lambda: torch.nn.functional.linear(a, b[0].t())),
        "mm": (one, lambda: torch.mm(a[0], b[0])),
        "mv": (one[:1], lambda: torch.mv(a[0], b[0, :, 0])),
        "dot": ((), lambda: torch.dot(a[0, 0], b[0, :, 0])),
    }
    return {
        "matmul into out": read(poisoned),
        **{op: trial.run_twice(shape, a, compute) for op, (shape, compute) in ways.items()},
    }


def permuted_heads(trial: Trial) -> None:
    """Multiply queries by keys with their heads between batch and time, as models hold them."""
    batch, steps, heads, width = 2, 7, 3, 8
    q, k = trial.draw(batch, steps, heads, width), trial.draw(batch, steps, heads, width)
    want = [
        products(flip(queries), map(flip, flip(keys))) for queries, keys in zip(q, k)
    ]  # flip: head by head
    for dtype in trial.dtypes:
        with trial.act():
            queries, keys = (trial.make(dtype)(values).permute(0, 2, 1, 3) for values in (q, k))
            shape = (batch, heads, steps, steps)
            got = {
                "matmul": trial.run(
                    shape, queries, partial(torch.matmul, queries, keys.transpose(-1, -2))
                ),
                "einsum": trial.run(
                    shape, queries, partial(torch.einsum, "bhtd,bhsd->bhts", queries, keys)
                ),
            }
        for op, result in got.items():
            check(trial, result, want, dtype, f"{op}, permuted heads")


def bias(trial: Trial) -> None:
    """Add a product to a bias of each layout, to a row of it, and in place."""
    count, rows, inner, columns = SHAPES[0]
    for name, layout in LAYOUTS.items():
        c, a, b = (
            trial.draw(count, *sides)
            for sides in ((rows, columns), (rows, inner), (inner, columns))
        )
        multiplied = products(a, b)
        want = biased(multiplied, values_of_view(layout, c))
        of_row = biased(multiplied[:1], [[c[0][0]] * rows])[0]
        expected = {"baddbmm": want, "baddbmm_": want, "addmm of a row": of_row}
        for dtype in trial.dtypes:
            with trial.act():
                got = add_products(trial, layout, c, a, b, trial.make(dtype))
            for op, result in got.items():
                check(trial, result, expected.get(op, want[0]), dtype, f"{op}, {name} bias")


def add_products(
    trial: Trial, layout: Layout, c: Any, a: Any, b: Any, make: Make
) -> dict[str, oracle.Output]:
    """Return what every way to add a product to a bias gives.

    In place only if no element of the bias stands for two.
    """
    bias, left, right = layout(c, make), transposed(a, make), plain(b, make)
    scale = {"beta": BETA, "alpha": ALPHA}
    one, whole = bias[0].shape, bias.shape
    got = {
        "addmm": trial.run(one, bias, lambda: torch.addmm(bias[0], left[0], right[0], **scale)),
        "addmm of a row": trial.run(
            one, bias, lambda: torch.addmm(bias[0, 0], left[0], right[0], **scale)
        ),
        "baddbmm": trial.run(whole, bias, lambda: torch.baddbmm(bias, left, right, **scale)),
    }
    if layout is not expanded:
        single, batch = layout(c, make)[0], layout(c, make)
        single.addmm_(left[0], right[0], **scale)
        batch.baddbmm_(left, right, **scale)
        got.update({"addmm_": read(single), "baddbmm_": read(batch)})
    return got


def into_view(trial: Trial) -> None:
    """Write products into views, and leave alone what lies between and around their elements."""
    count, rows, inner, columns = SHAPES[0]
    for name, layout in LAYOUTS.items():
        if layout in (expanded, size_one_dims):
            continue
        a, b = trial.draw(count, rows, inner), trial.draw(count, inner, columns)
        want = products(a, b)
        for dtype in trial.dtypes:
            for op, write in WRITES.items():
                with trial.act():
                    got, spilled = product_in_nan(layout, write, a, b, trial.make(dtype))
                what = f"{op} into a {name} view"
                check(trial, got, want[0] if write in OF_ONE else want, dtype, what)
                oracle.check_untouched(spilled, f"{what}, {dtype}")


def product_in_nan(
    layout: Layout, write: Callable[[Any, Any, Any], Any], a: Any, b: Any, make: Make
) -> tuple[oracle.Output, int]:
    """Write a product into a view of NaN.

    Return what the view holds, and how many elements of its storage outside of it changed.
    """
    bases: list[Any] = []
    hole = [[[NAN] * len(b[0][0])] * len(a[0])] * len(a)
    view = layout(hole, lambda values: bases.append(make(values)) or bases[0])
    write(transposed(a, make), plain(b, make), view)
    target = view[0] if write in OF_ONE else view
    return read(target), oracle.count_written_around(view, bases[0])


WRITES = {
    "matmul": lambda a, b, view: torch.matmul(a, b, out=view),
    "bmm": lambda a, b, view: torch.bmm(a, b, out=view),
    "mm": lambda a, b, view: torch.mm(a[0], b[0], out=view[0]),
    "addmm": lambda a, b, view: torch.addmm(torch.zeros_like(view[0]), a[0], b[0], out=view[0]),
    "baddbmm": lambda a, b, view: torch.baddbmm(torch.zeros_like(view), a, b, out=view),
    "copy_": lambda a, b, view: view.copy_(torch.matmul(a, b)),
}
OF_ONE = (WRITES["mm"], WRITES["addmm"])
"""Those that write the first matrix alone."""


def backward(trial: Trial) -> None:
    """Try one layout for all operands and for the gradient that comes in."""
    for name, layout in LAYOUTS.items():
        for count, rows, inner, columns in shapes(layout):
            drawn = [
                trial.draw(count, *sides)
                for sides in ((rows, inner), (inner, columns), (rows, columns))
            ]
            want = slopes(*(values_of_view(layout, values) for values in drawn))
            for dtype in trial.dtypes:
                make = trial.make(dtype)
                with trial.act():
                    got = gradients(*(layout(values, make).detach() for values in drawn))
                for what, result in got.items():
                    check(trial, result, want[what], dtype, f"gradient of {what}, {name} operands")


def slopes(a: list[Matrix], b: list[Matrix], g: list[Matrix]) -> dict[str, Any]:
    """Work out by hand what `gradients` asks autograd for."""
    fed, incoming = ([row for matrix in batch for row in matrix] for batch in (a, g))
    left, right = products(g, map(flip, b)), products(map(flip, a), g)
    bias = [[[(BETA * value, 0.0) for value in row] for row in matrix] for matrix in g]
    scaled = [
        [
            [[(ALPHA * exact, ALPHA * allowed) for exact, allowed in row] for row in matrix]
            for matrix in side
        ]
        for side in (left, right)
    ]
    return {
        **dict.fromkeys(("matmul, left", "einsum, left"), left),
        **dict.fromkeys(("matmul, right", "einsum, right"), right),
        "linear, input": products(g, [flip(b[0])] * len(g)),
        "linear, weight": product(flip(incoming), fed),
        **dict(zip(("baddbmm, bias", "baddbmm, left", "baddbmm, right"), (bias, *scaled))),
        **dict(
            zip(
                ("addmm, bias", "addmm, left", "addmm, right"),
                (bias[0], scaled[0][0], scaled[1][0]),
            )
        ),
    }


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


def gradients(a: Any, b: Any, g: Any) -> dict[str, oracle.Output]:
    """Differentiate products, a linear layer and products with a bias by their operands."""
    weight = b[0].t().detach().requires_grad_()
    c = torch.zeros(g.shape, dtype=g.dtype, device=g.device, requires_grad=True)
    a.requires_grad_()
    b.requires_grad_()
    one, left, right = (operand[0].detach().requires_grad_() for operand in (c, a, b))
    scale = {"beta": BETA, "alpha": ALPHA}
    asked = {
        "matmul": (torch.matmul(a, b), g, {"left": a, "right": b}),
        "einsum": (torch.einsum("bij,bjk->bik", a, b), g, {"left": a, "right": b}),
        "linear": (torch.nn.functional.linear(a, weight), g, {"input": a, "weight": weight}),
        "baddbmm": (torch.baddbmm(c, a, b, **scale), g, {"bias": c, "left": a, "right": b}),
        "addmm": (
            torch.addmm(one, left, right, **scale),
            g[0],
            {"bias": one, "left": left, "right": right},
        ),
    }
    found = {}
    for op, (result, gradient, operands) in asked.items():
        by_operand = torch.autograd.grad(Incoming.apply(result, gradient), tuple(operands.values()))
        found.update({f"{op}, {what}": read(slope) for what, slope in zip(operands, by_operand)})
    return found


CASES = {
    "dtypes": dtypes,
    **{name: partial(forward, name, layout) for name, layout in LAYOUTS.items()},
    "permuted-heads": permuted_heads,
    "bias": bias,
    "into-view": into_view,
    "backward": backward,
}


def main() -> None:
    """Try every layout on every device."""
    # Products this small gain nothing from threads, and lose seconds to them where the processor is
    # busy.
    torch.set_num_threads(1)
    run_table(REPORT, torch, CASES)


if __name__ == "__main__":
    REPORT.run(main)
