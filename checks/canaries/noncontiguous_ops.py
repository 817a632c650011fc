# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Reads and writes non-contiguous views, and compares with plain Python"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# cases = [
#     "dtypes", "optimizer-step", "random-fill", "into-out", "special-functions", "sort", "join",
#     "convolution", "normalization", "conversion",
# ]
# ///
"""Operations read views by their strides, write into views, and change nothing around them.

A failure means that a kernel of this device takes its operands in the order of the storage, or does
not write where it should: an optimizer that does not step, noise that is not drawn, sorted numbers
of another row, and no error. `.contiguous()` on the operands, and a fresh destination, get around
it.

The oracle is plain Python. The drawn numbers are eighths, so that what is copied, sorted or joined
is exact, and the wrong element differs by an eighth or more. The rest may be off by what the worst
hardware does: 2**-9 of the absolute terms where a kernel may divide, take roots or convolve in
TF32, and 2**-14 for lgamma, digamma and a normalization. Numbers that are drawn at random have to
be possible, to follow their distribution within a bound that a correct generator misses once in
10**9 tests, and almost never to be there twice. What lies
between the elements of a view is NaN, and must still be NaN afterwards.

Each is known to have been wrong on Metal (numbers of issues and pulls of pytorch/pytorch): addcdiv_
and addcmul_ (118115, 124442), random in-place operations (124029, 165257), out= and bitwise
operations (145203, 148512), lgamma, digamma and sort (175187), cat (78043), conv2d with a slice of
a weight (192212), batch_norm of a slice (133520), copies from and to an offset (108978, 189563).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle
from canary_cases import Trial, run_table, skip_if_not_implemented
from canary_report import Report
from oracle import NAN, check, check_untouched, count_written_around, flat, flip, read

REPORT = Report()
torch = REPORT.load("torch")

if TYPE_CHECKING:
    Matrix = list[list[float]]
    Make = Callable[[Any], Any]
    Laid = tuple[Any, Any]  # a view, and the tensor below it

ROWS, COLUMNS = 9, 14


def transposed(values: Matrix, make: Make) -> Laid:
    """Lay the matrix out column by column."""
    base = make(flip(values))
    return base.t(), base


def strided(values: Matrix, make: Make) -> Laid:
    """Leave a gap after every element."""
    base = make([oracle.strided(row) for row in values])
    return base[:, ::2], base


def offset(values: Matrix, make: Make) -> Laid:
    """Begin inside the storage, with gaps between rows."""
    base = make([[NAN] * (len(values[0]) + 3)] + [[NAN] * 3 + row for row in values])
    return base[1:, 3:], base


LAYOUTS = (transposed, strided, offset)


def try_all(device: str, dtype: str) -> None:
    """Step, take roots, sort and join the smallest thing there is.

    On CUDA every GPU has these dtypes, and the cases tell what fails.
    """
    if device.startswith("cuda"):
        return
    ones = torch.ones(2, 2, dtype=getattr(torch, dtype), device=device)
    ones.addcmul_(ones, ones).addcdiv_(ones, ones).sqrt().sort(dim=1)
    torch.cat((ones, ones)).argsort(dim=1).tolist()


def dtypes(trial: Trial) -> None:
    """Find the dtypes that this device has these operations for."""
    trial.find_dtypes(("float32", "float16"), try_all)


def each_layout(trial: Trial) -> Iterator[tuple[Any, str, Make, str]]:
    """Yield every layout with every dtype.

    The layout, its name, how to make a tensor, the dtype.
    """
    for layout in LAYOUTS:
        for dtype in trial.dtypes:
            yield layout, layout.__name__, trial.make(dtype), dtype


def optimizer_step(trial: Trial) -> None:
    """Add products and quotients in place, as optimizers do, with operands of other layouts."""
    x, y = trial.draw(ROWS, COLUMNS), trial.draw(ROWS, COLUMNS)
    z = trial.draw(ROWS, COLUMNS, pool=[2.0**power for power in range(-2, 3)])
    steps = {
        "addcmul_": lambda a, b, c: a + 0.5 * b * c,
        "addcdiv_": lambda a, b, c: a + 0.5 * b / c,
    }
    for layout, name, make, dtype in each_layout(trial):
        for op, step in steps.items():
            want = [[step(*each) for each in zip(*rows)] for rows in zip(x, y, z)]
            with trial.act():
                view, base = layout(x, make)
                getattr(view, op)(transposed(y, make)[0], make(z), value=0.5)
                got, spilled = read(view), count_written_around(view, base)
            what = f"{op} into a {name} view"
            check(got, want, what, dtype=dtype, allowed=lambda value: (abs(value) + 4) / 512)
            check_untouched(spilled, f"{what}, {dtype}")


def random_fill(trial: Trial) -> None:
    """Draw random numbers into views of NaN."""
    torch.manual_seed(trial.rng.getrandbits(31))
    many = 1 << 20
    draws = {
        "normal_": (lambda view: view.normal_(1.0, 0.25), oracle.normal(1.0, 0.25)),
        "uniform_": (lambda view: view.uniform_(2.0, 3.0), oracle.uniform(2.0, 3.0)),
        "exponential_": (lambda view: view.exponential_(2.0), oracle.exponential(2.0)),
        "bernoulli_": (lambda view: view.bernoulli_(0.5), oracle.bernoulli(0.5)),
        "random_": (lambda view: view.random_(0, many), oracle.whole_numbers(many)),
    }
    hole = [[NAN] * (4 * COLUMNS)] * (4 * ROWS)
    for layout in LAYOUTS:
        for op, (fill, distribution) in draws.items():
            what = f"{op} into a {layout.__name__} view"
            with trial.act():
                view, base = layout(hole, trial.make())
                fill(view)
                got, spilled = read(view), count_written_around(view, base)
            oracle.check_drawn(got.values, distribution, what)
            check_untouched(spilled, what)


def into_out(trial: Trial) -> None:
    """Write results of views into views of another tensor; of whole numbers too, bit by bit."""
    x = trial.draw(ROWS, COLUMNS)
    hole, squares = [[NAN] * COLUMNS] * ROWS, [[value * value for value in row] for row in x]
    roots = [[abs(value) for value in row] for row in x]
    for layout, name, make, dtype in each_layout(trial):
        with trial.act():
            view, base = layout(hole, make)
            torch.sqrt(layout(squares, make)[0], out=view)
            got, spilled = read(view), count_written_around(view, base)
        what = f"sqrt of and into a {name} view"
        check(got, roots, what, dtype=dtype, allowed=lambda value: value / 512)
        check_untouched(spilled, f"{what}, {dtype}")
    a, b = (trial.draw(ROWS, COLUMNS, pool=range(1 << 30)) for _ in range(2))
    with trial.act():
        make = trial.make("int32")
        wide = torch.full((ROWS, 2 * COLUMNS), -1, dtype=torch.int32, device=trial.device)
        torch.bitwise_and(make(flip(a)).t(), make(b), out=wide[:, ::2])
        got = read(wide)
    want = [[x for p, q in zip(*rows) for x in (p & q, -1)] for rows in zip(a, b)]
    check(got, want, "bitwise_and into every other column", dtype="int32")


def special_functions(trial: Trial) -> None:
    """Take functions that have kernels of their own, of views."""
    x = [[abs(value) for value in row] for row in trial.draw(ROWS, COLUMNS)]
    functions = {
        "lgamma": (torch.lgamma, math.lgamma, "float32"),
        "digamma": (torch.digamma, digamma, "float32"),
        "isfinite": (torch.isfinite, math.isfinite, "bool"),
    }
    for layout in LAYOUTS:
        for op, (function, exact, dtype) in functions.items():
            with trial.act():
                got = read(function(layout(x, trial.make())[0]))
            want = [[exact(value) for value in row] for row in x]
            what = f"{op} of a {layout.__name__} view"
            check(got, want, what, dtype=dtype, allowed=lambda value: (1 + abs(value)) / (1 << 14))


def digamma(x: float) -> float:
    """Return the derivative of lgamma: shifted up until five terms of its series are enough.

    The series is 6.3.18 of Abramowitz and Stegun.
    """
    shifted = 0.0
    while x < 10:
        shifted, x = shifted - 1 / x, x + 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return shifted + math.log(x) - 0.5 / x - series


def sort(trial: Trial) -> None:
    """Sort the rows and the columns of views."""
    x = [[float(value) for value in trial.rng.sample(range(2000), COLUMNS)] for _ in range(ROWS)]
    by_row, by_column = [sorted(row) for row in x], flip(map(sorted, flip(x)))
    order = [sorted(range(COLUMNS), key=row.__getitem__) for row in x]
    for layout, name, make, dtype in each_layout(trial):
        with trial.act():
            view = layout(x, make)[0]
            rows, columns = read(view.sort(dim=1)[0]), read(view.sort(dim=0)[0])
            places = read(view.argsort(dim=1))
        check(rows, by_row, f"sort of the rows of a {name} view", dtype=dtype)
        check(columns, by_column, f"sort of the columns of a {name} view", dtype=dtype)
        check(places, order, f"argsort of the rows of a {name} view of {dtype}", dtype="int64")


def join(trial: Trial) -> None:
    """Put views beside each other and on top of each other, as rotary embeddings do."""
    x = trial.draw(ROWS, COLUMNS)
    beside = [row[1::2] + row[::2] for row in x]
    turned = [[x for odd, even in zip(row[1::2], row[::2]) for x in (-odd, even)] for row in x]
    for layout, name, make, dtype in each_layout(trial):
        with trial.act():
            view = layout(x, make)[0]
            odd, even = view[:, 1::2], view[:, ::2]
            joined = read(torch.cat((odd, even), dim=-1))
            stacked = read(torch.stack((-odd, even), dim=-1).flatten(-2))
        check(joined, beside, f"cat of parts of a {name} view", dtype=dtype)
        check(stacked, turned, f"stack of parts of a {name} view", dtype=dtype)


def convolution(trial: Trial) -> None:
    """Convolve with one slice of the weight of a convolution in three dimensions.

    Differentiate by that slice, too.
    """
    channels, made, side, size = 4, 3, 3, 6
    out = size - side + 1
    image = trial.draw(1, channels, size, size)
    weight = trial.draw(made, channels, side, side, side)
    gradient = trial.draw(1, made, out, out)
    kernel = [[planes[1] for planes in maps] for maps in weight]

    def pixel(k: Any, i: int, j: int) -> tuple[float, float]:
        return summed(
            image[0][c][i + y][j + x] * k[c][y][x]
            for c in range(channels)
            for y in range(side)
            for x in range(side)
        )

    def slope(m: int, c: int, y: int, x: int) -> tuple[float, float]:
        return summed(
            gradient[0][m][i][j] * image[0][c][i + y][j + x] for i in range(out) for j in range(out)
        )

    pixels = [[[[pixel(k, i, j) for j in range(out)] for i in range(out)] for k in kernel]]
    slopes = [
        [[[slope(m, c, y, x) for x in range(side)] for y in range(side)] for c in range(channels)]
        for m in range(made)
    ]
    with trial.act():
        make = trial.make()
        sliced = make(weight)[:, :, 1].detach().requires_grad_()
        result = torch.nn.functional.conv2d(make(image), sliced)
        (found,) = torch.autograd.grad((result * make(gradient)).sum(), (sliced,))
        got, back = read(result), read(found)
    check(got, pixels, "conv2d with a slice of a weight")
    check(back, slopes, "conv2d with a slice of a weight, gradient of it")


def summed(terms: Iterator[float]) -> tuple[float, float]:
    """Return a sum, and what a convolution in TF32 may be off by: 2**-9 of its absolute terms."""
    listed = list(terms)
    return math.fsum(listed), math.fsum(map(abs, listed)) / 512


def normalization(trial: Trial) -> None:
    """Normalize a view by statistics that are given."""
    x, mean, gain, shift = (
        trial.draw(*shape) for shape in ((ROWS, COLUMNS), (COLUMNS,), (COLUMNS,), (COLUMNS,))
    )
    variance = trial.draw(COLUMNS, pool=[2.0**power for power in range(-4, 5)])
    columns = list(zip(mean, variance, gain, shift))
    want = [
        [(a - m) / math.sqrt(v + 1e-5) * g + s for a, (m, v, g, s) in zip(row, columns)]
        for row in x
    ]
    terms = [
        (abs(a) + abs(m)) / math.sqrt(v) * abs(g) + abs(s)
        for row in x
        for a, (m, v, g, s) in zip(row, columns)
    ]
    allowed = max(terms) / (1 << 14)
    for layout in LAYOUTS:
        with trial.act():
            make = trial.make()
            given = (layout(x, make)[0], make(mean), make(variance), make(gain), make(shift))
            got = read(torch.nn.functional.batch_norm(*given, training=False, eps=1e-5))
        check(got, want, f"batch_norm of a {layout.__name__} view", allowed=lambda _: allowed)


def conversion(trial: Trial) -> None:
    """Copy from an offset and to one, into another dtype, and leave the source as it was."""
    x = trial.draw(COLUMNS + 2)
    for to in "cpu", trial.device:
        with trial.act():
            source = trial.make()(x)
            storage = torch.full((len(x) + 1,), NAN, dtype=torch.float16, device=to)
            storage[3:].copy_(source[2:])
            copied, got, before = read(source[2:].to(to)), read(storage[3:]), read(storage[:3])
            kept = read(source)
        what = f"copy to {to} into another dtype"
        check(copied, x[2:], f"copy to {to} of what begins at an offset")
        check(got, x[2:], f"{what}, at an offset", dtype="float16")
        spilled = sum(not math.isnan(value) for value in flat(before.values))
        check_untouched(spilled, f"{what}, at an offset")
        check(kept, x, f"{what}: its source afterwards")


CASES = {
    "dtypes": dtypes,
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


def main() -> None:
    """Try every case on every device."""
    # Matrices this small gain nothing from threads, and lose seconds to them where the processor is
    # busy.
    torch.set_num_threads(1)
    run_table(REPORT, torch, {name: skip_if_not_implemented(case) for name, case in CASES.items()})


if __name__ == "__main__":
    REPORT.run(main)
