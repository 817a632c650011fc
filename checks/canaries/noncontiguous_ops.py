# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Reads and writes views that are not contiguous, element by element, and compares with plain Python"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# cases = [
#     "dtypes", "optimizer-step", "random-fill", "into-out", "special-functions", "sort", "join", "convolution", "normalization",
#     "conversion",
# ]
# ///
"""Operations other than products read views by their strides, write into views, and leave alone what lies around them.

A failure means that a kernel of this device takes its operands in the order of the storage, or does
not write where it should: an optimizer that does not step, noise that is not drawn, sorted numbers
of another row, and no error. `.contiguous()` on the operands, and a fresh destination, get around
it.

The oracle is plain Python. The drawn numbers are eighths, so that what is copied, sorted or joined
is exact, and the wrong element differs by an eighth or more. The rest may be off by what the worst
hardware does: 2**-9 of the absolute terms where a kernel may divide, take roots or convolve in
TF32, and 2**-14 for lgamma, digamma and a normalization. What is drawn at random has to be finite,
within its range, of a mean within six standard errors, and almost never twice the same. What lies
between the elements of a view is NaN, and must still be NaN afterwards.

Each is known to have been wrong on Metal (numbers of issues and pulls of pytorch/pytorch): addcdiv_
and addcmul_ (118115, 124442), random in-place operations (124029, 165257), out= and bitwise
operations (145203, 148512), lgamma, digamma and sort (175187), cat (78043), conv2d with a slice of
a weight (192212), batch_norm of a slice (133520), copies from and to an offset (108978, 189563).
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable, Iterator
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
    Make = Callable[[Any], Any]
    Laid = tuple[Any, Any]  # a view, and the tensor below it

NAN = math.nan
ROWS, COLUMNS = 9, 14
EIGHTHS = [sign * eighths / 8 for sign in (-1, 1) for eighths in range(1, 17)]


def draw(rng: random.Random, *shape: int) -> Any:
    """Nested lists of that shape, of eighths up to two and never zero."""
    return (
        rng.choices(EIGHTHS, k=shape[0])
        if len(shape) == 1
        else [draw(rng, *shape[1:]) for _ in range(shape[0])]
    )


def flip(matrix: Any) -> Any:
    """Exchange rows and columns."""
    return [list(row) for row in zip(*matrix)]


def transposed(values: Matrix, make: Make) -> Laid:
    """Lay the matrix out column by column."""
    base = make(flip(values))
    return base.t(), base


def strided(values: Matrix, make: Make) -> Laid:
    """Leave a gap after every element."""
    base = make([[x for value in row for x in (value, NAN)] for row in values])
    return base[:, ::2], base


def offset(values: Matrix, make: Make) -> Laid:
    """Begin inside the storage, with gaps between rows."""
    base = make([[NAN] * (len(values[0]) + 3)] + [[NAN] * 3 + row for row in values])
    return base[1:, 3:], base


LAYOUTS = (transposed, strided, offset)


def maker(device: str, dtype: str) -> Make:
    """Make contiguous tensors of nested lists."""
    return lambda values: torch.tensor(values, dtype=getattr(torch, dtype), device=device)


def flat(values: Any) -> list[Any]:
    """Undo the nesting of lists of one depth."""
    while isinstance(values[0], list):
        values = [value for part in values for value in part]
    return values


def compare(
    got: Any, want: Any, what: str, allowed: Callable[[float], float] = lambda _: 0.0
) -> None:
    """Raise where an element is further off than allowed, and say where it is first so."""
    pairs = list(zip(flat(got), flat(want)))
    wrong = [(value, exact) for value, exact in pairs if not abs(value - exact) <= allowed(exact)]
    if wrong:
        said = f"{len(wrong)} of {len(pairs)} elements are wrong, the first is {wrong[0][0]:.8g}, expected {wrong[0][1]:.8g}"
        raise CaseEnded("failed", f"{what}: {said}")


def around(view: Any, base: Any) -> int:
    """Count what is no longer NaN outside a view of two dimensions."""
    steps = [range(0, size * stride, stride) for size, stride in zip(view.shape, view.stride())]
    inside = {view.storage_offset() + i + j for i in steps[0] for j in steps[1]}
    return sum(
        not math.isnan(value)
        for place, value in enumerate(flat(base.tolist()))
        if place not in inside
    )


def untouched(spilled: int, what: str) -> None:
    """Raise where something was written outside a view."""
    if spilled:
        raise CaseEnded("failed", f"{what}: {spilled} elements outside the view were written")


def try_all(device: str, dtype: str) -> None:
    """Step, take roots, sort and join the smallest thing there is.

    On CUDA every GPU has these dtypes, and the cases tell what fails.
    """
    if device.startswith("cuda"):
        return
    ones = torch.ones(2, 2, dtype=getattr(torch, dtype), device=device)
    ones.addcmul_(ones, ones).addcdiv_(ones, ones).sqrt().sort(dim=1)
    torch.cat((ones, ones)).argsort(dim=1).tolist()


def each_layout(device: str) -> Iterator[tuple[Any, str, Make, str]]:
    """Every layout with every dtype of this device: the layout, its name, how to make a tensor, and the dtype."""
    for layout in LAYOUTS:
        for dtype in REPORT.results[-1]["data"]["dtypes"]:
            yield layout, layout.__name__, maker(device, dtype), dtype


def optimizer_step(rng: random.Random, device: str) -> None:
    """Add products and quotients in place, as optimizers do, with operands of other layouts."""
    x, y = draw(rng, ROWS, COLUMNS), draw(rng, ROWS, COLUMNS)
    z = [[2.0 ** rng.randint(-2, 2) for _ in row] for row in x]
    steps = {
        "addcmul_": lambda a, b, c: a + 0.5 * b * c,
        "addcdiv_": lambda a, b, c: a + 0.5 * b / c,
    }
    for layout, name, make, dtype in each_layout(device):
        for op, step in steps.items():
            want = [[step(*each) for each in zip(*rows)] for rows in zip(x, y, z)]
            with REPORT.act():
                view, base = layout(x, make)
                getattr(view, op)(transposed(y, make)[0], make(z), value=0.5)
                got, spilled = view.tolist(), around(view, base)
            compare(
                got, want, f"{op} into a {name} view, {dtype}", lambda value: (abs(value) + 4) / 512
            )
            untouched(spilled, f"{op} into a {name} view, {dtype}")


def random_fill(rng: random.Random, device: str) -> None:
    """Draw random numbers into views of NaN."""
    torch.manual_seed(rng.getrandbits(31))
    draws = {
        "normal_": (lambda view: view.normal_(1.0, 0.25), (-2.0, 4.0), 1.0, 0.25),
        "uniform_": (lambda view: view.uniform_(2.0, 3.0), (2.0, 3.0), 2.5, 0.29),
        "exponential_": (lambda view: view.exponential_(2.0), (0.0, 40.0), 0.5, 0.5),
        "bernoulli_": (lambda view: view.bernoulli_(0.5), (0.0, 1.0), 0.5, 0.5),
        "random_": (lambda view: view.random_(0, 1000), (0.0, 999.0), 499.5, 289.0),
    }
    hole = [[NAN] * (4 * COLUMNS)] * (4 * ROWS)
    for layout in LAYOUTS:
        for op, (fill, (least, most), mean, deviation) in draws.items():
            what = f"{op} into a {layout.__name__} view"
            with REPORT.act():
                view, base = layout(hole, maker(device, "float32"))
                fill(view)
                got, spilled = flat(view.tolist()), around(view, base)
            strange = [value for value in got if not least <= value <= most]
            if strange:
                raise CaseEnded(
                    "failed",
                    f"{what}: {len(strange)} of {len(got)} are not within {least:g} and {most:g}, the first is {strange[0]:g}",
                )
            if abs(math.fsum(got) / len(got) - mean) > 6 * deviation / math.sqrt(len(got)):
                raise CaseEnded(
                    "failed",
                    f"{what}: the mean of {len(got)} is {math.fsum(got) / len(got):.3g}, expected {mean:g}",
                )
            if op != "bernoulli_" and len(set(got)) < len(got) / 3:
                raise CaseEnded("failed", f"{what}: only {len(set(got))} of {len(got)} differ")
            untouched(spilled, what)


def into_out(rng: random.Random, device: str) -> None:
    """Write results of views into views of another tensor; of whole numbers too, bit by bit."""
    x = draw(rng, ROWS, COLUMNS)
    hole, squares = [[NAN] * COLUMNS] * ROWS, [[value * value for value in row] for row in x]
    for layout, name, make, dtype in each_layout(device):
        with REPORT.act():
            view, base = layout(hole, make)
            torch.sqrt(layout(squares, make)[0], out=view)
            got, spilled = view.tolist(), around(view, base)
        compare(
            got,
            [[abs(value) for value in row] for row in x],
            f"sqrt of and into a {name} view, {dtype}",
            lambda value: value / 512,
        )
        untouched(spilled, f"sqrt into a {name} view, {dtype}")
    a, b = ([[rng.getrandbits(30) for _ in range(COLUMNS)] for _ in range(ROWS)] for _ in range(2))
    with REPORT.act():
        make = maker(device, "int32")
        wide = torch.full((ROWS, 2 * COLUMNS), -1, dtype=torch.int32, device=device)
        torch.bitwise_and(make(flip(a)).t(), make(b), out=wide[:, ::2])
        got = wide.tolist()
    compare(
        got,
        [[x for p, q in zip(*rows) for x in (p & q, -1)] for rows in zip(a, b)],
        "bitwise_and into every other column",
    )


def special_functions(rng: random.Random, device: str) -> None:
    """Take functions that have kernels of their own, of views."""
    x = [[abs(value) for value in row] for row in draw(rng, ROWS, COLUMNS)]
    functions = {
        "lgamma": (torch.lgamma, math.lgamma),
        "digamma": (torch.digamma, digamma),
        "isfinite": (torch.isfinite, math.isfinite),
    }
    for layout in LAYOUTS:
        for op, (function, exact) in functions.items():
            with REPORT.act():
                got = function(layout(x, maker(device, "float32"))[0]).tolist()
            want = [[exact(value) for value in row] for row in x]
            compare(
                got,
                want,
                f"{op} of a {layout.__name__} view",
                lambda value: (1 + abs(value)) / (1 << 14),
            )


def digamma(x: float) -> float:
    """The derivative of lgamma: shifted up until five terms of its series are enough."""
    shifted = 0.0
    while x < 10:
        shifted, x = shifted - 1 / x, x + 1
    square = 1 / (x * x)
    return (
        shifted
        + math.log(x)
        - 0.5 / x
        - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    )


def sort(rng: random.Random, device: str) -> None:
    """Sort the rows and the columns of views."""
    x = [[float(value) for value in rng.sample(range(2000), COLUMNS)] for _ in range(ROWS)]
    for layout, name, make, dtype in each_layout(device):
        with REPORT.act():
            view = layout(x, make)[0]
            rows, columns, places = (
                each.tolist()
                for each in (view.sort(dim=1)[0], view.sort(dim=0)[0], view.argsort(dim=1))
            )
        compare(rows, [sorted(row) for row in x], f"sort of the rows of a {name} view, {dtype}")
        compare(
            columns,
            flip(sorted(column) for column in flip(x)),
            f"sort of the columns of a {name} view, {dtype}",
        )
        compare(
            places,
            [sorted(range(COLUMNS), key=row.__getitem__) for row in x],
            f"argsort of the rows of a {name} view, {dtype}",
        )


def join(rng: random.Random, device: str) -> None:
    """Put views beside each other and on top of each other, as rotary embeddings do."""
    x = draw(rng, ROWS, COLUMNS)
    for layout, name, make, dtype in each_layout(device):
        with REPORT.act():
            view = layout(x, make)[0]
            joined = torch.cat((view[:, 1::2], view[:, ::2]), dim=-1).tolist()
            stacked = torch.stack((-view[:, 1::2], view[:, ::2]), dim=-1).flatten(-2).tolist()
        compare(
            joined, [row[1::2] + row[::2] for row in x], f"cat of parts of a {name} view, {dtype}"
        )
        turned = [
            [x for pair in zip(row[1::2], row[::2]) for x in (-pair[0], pair[1])] for row in x
        ]
        compare(stacked, turned, f"stack of parts of a {name} view, {dtype}")


def convolution(rng: random.Random, device: str) -> None:
    """Convolve with one slice of the weight of a convolution in three dimensions, and differentiate by it."""
    channels, made, side, size = 4, 3, 3, 6
    image, weight = draw(rng, 1, channels, size, size), draw(rng, made, channels, side, side, side)
    gradient = draw(rng, 1, made, size - side + 1, size - side + 1)
    kernel = [[planes[1] for planes in maps] for maps in weight]
    terms = [
        [
            [
                [
                    image[0][c][i + y][j + x] * k[c][y][x]
                    for c in range(channels)
                    for y in range(side)
                    for x in range(side)
                ]
                for j in range(size - side + 1)
            ]
            for i in range(size - side + 1)
        ]
        for k in kernel
    ]
    slopes = [
        [
            [
                [
                    [
                        gradient[0][m][i][j] * image[0][c][i + y][j + x]
                        for i in range(size - side + 1)
                        for j in range(size - side + 1)
                    ]
                    for x in range(side)
                ]
                for y in range(side)
            ]
            for c in range(channels)
        ]
        for m in range(made)
    ]
    with REPORT.act():
        make = maker(device, "float32")
        sliced = make(weight)[:, :, 1].detach().requires_grad_()
        result = torch.nn.functional.conv2d(make(image), sliced)
        (slope,) = torch.autograd.grad((result * make(gradient)).sum(), (sliced,))
        got, back = result[0].tolist(), slope.tolist()
    summed(got, terms, "conv2d with a slice of a weight")
    summed(back, slopes, "conv2d with a slice of a weight, gradient of it")


def summed(got: Any, terms: Any, what: str) -> None:
    """Compare sums, whose terms are the innermost lists."""
    groups = terms
    while isinstance(groups[0][0], list):
        groups = [group for part in groups for group in part]
    for value, group in zip(flat(got), groups):
        allowed = math.fsum(map(abs, group)) / 512
        if not abs(value - math.fsum(group)) <= allowed:
            raise CaseEnded(
                "failed",
                f"{what}: an element is {value:.6g}, expected {math.fsum(group):.6g} within {allowed:.3g}",
            )


def normalization(rng: random.Random, device: str) -> None:
    """Normalize a view by statistics that are given."""
    x, mean, gain, shift = draw(rng, ROWS, COLUMNS), *(draw(rng, COLUMNS) for _ in range(3))
    variance = [2.0 ** rng.randint(-4, 4) for _ in mean]
    want, terms = [], []
    for row in x:
        parts = [
            ((value - m) / math.sqrt(v + 1e-5) * g, s)
            for value, m, v, g, s in zip(row, mean, variance, gain, shift)
        ]
        want.append([scaled + s for scaled, s in parts])
        terms.append(
            [
                (abs(value) + abs(m)) / math.sqrt(v) * abs(g) + abs(s)
                for value, m, v, g, s in zip(row, mean, variance, gain, shift)
            ]
        )
    allowed = max(flat(terms)) / (1 << 14)
    for layout in LAYOUTS:
        with REPORT.act():
            make = maker(device, "float32")
            view = layout(x, make)[0]
            got = torch.nn.functional.batch_norm(
                view, make(mean), make(variance), make(gain), make(shift), training=False, eps=1e-5
            ).tolist()
        compare(got, want, f"batch_norm of a {layout.__name__} view", lambda _: allowed)


def conversion(rng: random.Random, device: str) -> None:
    """Copy from an offset and to one, into another dtype, and leave the source as it was."""
    x = draw(rng, COLUMNS + 2)
    for to in "cpu", device:
        with REPORT.act():
            source = torch.tensor(x, dtype=torch.float32, device=device)
            storage = torch.full((len(x) + 1,), NAN, dtype=torch.float16, device=to)
            storage[3:].copy_(source[2:])
            read, got, kept = source[2:].to(to).tolist(), storage.tolist(), source.tolist()
        compare(read, x[2:], f"copy to {to} of what begins at an offset")
        compare(got[3:], x[2:], f"copy to {to} into another dtype, at an offset")
        untouched(
            sum(not math.isnan(value) for value in got[:3]),
            f"copy to {to} into another dtype, at an offset",
        )
        compare(kept, x, f"copy to {to} into another dtype: its source afterwards")


CASES = {
    "optimizer-step": optimizer_step,
    "random-fill": random_fill,
    "into-out": into_out,
    "special-functions": special_functions,
    "sort": sort,
    "join": join,
    "convolution": convolution,
    "normalization": normalization,
    "conversion": conversion,
}


def judge(trial: Callable[[random.Random, str], None], rng: random.Random, device: str) -> None:
    """Try a case.

    What a device does not have at all is not wrong there, unless it is a GPU that has everything.
    """
    try:
        trial(rng, device)
    except CaseEnded as end:
        verdict, reason = end.args
        absent = reason.startswith("NotImplementedError") and not device.startswith("cuda")
        raise CaseEnded("skipped" if absent else verdict, reason) from end


def main() -> None:
    """Try every case on every device."""
    # Matrices this small gain nothing from threads, and lose seconds to them where the processor is
    # busy.
    torch.set_num_threads(1)
    for device in devices(torch):
        with REPORT.result(device) as data:
            REPORT.reach(torch, device)
            data["seed"] = random.SystemRandom().getrandbits(32)
            rng = random.Random(data["seed"])
            with REPORT.case("dtypes"):
                REPORT.dtypes(torch, device, ("float32", "float16"), partial(try_all, device))
            for name, trial in CASES.items():
                with REPORT.case(name):
                    judge(trial, rng, device)
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
