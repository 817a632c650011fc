"""Decide whether a computed result is right, by values that never went through the code under test.

Canaries draw their operands as nested Python lists, work out the exact result in plain Python, and
compare here. A result is right if its shape and dtype are the expected ones and every element lies
within its tolerance. A NaN or an infinity is never within a tolerance.

An expected result is a nested list. A leaf is either the exact value, or a pair of the exact value
and the error that is allowed for each unit of roundoff of the dtype. The bound of a sum of k
products that is computed in any order is (k + 4) u S, with u the unit roundoff and S the sum of the
absolute products (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, with room
for a bias and for the rounding of the result).

Why no float64 reference by torch itself: the processor is a device under test as well, and a kernel
of its dispatcher that ignores strides ignores them for float64 too.

Scripts find this module beside their own folder. It imports no torch.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from canary_report import CaseEnded

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

NAN = math.nan
EIGHTHS = tuple(sign * eighths / 8 for sign in (-1, 1) for eighths in range(1, 17))
"""Eighths up to two, without zero. Five significant bits: exact in every dtype, and in TF32."""
FALSE_ALARM = 1e-9
"""Probability that a correct generator of random numbers fails one test of its distribution."""


class Output(NamedTuple):
    """A result as it was read back from a device: values as nested lists, shape, and dtype.

    `again` holds the values of a second run on the same operands, if both must agree bit by bit.
    """

    values: Any
    shape: tuple[int, ...]
    dtype: str
    again: Any = None


def read(tensor: Any) -> Output:
    """Read a whole tensor back. What a device reports late is raised here."""
    return Output(tensor.tolist(), tuple(tensor.shape), dtype_name(tensor))


def read_at(tensor: Any, places: Sequence[tuple[int, ...]]) -> Output:
    """Read the elements at these places back, and the shape of the whole tensor."""
    picked = [tensor[place].item() for place in places]
    return Output(picked, tuple(tensor.shape), dtype_name(tensor))


def dtype_name(tensor: Any) -> str:
    """Return the dtype of a tensor without the module: `float32`."""
    return str(tensor.dtype).rpartition(".")[2]


def draw(rng: random.Random, *shape: int, pool: Sequence[Any] = EIGHTHS) -> Any:
    """Return nested lists of that shape, of values drawn from a pool."""
    if len(shape) == 1:
        return rng.choices(pool, k=shape[0])
    return [draw(rng, *shape[1:], pool=pool) for _ in range(shape[0])]


def flip(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Exchange the two outer dimensions of nested lists."""
    return [list(column) for column in zip(*rows)]


def flat(values: Any) -> list[Any]:
    """Return the elements of nested lists of one depth, in the order of the rows."""
    values = values if isinstance(values, list) else [values]
    while values and isinstance(values[0], list):
        values = list(itertools.chain.from_iterable(values))
    return values


def shape_of(values: Any) -> tuple[int, ...]:
    """Return the shape of nested lists; a pair is an element."""
    if not isinstance(values, list):
        return ()
    return (len(values), *(shape_of(values[0]) if values else ()))


def strided(values: list[Any]) -> list[Any]:
    """Put a NaN after every value, so that a step of two finds the values again."""
    return [each for value in values for each in (value, NAN)]


def dot(row: Sequence[float], column: Sequence[float]) -> tuple[float, float]:
    """Return the exact sum of products, and the error allowed for each unit of roundoff."""
    terms = [x * y for x, y in zip(row, column)]
    return math.fsum(terms), (len(terms) + 4) * math.fsum(map(abs, terms))


def rounded(value: float) -> tuple[float, float]:
    """Return an exact value that only the last rounding may move."""
    return value, abs(value)


def check(
    got: Output,
    want: Any,
    what: str,
    *,
    dtype: str = "float32",
    unit: float = 1.0,
    allowed: Callable[[float], float] = lambda _: 0.0,
    shape: tuple[int, ...] | None = None,
) -> None:
    """Raise CaseEnded unless a result has the expected shape, dtype and values.

    `unit` is the unit roundoff that the errors in pairs are multiplied with. `allowed` gives the
    error for leaves without one; the default is none. `shape` is the shape of the whole result if
    `want` lists only picked elements of it.
    """
    what = f"{what}, {dtype}"
    expected = shape_of(want) if shape is None else shape
    if got.shape != expected:
        raise CaseEnded("failed", f"{what}: the result has shape {got.shape}, expected {expected}")
    if got.dtype != dtype:
        raise CaseEnded("failed", f"{what}: the result is {got.dtype}, expected {dtype}")
    exact = [
        (leaf[0], leaf[1] * unit) if isinstance(leaf, tuple) else (leaf, allowed(leaf))
        for leaf in flat(want)
    ]
    check_values(flat(got.values), exact, what)
    if got.again is not None and got.again != got.values:
        differing = sum(x != y for x, y in zip(flat(got.values), flat(got.again)))
        raise CaseEnded(
            "failed",
            f"{what}: two runs on the same operands differ in {differing} of {len(exact)} elements",
        )


def check_values(got: list[Any], want: list[tuple[float, float]], what: str) -> None:
    """Raise CaseEnded if an element is missing or further off than its tolerance.

    `want` holds pairs of an exact value and an absolute tolerance.
    """
    if len(got) != len(want):
        raise CaseEnded(
            "failed", f"{what}: the result has {len(got)} elements, expected {len(want)}"
        )
    if not all(math.isfinite(exact) and 0 <= bound < math.inf for exact, bound in want):
        raise ValueError(f"{what}: an expected value or its tolerance is not finite")
    # Written so that a NaN, for which every comparison is false, counts as wrong.
    wrong = [
        (value, exact, bound)
        for value, (exact, bound) in zip(got, want)
        if not abs(value - exact) <= bound
    ]
    if not wrong:
        return
    error, bound = max(
        (abs(value - exact) if math.isfinite(value) else math.inf, bound)
        for value, exact, bound in wrong
    )
    value, exact, _ = wrong[0]
    raise CaseEnded(
        "failed",
        f"{what}: largest error {error:.3g}, allowed {bound:.3g}; {len(wrong)} of {len(want)} "
        f"elements are wrong, the first is {value:.8g}, expected {exact:.8g}",
    )


def check_untouched(count: int, what: str) -> None:
    """Raise CaseEnded if elements outside a view were written."""
    if count:
        raise CaseEnded("failed", f"{what}: {count} elements outside the view were written")


def count_written_around(view: Any, base: Any) -> int:
    """Count the elements of a tensor of NaN that are no NaN any more and lie outside a view of it.

    The view has a positive stride in every dimension.
    """
    steps = [range(0, size * stride, stride) for size, stride in zip(view.shape, view.stride())]
    inside = {view.storage_offset() + sum(place) for place in itertools.product(*steps)}
    return sum(
        not math.isnan(value)
        for place, value in enumerate(flat(base.tolist()))
        if place not in inside
    )


class Distribution(NamedTuple):
    """What numbers are drawn from: P(X <= x), P(X < x), and whether a value can occur at all."""

    at_most: Callable[[float], float]
    below: Callable[[float], float]
    possible: Callable[[float], bool]
    repeats: bool = False


def normal(mean: float, deviation: float) -> Distribution:
    """Return a normal distribution."""

    def at_most(x: float) -> float:
        return 0.5 * (1 + math.erf((x - mean) / (deviation * math.sqrt(2))))

    return Distribution(at_most, at_most, math.isfinite)


def uniform(least: float, most: float) -> Distribution:
    """Return the uniform distribution between two numbers.

    The upper end is possible: torch rounds to it in some dtypes (pytorch/pytorch 16706).
    """

    def at_most(x: float) -> float:
        return min(max((x - least) / (most - least), 0.0), 1.0)

    return Distribution(at_most, at_most, lambda x: least <= x <= most)


def exponential(rate: float) -> Distribution:
    """Return an exponential distribution."""

    def at_most(x: float) -> float:
        return 1 - math.exp(-rate * max(x, 0.0))

    return Distribution(at_most, at_most, lambda x: 0 <= x < math.inf)


def bernoulli(chance: float) -> Distribution:
    """Return the distribution of ones among zeros."""
    return Distribution(
        lambda x: 1.0 if x >= 1 else 1 - chance if x >= 0 else 0.0,
        lambda x: 1.0 if x > 1 else 1 - chance if x > 0 else 0.0,
        lambda x: x in (0, 1),
        repeats=True,
    )


def whole_numbers(count: int) -> Distribution:
    """Return the uniform distribution of the whole numbers from zero up to a count."""
    return Distribution(
        lambda x: min(max((math.floor(x) + 1) / count, 0.0), 1.0),
        lambda x: min(max(math.ceil(x) / count, 0.0), 1.0),
        lambda x: 0 <= x < count and x == math.floor(x),
    )


def check_drawn(rows: list[list[float]], source: Distribution, what: str) -> None:
    """Raise CaseEnded unless numbers can have been drawn from a distribution.

    `rows` is a matrix of hundreds of numbers or more. Tests that every number is possible, that no
    row is there twice, that almost no number is (unless the distribution has few values), and that
    the largest distance of the two distribution functions is within the bound of Dvoretzky, Kiefer
    and Wolfowitz, with Massart's constant, which holds for discrete distributions as well:
    P(distance > e) <= 2 exp(-2 n e^2) (Annals of Probability 18, 1990).
    """
    values = sorted(flat(rows), key=lambda value: (math.isnan(value), value))
    count = len(values)
    strange = [value for value in values if not source.possible(value)]
    if strange:
        raise CaseEnded(
            "failed",
            f"{what}: {len(strange)} of {count} cannot be drawn, the first is {strange[0]:g}",
        )
    if len({tuple(row) for row in rows}) < len(rows):
        raise CaseEnded("failed", f"{what}: rows of {len(rows[0])} numbers are there twice")
    different = len(set(values))
    if not source.repeats and different < 0.9 * count:
        raise CaseEnded("failed", f"{what}: only {different} of {count} differ")
    before, distance, place = 0, 0.0, 0.0
    for value, group in itertools.groupby(values):
        up_to = before + sum(1 for _ in group)
        off = max(
            abs(up_to / count - source.at_most(value)), abs(before / count - source.below(value))
        )
        if off > distance:
            distance, place = off, value
        before = up_to
    bound = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * count))
    if distance > bound:
        raise CaseEnded(
            "failed",
            f"{what}: the share of numbers up to {place:g} is off by {distance:.3g} among {count}, "
            f"allowed {bound:.3g}",
        )
