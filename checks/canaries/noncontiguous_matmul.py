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
#     "dtypes", "transposed", "strided", "offset", "expanded", "permuted-batch", "size-one-dims", "permuted-heads", "bias", "into-view",
#     "backward",
# ]
# ///
"""Products of views that are not contiguous, and their gradients, agree with sums made in plain Python.

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

import math
import os
import random
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, CHECKS)
from canary_report import CaseEnded, Report, devices  # noqa: E402

sys.path.remove(CHECKS)


REPORT = Report()
torch = REPORT.load("torch")

if TYPE_CHECKING:
    Matrix = list[list[float]]
    Layout = Callable[[list[Matrix], Callable[[Any], Any]], Any]
    Want = tuple[
        float, float
    ]  # the exact value, and the error that is allowed for each unit of roundoff

NAN = math.nan
SHAPES = ((2, 9, 33, 13),)  # batch, rows, inner, columns
SHAPES_OF_ONE = ((1, 9, 33, 13), (2, 1, 33, 13), (2, 9, 33, 1), (1, 1, 33, 1))
DTYPES = ("float32", "float64", "float16", "bfloat16")
BETA, ALPHA = 0.5, 2.0  # powers of two: they round nothing


def draw(rng: random.Random, *shape: int) -> Any:
    """Nested lists of that shape, of eighths up to two and never zero: exact in every dtype."""
    if len(shape) == 1:
        return [eighths / 8 for eighths in rng.choices(EIGHTHS, k=shape[0])]
    return [draw(rng, *shape[1:]) for _ in range(shape[0])]


EIGHTHS = [sign * eighths for sign in (-1, 1) for eighths in range(1, 17)]


def flip(matrix: Matrix) -> Matrix:
    """Exchange rows and columns."""
    return [list(row) for row in zip(*matrix)]


def plain(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Lay the values out as they are."""
    return make(values)


def transposed(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Lay the matrices out column by column."""
    return make([flip(matrix) for matrix in values]).transpose(1, 2)


def strided(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Leave a gap after every element."""
    return make(
        [[[x for value in row for x in (value, NAN)] for row in matrix] for matrix in values]
    )[:, :, ::2]


def offset(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Begin inside the storage, with gaps between rows and between matrices."""
    width = len(values[0][0]) + 3
    framed = [[[NAN] * width] + [[NAN] * 3 + row for row in matrix] for matrix in values]
    return make([framed[0], *framed])[1:, 1:, 3:]


def expanded(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Repeat the first matrix with a batch stride of zero."""
    return make(values[:1]).expand(len(values), -1, -1)


def permuted_batch(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Let the batch run inside the rows."""
    return make([list(rows) for rows in zip(*values)]).permute(1, 0, 2)


def size_one_dims(values: list[Matrix], make: Callable[[Any], Any]) -> Any:
    """Give dimensions of size one a stride that no contiguous tensor has: it is never stepped, so never matters."""
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


def seen_through(layout: Layout, values: list[Matrix]) -> list[Matrix]:
    """What the view holds: one layout repeats the first matrix."""
    return [values[0]] * len(values) if layout is expanded else values


def shapes(layout: Layout) -> tuple[tuple[int, int, int, int], ...]:
    """The products to try with a layout."""
    return SHAPES_OF_ONE if layout is size_one_dims else SHAPES


def dot(row: list[float], column: list[float]) -> Want:
    """Sum the products of two lists, exactly."""
    terms = [x * y for x, y in zip(row, column)]
    return math.fsum(terms), (len(terms) + 4) * math.fsum(map(abs, terms))


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


def compare(got: Any, wants: Any, dtype: str, what: str) -> None:
    """Raise where an element is further off than rounding in that dtype explains, and say where it is worst."""
    unit = torch.finfo(getattr(torch, dtype)).eps / 2
    pairs = list(zip(flat(got), flat(wants)))
    wrong = [
        (value, exact, allowed * unit)
        for value, (exact, allowed) in pairs
        if not abs(value - exact) <= allowed * unit
    ]
    if wrong:
        errors = [
            (abs(value - exact) if math.isfinite(value) else math.inf, allowed)
            for value, exact, allowed in wrong
        ]
        error, allowed = max(errors)
        said = f"largest error {error:.3g}, allowed {allowed:.3g}; {len(wrong)} of {len(pairs)} elements are wrong"
        raise CaseEnded("failed", f"{what}, {dtype}: {said}")


def flat(values: Any) -> list[Any]:
    """Undo the nesting of lists of one depth."""
    values = values if isinstance(values, list) else [values]
    while isinstance(values[0], list):
        values = [value for part in values for value in part]
    return values


def maker(device: str, dtype: str) -> Callable[[Any], Any]:
    """Make contiguous tensors of nested lists."""
    return lambda values: torch.tensor(values, dtype=getattr(torch, dtype), device=device)


def after_poison(shape: Any, like: Any, make: Callable[[], Any]) -> Any:
    """Make a tensor of that shape where memory that was let go is likely to hold NaN."""
    torch.full(tuple(shape), NAN, dtype=like.dtype, device=like.device)
    return make()


def forward(layout: Layout, name: str, rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Try one layout on the left, on the right and on both sides."""
    for count, rows, inner, columns in shapes(layout):
        for left, right in (layout, plain), (plain, layout), (layout, layout):
            a, b = draw(rng, count, rows, inner), draw(rng, count, inner, columns)
            lefts, rights = seen_through(left, a), seen_through(right, b)
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
            for dtype in dtypes:
                with REPORT.act():
                    got = multiply(left(a, maker(device, dtype)), right(b, maker(device, dtype)))
                for op, values in got.items():
                    compare(
                        values, first.get(op, want), dtype, f"{op}, {name} operand on the {sides}"
                    )


def multiply(a: Any, b: Any) -> dict[str, Any]:
    """Every way from two operands to a product, as nested lists."""
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
        "matmul into out": poisoned.tolist(),
        **{op: after_poison(shape, a, make).tolist() for op, (shape, make) in ways.items()},
    }


def permuted_heads(rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Multiply queries by keys, both with their heads between batch and time, the way models hold them."""
    batch, steps, heads, width = 2, 7, 3, 8
    q, k = draw(rng, batch, steps, heads, width), draw(rng, batch, steps, heads, width)
    by_head = [[[row[head] for row in rows] for head in range(heads)] for rows in q]
    keys = [[flip([row[head] for row in rows]) for head in range(heads)] for rows in k]
    want = [products(*pair) for pair in zip(by_head, keys)]
    for dtype in dtypes:
        with REPORT.act():
            got = heads_multiplied(
                *(maker(device, dtype)(values).permute(0, 2, 1, 3) for values in (q, k))
            )
        for op, values in got.items():
            compare(values, want, dtype, f"{op}, permuted heads")


def heads_multiplied(queries: Any, keys: Any) -> dict[str, Any]:
    """Both ways to the scores of an attention, as nested lists."""
    shape = (*queries.shape[:3], keys.shape[2])
    return {
        "matmul": after_poison(
            shape, queries, lambda: torch.matmul(queries, keys.transpose(-1, -2))
        ).tolist(),
        "einsum": after_poison(
            shape, queries, lambda: torch.einsum("bhtd,bhsd->bhts", queries, keys)
        ).tolist(),
    }


def bias(rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Add a product to a bias of each layout, to a row of it, and to a destination of that layout in place."""
    count, rows, inner, columns = SHAPES[0]
    for name, layout in LAYOUTS.items():
        drawn = (
            draw(rng, count, rows, columns),
            draw(rng, count, rows, inner),
            draw(rng, count, inner, columns),
        )
        seen, row = seen_through(layout, drawn[0]), drawn[0][0][0]
        multiplied = products(drawn[1], drawn[2])
        want, shared = biased(multiplied, seen), biased(multiplied[:1], [[row] * rows])
        for dtype in dtypes:
            with REPORT.act():
                got = add_products(layout, *drawn, maker(device, dtype))
            for op, values in got.items():
                expected = {"baddbmm": want, "baddbmm_": want, "addmm of a row": shared[0]}.get(
                    op, want[0]
                )
                compare(values, expected, dtype, f"{op}, {name} bias")


def add_products(
    layout: Layout, c: Any, a: Any, b: Any, make: Callable[[Any], Any]
) -> dict[str, Any]:
    """Every way to add a product to a bias, as nested lists.

    In place only where no element stands for two.
    """
    bias, left, right = layout(c, make), transposed(a, make), plain(b, make)
    scale = {"beta": BETA, "alpha": ALPHA}
    got = {
        "addmm": after_poison(
            bias[0].shape, bias, lambda: torch.addmm(bias[0], left[0], right[0], **scale)
        ).tolist(),
        "addmm of a row": after_poison(
            bias[0].shape, bias, lambda: torch.addmm(bias[0, 0], left[0], right[0], **scale)
        ).tolist(),
        "baddbmm": after_poison(
            bias.shape, bias, lambda: torch.baddbmm(bias, left, right, **scale)
        ).tolist(),
    }
    if layout is not expanded:
        got["addmm_"] = layout(c, make)[0].addmm_(left[0], right[0], **scale).tolist()
        got["baddbmm_"] = layout(c, make).baddbmm_(left, right, **scale).tolist()
    return got


def into_view(rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Write products into views, and leave alone what lies between and around their elements."""
    count, rows, inner, columns = SHAPES[0]
    for name, layout in LAYOUTS.items():
        if layout in (expanded, size_one_dims):
            continue
        a, b = draw(rng, count, rows, inner), draw(rng, count, inner, columns)
        want = products(a, b)
        for dtype in dtypes:
            for op, write in WRITES.items():
                with REPORT.act():
                    got, spilled = written(layout, write, a, b, maker(device, dtype))
                one = op in ("mm", "addmm")
                compare(
                    got[0] if one else got,
                    want[0] if one else want,
                    dtype,
                    f"{op} into a {name} view",
                )
                if spilled:
                    raise CaseEnded(
                        "failed",
                        f"{op} into a {name} view, {dtype}: {spilled} elements outside the view were written",
                    )


def written(
    layout: Layout,
    write: Callable[[Any, Any, Any], Any],
    a: Any,
    b: Any,
    make: Callable[[Any], Any],
) -> tuple[Any, int]:
    """Write a product into a view of NaN.

    Return the view, and how many elements of its storage outside of it changed.
    """
    bases: list[Any] = []
    hole = [[[NAN] * len(b[0][0])] * len(a[0])] * len(a)
    view = layout(hole, lambda values: bases.append(make(values)) or bases[0])
    write(transposed(a, make), plain(b, make), view)
    steps = [range(0, size * stride, stride) for size, stride in zip(view.shape, view.stride())]
    inside = {
        view.storage_offset() + i + j + k for i in steps[0] for j in steps[1] for k in steps[2]
    }
    outside = [value for place, value in enumerate(flat(bases[0].tolist())) if place not in inside]
    return view.tolist(), sum(not math.isnan(value) for value in outside)


WRITES = {
    "matmul": lambda a, b, view: torch.matmul(a, b, out=view),
    "bmm": lambda a, b, view: torch.bmm(a, b, out=view),
    "mm": lambda a, b, view: torch.mm(a[0], b[0], out=view[0]),
    "addmm": lambda a, b, view: torch.addmm(torch.zeros_like(view[0]), a[0], b[0], out=view[0]),
    "baddbmm": lambda a, b, view: torch.baddbmm(torch.zeros_like(view), a, b, out=view),
    "copy_": lambda a, b, view: view.copy_(torch.matmul(a, b)),
}


def backward(rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Try one layout for all operands and for the gradient that comes in."""
    for name, layout in LAYOUTS.items():
        for count, rows, inner, columns in shapes(layout):
            drawn = [
                draw(rng, count, *sides)
                for sides in ((rows, inner), (inner, columns), (rows, columns))
            ]
            want = slopes(*(seen_through(layout, values) for values in drawn))
            for dtype in dtypes:
                with REPORT.act():
                    got = gradients(
                        *(layout(values, maker(device, dtype)).detach() for values in drawn)
                    )
                for what, values in got.items():
                    compare(values, want[what], dtype, f"gradient of {what}, {name} operands")


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
    """Hands a gradient in with its strides.

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


def gradients(a: Any, b: Any, g: Any) -> dict[str, Any]:
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
        found.update({f"{op}, {what}": slope.tolist() for what, slope in zip(operands, by_operand)})
    return found


CASES = {
    "permuted-heads": permuted_heads,
    "bias": bias,
    "into-view": into_view,
    "backward": backward,
}


def try_product(device: str, dtype: str) -> None:
    """Multiply the smallest thing there is."""
    ones = torch.ones(2, 2, dtype=getattr(torch, dtype), device=device)
    torch.bmm(ones[None], ones[None]).tolist()


def main() -> None:
    """Try every layout on every device."""
    # Products this small gain nothing from threads, and lose seconds to them where the processor is
    # busy.
    torch.set_num_threads(1)
    for device in devices(torch):
        with REPORT.result(device) as data:
            REPORT.reach(torch, device)
            data["seed"] = random.SystemRandom().getrandbits(32)
            with REPORT.case("dtypes"):
                REPORT.dtypes(torch, device, DTYPES, partial(try_product, device))
            rng = random.Random(data["seed"])
            for name, layout in LAYOUTS.items():
                with REPORT.case(name):
                    forward(layout, name, rng, device, data["dtypes"])
            for name, trial in CASES.items():
                with REPORT.case(name):
                    trial(rng, device, data["dtypes"])
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
