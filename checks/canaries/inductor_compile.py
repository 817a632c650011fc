# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Compiles a function with torch.compile, differentiates it, and runs a Triton kernel"
# needs = ["torch"]
# tier = "quick"
# timeout = 420
# devices = "each"
# cases = [
#     "forward", "backward", "dynamic-shapes", "user-triton-constant", "cpp-wrapper",
#     "compile-workers",
# ]
# ///
"""TorchInductor compiles for this device, and what it compiles is right.

Forward, backward and at a second size.

A failure is most often a tool that Inductor calls (a C++ compiler, OpenMP, Python.h, Triton,
setuptools), and the reason carries the innermost error. The sizes are such that the loops run in
several threads and end in a remainder.

`user-triton-constant` hands a size to a `tl.constexpr` parameter of a Triton kernel of the user's
own: where Dynamo keeps that size symbolic, Inductor writes a name that nobody defines (`name 's2'
is not defined`). Without a GPU, what Dynamo hands on is looked at instead; that is where it goes
wrong.

In the deep tier, `cpp-wrapper` lets Inductor write the caller of its kernels in C++ too, and
`compile-workers` lets processes of their own compile, as torch does by itself where Triton
compiles; a report names a killed one.

The time of the first compile, with every tool that it starts, stands beside that of the same
compile from its cache.

The oracle is `math` in plain Python. An element is right within 64 u S, with u the unit roundoff of
float32 and S the sum of the absolute terms: a few roundoffs for each sine and exponential and for
the order of a short sum.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle
from canary_report import CaseEnded, Report, devices

# torch may have been imported before, and the temporary folder asked for; headers are precompiled
# there.
tempfile.tempdir = None


REPORT = Report()
torch = REPORT.load("torch")

WIDTH, ROWS, MORE_ROWS = 131, 131, (197, 263)
SIZES = (517, 775)
PATIENCE = 120
FRACTIONS = [number / 32 for number in range(-64, 65)]
SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
triton = tl = copy_jit = None  # Triton and Dynamo look for these here; `load_triton` fills them
NO_BACKEND = re.compile(
    r"Unsupported device type|Device \w+ not supported"
    r"|too old to be supported by the triton GPU compiler"
)


def small(x: Any, w: Any) -> Any:
    """What is compiled: elementwise work and a reduction."""
    return (torch.sin(x) * w + torch.exp(-x * x)).sum(-1)


def draw(rng: random.Random, *shape: int) -> Any:
    """Return nested lists of that shape, of numbers that float32 holds exactly."""
    return oracle.draw(rng, *shape, pool=FRACTIONS)


def summed(*terms: float) -> tuple[float, float]:
    """Return a sum, and what is allowed for a few roundoffs of each term and for its order."""
    return math.fsum(terms), 64 * math.fsum(map(abs, terms))


def values(x: list[list[float]], w: list[float]) -> list[tuple[float, float]]:
    """Return what `small` gives for rows of x."""
    return [
        summed(*(term for a, b in zip(row, w) for term in (math.sin(a) * b, math.exp(-a * a))))
        for row in x
    ]


def slopes(x: list[list[float]], w: list[float]) -> tuple[Any, Any]:
    """Return the derivatives of the sum of `small` by x and by w."""
    by_x = [
        [summed(math.cos(a) * b, -2 * a * math.exp(-a * a)) for a, b in zip(row, w)] for row in x
    ]
    return by_x, [summed(*map(math.sin, column)) for column in zip(*x)]


def check(got: oracle.Output, want: Any, what: str) -> None:
    """Compare within the rounding of float32."""
    oracle.check(got, want, what, unit=2**-24)


@contextmanager
def compiling() -> Iterator[None]:
    """Hold a compilation; of what it raises, the innermost error is the one to act on."""
    with REPORT.act():
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            text = root(error)
            raise (
                CaseEnded("skipped", text) if NO_BACKEND.search(text) else REPORT.ended(text)
            ) from error


def root(error: BaseException) -> str:
    """Give the innermost error in one line; of a compiler's output, its first error."""
    inner: BaseException | None = error
    # The end of a command says less than the error that quotes its output.
    while inner is not None and not isinstance(inner, subprocess.CalledProcessError):
        error, inner = inner, getattr(inner, "inner_exception", None) or inner.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in lines if "error:" in line), lines[0] if lines else "")
    died = (
        f" (the compiler died of signal {-inner.returncode})"
        if inner is not None and inner.returncode < 0
        else ""
    )
    return f"{type(error).__name__}: {said}"[:400] + died


class Trial:
    """The same small function on one device, compiled in several ways."""

    def __init__(self, device: str, rng: random.Random) -> None:
        self.device, self.rng = device, rng
        self.x, self.w = draw(rng, ROWS, WIDTH), draw(rng, WIDTH)
        self.leaves = [self.to_device(drawn).requires_grad_() for drawn in (self.x, self.w)]
        self.cold, self.config = 0.0, None

    def to_device(self, drawn: Any) -> Any:
        """Return the numbers as a tensor on the device."""
        return torch.tensor(drawn, dtype=torch.float32, device=self.device)

    def forward(self, what: str) -> tuple[Any, Any]:
        """Compile afresh, from the cache if that holds it; return the function and what it gave."""
        with compiling():
            importlib.import_module("torch._dynamo").reset()
            compiled = torch.compile(small)
            result = compiled(*self.leaves)
            got = oracle.read(result)
        check(got, values(self.x, self.w), what)
        return compiled, result

    def quick(self) -> bool:
        """Compile once, differentiate, and come back with other sizes.

        Say whether anything compiles at all.
        """
        compiled = result = None
        with REPORT.case("forward"):
            started = time.monotonic()
            compiled, result = self.forward("compiled forward")
            self.cold = time.monotonic() - started
        if compiled is None:
            return False
        with REPORT.case("backward"):
            with compiling():
                grads = [
                    oracle.read(grad) for grad in torch.autograd.grad(result.sum(), self.leaves)
                ]
            for by, got, want in zip(("x", "w"), grads, slopes(self.x, self.w)):
                check(got, want, f"compiled gradient by {by}")
        with REPORT.case("dynamic-shapes"):
            for rows in MORE_ROWS:
                x = draw(self.rng, rows, WIDTH)
                with compiling(), torch.no_grad():
                    got = oracle.read(compiled(self.to_device(x), self.leaves[1]))
                check(got, values(x, self.w), f"compiled again for {rows} rows")
        return True

    def warm(self, data: dict[str, Any]) -> None:
        """Compile what was compiled before, and tell what the cache saves."""
        started = time.monotonic()
        self.forward("compiled from the cache")
        data.update(
            cold_seconds=round(self.cold, 3), warm_seconds=round(time.monotonic() - started, 3)
        )
        data["told"] = [
            f"cold {data['cold_seconds']:.1f} s, from its cache {data['warm_seconds']:.1f} s"
        ]

    def cpp_wrapper(self) -> None:
        """Let Inductor write the caller of its kernels in C++ too."""
        with self.config.patch(cpp_wrapper=True), torch.no_grad():
            self.forward("compiled with cpp_wrapper")

    def compile_workers(self) -> None:
        """Let processes of their own compile.

        Where Inductor has C++ to compile, threads wait for the compiler instead.
        """
        with REPORT.act(), self.config.patch(compile_threads=2):
            try:
                workers = importlib.import_module("torch._inductor.async_compile")
            except ModuleNotFoundError:
                raise CaseEnded(
                    "skipped",
                    f"torch {torch.__version__} has its workers elsewhere; they moved with 2.4",
                ) from None
            try:
                await_worker(workers.AsyncCompile.process_pool())
                self.halve()
            except futures.BrokenExecutor as error:
                raise CaseEnded(
                    "failed", f"a worker process that compiles for Inductor died: {root(error)}"
                ) from error
            finally:
                workers.shutdown_compile_workers()

    def halve(self) -> None:
        """Compile a function that no other case compiles."""
        with compiling(), torch.no_grad():
            got = oracle.read(torch.compile(lambda w: w / 2)(self.leaves[1]))
        check(got, [each / 2 for each in self.w], "half of a vector, compiled by workers")


def await_worker(pool: Any) -> None:
    """Get an answer from a worker.

    Where the process that leads them is killed, torch itself may wait for ever.
    """
    answer, leader, deadline = (
        pool.submit(os.getpid),
        getattr(pool, "process", None),
        time.monotonic() + PATIENCE,
    )
    while not futures.wait([answer], timeout=0.2).done:
        if leader is not None and leader.poll() is not None:
            raise CaseEnded(
                "failed",
                (
                    "the process that leads Inductor's compile workers died with exit code "
                    f"{leader.returncode}"
                ),
            )
        if time.monotonic() > deadline:
            raise CaseEnded(
                "failed",
                f"no worker process that compiles for Inductor answered within {PATIENCE} s",
            )
    answer.result()


def copy_kernel(x_ptr, y_ptr, NUMEL: tl.constexpr, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    """Copy, as a user would write it: the number of elements is a constant of the kernel."""
    offsets = BLOCK * tl.program_id(0) + tl.arange(0, BLOCK)
    inside = offsets < NUMEL
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, inside), inside)


def copy(x: Any) -> Any:
    """Launch the kernel for as many elements as there are."""
    y = torch.empty_like(x)
    count = x.numel()
    copy_jit[(triton.cdiv(count, 256),)](x, y, count, 256)
    return y


def load_triton() -> None:
    """Make the kernel, where there is a Triton to make it with."""
    with compiling():
        try:
            language = importlib.import_module("triton.language")
        except ModuleNotFoundError as error:
            if error.name == "triton":
                raise CaseEnded("skipped", "triton is not installed") from None
            raise
        globals().update(triton=sys.modules["triton"], tl=language)
        globals().update(copy_jit=sys.modules["triton"].jit(copy_kernel))


def user_triton_constant(device: str, rng: random.Random, data: dict[str, Any]) -> None:
    """Hand a size to a constant of a Triton kernel of the user's own."""
    if device == "mps":
        raise CaseEnded("skipped", "Triton does not compile for Metal")
    forward = REPORT.results[-1]["cases"]["forward"]
    if forward["verdict"] == "skipped" and device != "cpu":
        raise CaseEnded("skipped", forward["reason"])
    if os.environ.get("CANARY_OWN_KERNELS") == "0":
        data["matters"] = {"user-triton-constant": "warning"}
    load_triton()
    data["triton"] = triton.__version__
    data["how"] = "dynamo-only" if device == "cpu" else "end-to-end"
    if device == "cpu":
        look_at_constant()
        return
    compiled = torch.compile(copy)
    for size in SIZES:
        drawn = draw(rng, size)
        with compiling():
            source = torch.tensor(drawn, dtype=torch.float32, device=device)
            got = oracle.read(compiled(source))
        check(got, drawn, f"a compiled copy of {size} elements")


def look_at_constant() -> None:
    """Trace as if there were a GPU, and look at what the backend is handed for the constant."""
    handed: list[Any] = []
    error = ""
    with REPORT.act(), a_gpu_pretended():
        try:
            torch.compile(copy, backend=lambda graph, _: stop(graph, handed), dynamic=True)(
                torch.ones(SIZES[0])
            )
        except Exception as raised:
            error = root(raised)
    if not handed:
        raise CaseEnded("skipped", f"Dynamo handed on no Triton kernel without a GPU: {error}")
    if handed[0] != SIZES[0]:
        raise CaseEnded(
            "failed",
            (
                f"tl.constexpr NUMEL was handed to the backend as the symbol {handed[0]}, "
                f"expected the number {SIZES[0]}"
            ),
        )


def stop(graph: Any, handed: list[Any]) -> None:
    """Stand for a backend: keep what NUMEL is in each launch, and compile nothing."""
    table = importlib.import_module("torch._higher_order_ops.triton_kernel_wrap").kernel_side_table
    for node in graph.graph.nodes:
        if "triton_kernel_wrapper" in str(node.target):
            arguments = dict(node.kwargs.get("kwargs", {}))
            constants = node.kwargs.get("constant_args_idx")
            if constants is not None:
                arguments.update(table.get_constant_args(constants))
            handed.append(arguments.get("NUMEL"))
    raise RuntimeError("nothing is compiled here")


@contextmanager
def a_gpu_pretended() -> Iterator[None]:
    """Let Dynamo trace Triton kernels on a machine that could not run them."""
    homes = [
        importlib.import_module(name) for name in ("torch.utils._triton", "torch._dynamo.utils")
    ]
    with ExitStack() as pretences:
        for home in homes:
            if hasattr(home, "has_triton"):
                pretences.enter_context(
                    mock.patch.object(home, "has_triton", lambda *_, **__: True)  # noqa: PT008 - Dynamo reads it
                )
        yield


def examine(device: str, data: dict[str, Any]) -> None:
    """Try everything on one device."""
    data["seed"] = random.SystemRandom().getrandbits(32)
    trial = Trial(device, random.Random(data["seed"]))
    with compiling():
        # More than one thread would start a pool of workers first. What stands in the environment
        # may have been read long ago.
        trial.config = importlib.import_module("torch._inductor.config")
        trial.config.compile_threads = 1
    compiles = trial.quick()
    with REPORT.case("user-triton-constant"):
        user_triton_constant(device, trial.rng, data)
    if compiles:
        trial.warm(data)
    if compiles and os.environ.get("CANARY_TIER") == "deep":
        with REPORT.case("compile-workers"):
            trial.compile_workers()
        with REPORT.case("cpp-wrapper"):
            trial.cpp_wrapper()


def main() -> None:
    """Compile on every device."""
    for device in devices(torch):
        with REPORT.result(device) as data:
            if not hasattr(torch, "compile"):
                raise CaseEnded(
                    "skipped", f"torch {torch.__version__} has no torch.compile; it came with 2.0"
                )
            if any(os.environ.get(name) == "1" for name in SWITCHES):
                raise CaseEnded(
                    "skipped", f"torch.compile is switched off by {' or '.join(SWITCHES)}"
                )
            REPORT.reach(torch, device)
            examine(device, data)


if __name__ == "__main__":
    REPORT.run(main)
