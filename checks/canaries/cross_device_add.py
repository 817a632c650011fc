# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Adds tensors across devices and handles and copies bytes between them, compared bit for bit"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "together"
# cases = ["mixed-devices", "two-handles", "round-trip", "every-pair"]
# ///
"""What two devices, or two handles of one device, exchange arrives unchanged: a sum has both its operands.

A failure means silent corruption: a second operand that is ignored, a copy that brings other bytes. Between two GPUs
the usual culprit is peer-to-peer access that the board (IOMMU, ACS) does not carry: `NCCL_P2P_DISABLE=1` avoids it.

The oracle is plain Python: whole numbers, small enough to be exact in float32, are added in lists; bytes are
compared with the bytes that were drawn. Destinations are poisoned, and every trial has fresh tensors.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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

COUNT = 1 << 14
SIZES = (1, 511, 4097, (1 << 20) + 3, 8 << 20)
NAN = float("nan")


def numbers(rng: random.Random) -> list[int]:
    """Draw whole numbers, none of them zero, whose sums are exact in float32."""
    return [rng.choice((-1, 1)) * rng.randint(1, 1 << 20) for _ in range(COUNT)]


def compare(got: list[float], want: list[int], what: str) -> None:
    """Raise at the first element that differs."""
    wrong = [index for index, (value, expected) in enumerate(zip(got, want)) if value != expected]
    if wrong:
        first = wrong[0]
        raise Ending("failed", f"{what}: {len(wrong)} of {len(want)} sums are wrong, the first is {got[first]:.0f}, expected {want[first]}")


def sums(x: Any, y: Any) -> dict[str, Any]:
    """Every way to add two tensors; none is read before the last is asked for."""
    poisoned = torch.full_like(x, NAN)
    torch.add(x, y, out=poisoned)
    return {"x + y": x + y, "y + x": y + x, "into out": poisoned, "in place": x.clone().add_(y)}


def mixed_devices(device: str, rng: random.Random) -> None:
    """Add a host tensor to one of the device: an error is right, and so is the sum; other numbers are not."""
    if device == "cpu":
        raise Ending("skipped", "needs an accelerator beside the CPU")
    a, b = numbers(rng), numbers(rng)
    want = [x + y for x, y in zip(a, b)]
    ways = {
        "device + host": lambda x, y: x + y,
        "host + device": lambda x, y: y + x,
        "device + host in place": lambda x, y: x.add_(y),
        "device + host into out": lambda x, y: torch.add(x, y, out=torch.full_like(x, NAN)),
    }
    for what, add in ways.items():
        with REPORT.act():
            got = guarded(add, torch.tensor(a, dtype=torch.float32, device=device), torch.tensor(b, dtype=torch.float32))
        if got is not None:
            compare(got, want, what)
    with REPORT.act():
        shifted = (torch.tensor(a, dtype=torch.float32, device=device) + torch.tensor(float(b[0]))).tolist()
    compare(shifted, [x + b[0] for x in a], "device + a host scalar")


def guarded(add: Any, x: Any, y: Any) -> list[float] | None:
    """Give the sum, or None where torch refused it."""
    try:
        return add(x, y).tolist()
    except RuntimeError as error:
        if "device" not in str(error) or "CUDA error" in str(error):
            raise
        return None


def two_handles(device: str, rng: random.Random) -> None:
    """Add what was made through two handles of one device, while both are still being computed."""
    first = torch.device(device)
    second = torch.device(first.type, first.index or 0)
    a, b = numbers(rng), numbers(rng)
    with REPORT.act():
        x = torch.tensor(a, dtype=torch.float32, device=first) * 3
        y = torch.tensor(b, dtype=torch.float32, device=second) * 5
        got = {what: tensor.tolist() for what, tensor in sums(x, y).items()}
    for what, values in got.items():
        compare(values, [3 * x + 5 * y for x, y in zip(a, b)], f"{what} on two handles of {device}")


def round_trip(device: str, rng: random.Random) -> None:
    """Carry random bytes to the device, within it, and back, from pageable memory and on CUDA from pinned."""
    for size in SIZES:
        for pinned in (False, True) if device.startswith("cuda") else (False,):
            drawn = draw(rng, size)
            with REPORT.act():
                there = poisoned(size, device, drawn)
                there.copy_(host(drawn, pinned), non_blocking=pinned)
                within = poisoned(size, device, drawn)
                within.copy_(there)
                got = content(within, pinned)
            same(got, drawn, f"host to {device} and back, {'pinned' if pinned else 'pageable'}")


def every_pair(device: str, rng: random.Random) -> None:
    """Copy random bytes from this GPU to each other one, with tensors that no earlier copy has touched."""
    others = [other for other in devices() if other.startswith("cuda") and other != device]
    if not device.startswith("cuda") or not others:
        raise Ending("skipped", "needs two CUDA devices")
    for other in others:
        for size in SIZES:
            drawn = draw(rng, size)
            with REPORT.act():
                there = poisoned(size, other, drawn)
                torch.cuda.synchronize(other)
                there.copy_(host(drawn, pinned=False).to(device))
                got = content(there, pinned=False)
            same(got, drawn, f"{device} to {other}")


def draw(rng: random.Random, size: int) -> bytes:
    """Draw that many bytes."""
    return rng.getrandbits(8 * size).to_bytes(size, "little")


def host(drawn: bytes, pinned: bool) -> Any:
    """Put bytes into a tensor of their own, without numpy."""
    tensor = torch.empty(len(drawn), dtype=torch.uint8, pin_memory=pinned)
    ctypes.memmove(tensor.data_ptr(), drawn, len(drawn))
    return tensor


def poisoned(size: int, device: str, drawn: bytes) -> Any:
    """Make a tensor that holds anything but the first of the bytes drawn."""
    return torch.full((size,), drawn[0] ^ 0xFF, dtype=torch.uint8, device=device)


def content(tensor: Any, pinned: bool) -> bytes:
    """Read a tensor back into poisoned host memory."""
    home = host(b"\xa5" * tensor.numel(), pinned)
    home.copy_(tensor, non_blocking=pinned)
    if pinned:
        torch.cuda.synchronize(tensor.device)
    return ctypes.string_at(home.data_ptr(), tensor.numel())


def same(got: bytes, drawn: bytes, what: str) -> None:
    """Raise where bytes differ."""
    if got != drawn:
        wrong = [index for index, (x, y) in enumerate(zip(got, drawn)) if x != y]
        raise Ending("failed", f"{what}: {len(wrong)} of {len(drawn)} bytes differ, the first at {wrong[0]}")


CASES = {"mixed-devices": mixed_devices, "two-handles": two_handles, "round-trip": round_trip, "every-pair": every_pair}


def main() -> None:
    """Try every case on every device."""
    for device in devices():
        with REPORT.result(device) as data:
            reach(device)
            data["seed"] = random.SystemRandom().getrandbits(32)
            rng = random.Random(data["seed"])
            for name, trial in CASES.items():
                with REPORT.case(name):
                    trial(device, rng)
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
