"""Run a table of cases on every device, so that a canary is its table and the functions in it.

A case is a function of a Trial. It computes within `trial.act()`, reads back there, and compares
with an oracle outside: what is raised inside is a failure of the stack, what is raised outside a
fault of the script.

Scripts find this module beside their own folder.
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

import oracle
from canary_devices import coarse
from canary_report import CaseEnded, Report, devices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    Case = Callable[["Trial"], None]


class Trial:
    """One device under test: its dtypes, and random numbers from a seed that the report records."""

    def __init__(self, report: Report, torch: Any, device: str) -> None:
        self.report, self.torch, self.device = report, torch, device
        self.data: dict[str, Any] = report.results[-1]["data"]
        self.data["seed"] = random.SystemRandom().getrandbits(32)
        self.rng = random.Random(self.data["seed"])

    @property
    def dtypes(self) -> list[str]:
        """The dtypes that work on this device; float32 alone if none were tried."""
        return list(self.data.get("dtypes", ["float32"]))

    def act(self) -> AbstractContextManager[None]:
        """Hold what is under test."""
        return self.report.act()

    def find_dtypes(self, names: Sequence[str], attempt: Callable[[str, str], object]) -> None:
        """Record the dtypes with which `attempt(device, dtype)` works."""
        self.report.dtypes(self.torch, self.device, names, partial(attempt, self.device))

    def make(self, dtype: str = "float32") -> Callable[[Any], Any]:
        """Return a function from nested lists to a contiguous tensor on the device."""
        kind = getattr(self.torch, dtype)
        return lambda values: self.torch.tensor(values, dtype=kind, device=self.device)

    def draw(self, *shape: int, pool: Sequence[Any] = oracle.EIGHTHS) -> Any:
        """Return nested lists of that shape, of eighths up to two or of another pool."""
        return oracle.draw(self.rng, *shape, pool=pool)

    def roundoff(self, dtype: str) -> float:
        """Return the unit roundoff of a dtype."""
        return float(self.torch.finfo(getattr(self.torch, dtype)).eps) / 2

    def roundoff_of_products(self, dtype: str) -> float:
        """Return the unit roundoff of products, coarser where float32 is rounded on purpose."""
        return (coarse(self.torch) if dtype == "float32" else None) or self.roundoff(dtype)

    def poison(self, shape: Sequence[int], like: Any) -> None:
        """Fill memory of the size of a result with NaN and let go of it.

        The next result of that size is likely to lie there: allocators hand out what was let go
        last. An element that a kernel never writes is then NaN.
        """
        self.torch.full(tuple(shape), oracle.NAN, dtype=like.dtype, device=like.device)

    def run(self, shape: Sequence[int], like: Any, compute: Callable[[], Any]) -> oracle.Output:
        """Return what a computation gives over poisoned memory."""
        self.poison(shape, like)
        return oracle.read(compute())

    def run_twice(
        self, shape: Sequence[int], like: Any, compute: Callable[[], Any]
    ) -> oracle.Output:
        """Return what a product gives, and what it gives once more if the bits have to agree.

        cuBLAS promises the same bits for the same call on one stream
        (https://docs.nvidia.com/cuda/cublas/#results-reproducibility), and one thread of a
        processor has one order of a sum. rocBLAS may add atomically; Metal promises nothing.
        """
        first = self.run(shape, like, compute)
        is_cuda = self.device.startswith("cuda") and not getattr(self.torch.version, "hip", None)
        if self.device == "cpu" or is_cuda:
            return first._replace(again=self.run(shape, like, compute).values)
        return first


def run_table(report: Report, torch: Any, cases: Mapping[str, Case]) -> None:
    """Try every case of a table on every device."""
    for device in devices(torch):
        with report.result(device):
            report.reach(torch, device)
            trial = Trial(report, torch, device)
            for name, case in cases.items():
                with report.case(name):
                    case(trial)


def skip_if_not_implemented(case: Case) -> Case:
    """Return a case that is skipped where a device has no such operation.

    CUDA has every operation, so there a NotImplementedError is a failure.
    """

    def tried(trial: Trial) -> None:
        try:
            case(trial)
        except CaseEnded as end:
            verdict, reason = end.args
            if reason.startswith("NotImplementedError") and not trial.device.startswith("cuda"):
                verdict = "skipped"
            raise CaseEnded(verdict, reason) from end

    return tried
