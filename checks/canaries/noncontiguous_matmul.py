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
# cases = ["transposed", "strided", "offset", "expanded", "permuted-batch", "size-one-dims", "backward"]
# ///
"""Products of views that are not contiguous, and their gradients, agree with sums made in plain Python.

A failure means that a matmul kernel of this device reads its operands by the wrong strides: models give wrong
numbers and no error. `.contiguous()` on both operands gets around it.

The oracle never enters torch: the operands are drawn as Python lists, and each expected element is a `math.fsum`
of products. An element of reduction length k is right within (k + 4) u S, where u is the unit roundoff of the
dtype and S the sum of the absolute products: the bound of a dot product summed in that dtype, in any order. The
operands have five significant bits, so that inputs rounded on purpose (TF32) are not mistaken for a wrong stride.
What lies between the elements of a view is NaN.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any


# --- report: the same in every check, kept so by a test ---
class Ending(Exception):
    """Ends a case, or a whole result, before its time: `raise Ending("skipped", "no nvcc here")`."""


class Report:
    """What was seen and what is being done, on disk before and after every risky step."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.doing: dict[str, Any] = {"device": None, "case": "", "act": False}

    def write(self, doing: dict[str, Any] | None) -> None:
        """Replace the file in one step; where none is asked for, print the document once it is done."""
        document = {"contract": 1, "facts": self.facts, "results": self.results, "doing": doing}
        text, path = json.dumps(document, indent=1), os.environ.get("CANARY_RESULT")
        if path:
            with open(path + ".part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(path + ".part", path)
        elif doing is None:
            print(text)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold what is under test: what it raises is a failure, and how it dies is the patient's."""
        self.write({**self.doing, "act": True})
        try:
            yield
        except Ending:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Ending("failed", " ".join(f"{type(error).__name__}: {error}".split())[:400]) from error
        self.write(self.doing)

    @contextmanager
    def result(self, device: str | None) -> Iterator[dict[str, Any]]:
        """Hold what a device gives (None: the machine): failed with any case, skipped with all."""
        entry: dict[str, Any] = {"device": device, "cases": {}, "data": {}}
        self.results.append(entry)
        started = time.monotonic()
        with self.case("", entry):
            yield entry["data"]
            for verdict in "failed", "skipped":
                said = [f"{name}: {case['reason']}" for name, case in entry["cases"].items() if case["verdict"] == verdict]
                if said and (verdict == "failed" or len(said) == len(entry["cases"])):
                    raise Ending(verdict, "; ".join(said))
        entry["seconds"] = round(time.monotonic() - started, 3)

    @contextmanager
    def case(self, name: str, entry: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold a case of the last result, listed once it has ended; without a name, the result itself."""
        entry = {} if entry is None else entry
        entry.update(verdict="running", reason="")
        self.doing.update(device=self.results[-1]["device"], case=name)
        self.write(self.doing)
        try:
            yield
            entry["verdict"] = "passed"
        except Ending as end:
            entry["verdict"], entry["reason"] = end.args
        if name:
            self.results[-1]["cases"][name] = entry
        self.doing["case"] = ""
        self.write(self.doing)


# --- end of report ---


# --- torch: the same in every canary that imports it, kept so by a test ---
def load(module: str) -> Any:
    """Import a module of the patient; where that fails, say so and end."""
    with REPORT.result(None):
        REPORT.doing["case"] = f"import {module}"
        with REPORT.act():
            try:
                loaded = importlib.import_module(module)
            except ModuleNotFoundError as error:
                if error.name == module:
                    raise Ending("skipped", f"{module} is not installed") from None
                raise
    if REPORT.results[-1]["verdict"] != "passed":
        REPORT.write(doing=None)
        sys.exit()
    REPORT.results.pop()
    return loaded


def devices() -> list[str]:
    """Name the devices to try: those asked for, or the processor and every accelerator torch sees."""
    if os.environ.get("CANARY_DEVICES"):
        return os.environ["CANARY_DEVICES"].split(",")
    found = ["cpu"]
    for kind in "cuda", "xpu":
        backend = getattr(torch, kind, None)
        if backend is not None and backend.is_available():
            found += [f"{kind}:{index}" for index in range(backend.device_count())]
    mps = getattr(torch.backends, "mps", None)
    return [*found, "mps"] if mps is not None and mps.is_available() else found


def reach(device: str) -> None:
    """Skip a device that does not answer: to say why is the business of torch-runtime, once for all."""
    with REPORT.act():
        try:
            torch.ones(2, device=device).add(1).tolist()
        except Exception as error:
            raise Ending("skipped", f"{device} does not answer: {type(error).__name__}: {str(error).splitlines()[0]}") from error


REPORT = Report()
torch = load("torch")
# --- end of torch ---

if TYPE_CHECKING:
    Matrix = list[list[float]]
    Layout = Callable[[list[Matrix], Callable[[Any], Any]], Any]
    Dot = tuple[float, float, int]

NAN = math.nan
SHAPES = ((2, 9, 33, 13),)  # batch, rows, inner, columns
SHAPES_OF_ONE = ((1, 9, 33, 13), (2, 1, 33, 13), (2, 9, 33, 1), (1, 1, 33, 1))
DTYPES = ("float32", "float64", "float16", "bfloat16")


def draw(rng: random.Random, *shape: int) -> Any:
    """Nested lists of that shape, of eighths up to two and never zero: exact in every dtype."""
    if not shape:
        return rng.choice((-1, 1)) * rng.randint(1, 16) / 8
    return [draw(rng, *shape[1:]) for _ in range(shape[0])]


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
    return make([[[x for value in row for x in (value, NAN)] for row in matrix] for matrix in values])[:, :, ::2]


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
    return base.as_strided(base.shape, [7 if size == 1 else stride for size, stride in zip(base.shape, base.stride())])


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


def product(left: Matrix, right: Matrix) -> list[list[Dot]]:
    """Multiply two matrices; each element comes with the sum of its absolute products."""
    columns = flip(right)
    return [[dot(row, column) for column in columns] for row in left]


def dot(row: list[float], column: list[float]) -> Dot:
    """Sum the products of two lists, exactly; and their absolute values."""
    terms = [x * y for x, y in zip(row, column)]
    return math.fsum(terms), math.fsum(map(abs, terms)), len(terms)


def products(lefts: Iterable[Matrix], rights: Iterable[Matrix]) -> list[list[list[Dot]]]:
    """Multiply pair by pair."""
    return [product(left, right) for left, right in zip(lefts, rights)]


def compare(got: list[Any], want: list[Any], dtype: str, what: str) -> None:
    """Raise where an element is further off than rounding in that dtype explains, and say where it is worst."""
    roundoff = torch.finfo(getattr(torch, dtype)).eps / 2
    worst = (0.0, 0.0, 0.0)
    for value, (sum_, absolute, length) in zip(flat(got), flat(want)):
        allowed = (length + 4) * roundoff * absolute
        error = abs(value - sum_) if math.isfinite(value) else math.inf
        worst = max(worst, (error / allowed, error, allowed))
    if worst[0] > 1:
        raise Ending("failed", f"{what}, {dtype}: largest error {worst[1]:.3g}, allowed {worst[2]:.3g}")


def flat(values: list[Any]) -> Iterator[Any]:
    """Walk through nested lists."""
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value


def maker(device: str, dtype: str) -> Callable[[Any], Any]:
    """Make contiguous tensors of nested lists."""
    return lambda values: torch.tensor(values, dtype=getattr(torch, dtype), device=device)


def forward(layout: Layout, name: str, rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Try one layout on the left, on the right and on both sides."""
    for count, rows, inner, columns in shapes(layout):
        for left, right in (layout, plain), (plain, layout), (layout, layout):
            a, b = draw(rng, count, rows, inner), draw(rng, count, inner, columns)
            lefts, rights = seen_through(left, a), seen_through(right, b)
            want, shared = products(lefts, rights), products(lefts, rights[:1] * count)
            sides = " and ".join(side for side, how in (("left", left), ("right", right)) if how is layout)
            for dtype in dtypes:
                with REPORT.act():
                    got = multiply(left(a, maker(device, dtype)), right(b, maker(device, dtype)))
                for op, values in got.items():
                    expected = {"linear": shared, "mm": want[0]}.get(op, want)
                    compare(values, expected, dtype, f"{op}, {name} operand on the {sides}")


def multiply(a: Any, b: Any) -> dict[str, Any]:
    """Every way from two operands to a product, as nested lists."""
    poisoned = torch.full((a.shape[0], a.shape[1], b.shape[2]), NAN, dtype=a.dtype, device=a.device)
    return {
        "matmul": torch.matmul(a, b).tolist(),
        "matmul into out": torch.matmul(a, b, out=poisoned).tolist(),
        "bmm": torch.bmm(a, b).tolist(),
        "mm": torch.mm(a[0], b[0]).tolist(),
        "linear": torch.nn.functional.linear(a, b[0].t()).tolist(),
    }


def backward(layout: Layout, name: str, rng: random.Random, device: str, dtypes: list[str]) -> None:
    """Try one layout for both operands and for the gradient that comes in."""
    for count, rows, inner, columns in shapes(layout):
        drawn = [draw(rng, count, *sides) for sides in ((rows, inner), (inner, columns), (rows, columns))]
        want = slopes(*(seen_through(layout, values) for values in drawn))
        for dtype in dtypes:
            with REPORT.act():
                got = gradients(*(layout(values, maker(device, dtype)).detach() for values in drawn))
            for what, values in got.items():
                compare(values, want[what], dtype, f"gradient of {what}, {name} operands")


def slopes(a: list[Matrix], b: list[Matrix], g: list[Matrix]) -> dict[str, Any]:
    """Work out by hand what `gradients` asks autograd for."""
    fed, incoming = ([row for matrix in batch for row in matrix] for batch in (a, g))
    return {
        "matmul, left": products(g, map(flip, b)),
        "matmul, right": products(map(flip, a), g),
        "linear, input": products(g, [flip(b[0])] * len(g)),
        "linear, weight": product(flip(incoming), fed),
    }


class Incoming(torch.autograd.Function):
    """Hands a gradient in with its strides; `grad_outputs` would too, but imports sympy for seconds first."""

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
    """Differentiate a product and a linear layer by both operands."""
    weight = b[0].t().detach().requires_grad_()
    a.requires_grad_()
    b.requires_grad_()
    left, right = torch.autograd.grad(Incoming.apply(torch.matmul(a, b), g), (a, b))
    fed, weights = torch.autograd.grad(Incoming.apply(torch.nn.functional.linear(a, weight), g), (a, weight))
    return {
        "matmul, left": left.tolist(),
        "matmul, right": right.tolist(),
        "linear, input": fed.tolist(),
        "linear, weight": weights.tolist(),
    }


def supported(device: str) -> list[str]:
    """List the dtypes that can be multiplied here at all; float32 has no excuse."""
    found = ["float32"]
    for dtype in DTYPES[1:]:
        with REPORT.act():
            try:
                ones = torch.ones(2, 2, dtype=getattr(torch, dtype), device=device)
                torch.bmm(ones[None], ones[None]).tolist()
            except (RuntimeError, TypeError):
                continue
            found.append(dtype)
    return found


def main() -> None:
    """Try every layout on every device."""
    for device in devices():
        with REPORT.result(device) as data:
            reach(device)
            data["seed"] = random.SystemRandom().getrandbits(32)
            data["dtypes"] = supported(device)
            rng = random.Random(data["seed"])
            for name, layout in LAYOUTS.items():
                with REPORT.case(name):
                    forward(layout, name, rng, device, data["dtypes"])
            with REPORT.case("backward"):
                for name, layout in LAYOUTS.items():
                    backward(layout, name, rng, device, data["dtypes"])
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
