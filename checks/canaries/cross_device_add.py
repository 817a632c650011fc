# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Adds tensors across devices and handles, and copies between them, bit for bit"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# peers = true
# cases = [
#     "mixed-devices", "two-handles", "round-trip", "every-pair", "peer-access-off",
#     "pairs-through-host",
# ]
# ///
"""What two devices, or two handles of one device, exchange arrives unchanged.

A sum has both its operands.

A failure means silent corruption: a second operand that is ignored, a copy that brings other bytes.
Between two GPUs it tells which path loses them: the one torch takes (peer to peer, where the driver
says that it can), the driver's own detour with peer access switched off, or an explicit one through
host memory. Where only the first fails, the bytes are lost between the boards: `.cpu().to(...)`
gets around it, and `NCCL_P2P_DISABLE=1` for what NCCL copies, which is nothing of this.

The oracle is plain Python: whole numbers, small enough to be exact in float32, are added in lists;
bytes are compared with the bytes that were drawn. Destinations are poisoned, every trial has fresh
tensors, and the direct path comes first: a copy has been seen to be right once the same bytes had
gone through the host (pytorch/pytorch 87363). Peer access is switched by
`cudaDeviceDisablePeerAccess` of the runtime that torch has loaded, for torch has no switch; memory
of `expandable_segments` does not heed it. Metal has been seen to read a host scalar at the wrong
offset (187117, 191929).
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_cases import Trial, run_table
from canary_devices import is_fault
from canary_report import CaseEnded, Report
from oracle import NAN, Output, check, read

REPORT = Report()
torch = REPORT.load("torch")

COUNT = 1 << 14
SIZES = (1, 511, 4097, (1 << 20) + 3, 8 << 20)
MOST_PEERS = 8
NOT_ENABLED = 705  # cudaErrorPeerAccessNotEnabled


def numbers(rng: random.Random, count: int = COUNT, bits: int = 20) -> list[int]:
    """Draw whole numbers, none of them zero, whose sums are exact in float32."""
    return [rng.choice((-1, 1)) * rng.randint(1, 1 << bits) for _ in range(count)]


def floats(values: list[int], device: Any) -> Any:
    """Make a tensor of whole numbers."""
    return torch.tensor(values, dtype=torch.float32, device=device)


def sums(x: Any, y: Any) -> dict[str, Any]:
    """Return every way to add two tensors; none is read before the last is asked for."""
    poisoned = torch.full_like(x, NAN)
    torch.add(x, y, out=poisoned)
    return {"x + y": x + y, "y + x": y + x, "into out": poisoned, "in place": x.clone().add_(y)}


def mixed_devices(trial: Trial) -> None:
    """Combine a tensor of the device with one of the host and of each other GPU.

    An error of torch is right, and so is the answer.
    """
    device = trial.device
    if device == "cpu":
        raise CaseEnded("skipped", "needs an accelerator beside the CPU")
    a, b = numbers(trial.rng), numbers(trial.rng)
    few = numbers(trial.rng, 64, 8), numbers(trial.rng, 64, 8)
    total = [x + y for x, y in zip(a, b)]
    picked = [x if x > 0 else y for x, y in zip(a, b)]
    product = [sum(x * y for x, y in zip(*few))]
    ways: dict[str, tuple[Any, tuple[list[int], list[int]], list[int]]] = {
        "device + {}": (lambda x, y: x + y, (a, b), total),
        "{} + device": (lambda x, y: y + x, (a, b), total),
        "device + {} in place": (lambda x, y: x.add_(y), (a, b), total),
        "device + {} into out": (
            lambda x, y: torch.add(x, y, out=torch.full_like(x, NAN)),
            (a, b),
            total,
        ),
        "cat of device and {}": (lambda x, y: torch.cat((x, y)), (a, b), a + b),
        "where of device and {}": (lambda x, y: torch.where(x > 0, x, y), (a, b), picked),
        "device @ {}": (lambda x, y: (x[None] @ y[:, None])[0], few, product),
    }
    for other in ["cpu", *peers(device)]:
        there = "host" if other == "cpu" else other
        for what, (combine, operands, want) in ways.items():
            with trial.act():
                got = unless_refused(
                    combine, floats(operands[0], device), floats(operands[1], other)
                )
            if got is not None:
                check(got, want, what.format(there))
    host_scalars(device, a, b)


def host_scalars(device: str, a: list[int], b: list[int]) -> None:
    """Add and subtract host tensors without dimensions.

    One is a tensor of its own, one an element of a longer tensor.
    """
    for what, scalar, value in (
        ("a host scalar", floats(b, "cpu")[0].clone(), b[0]),
        ("an element of a host tensor", floats(b, "cpu")[5], b[5]),
    ):
        total, rest = [each + value for each in a], [value - each for each in a]
        with REPORT.act():
            x = floats(a, device)
            got = {
                "device + ": (read(x + scalar), total),
                "in place, device + ": (read(x.clone().add_(scalar)), total),
                "from device, ": (read(scalar - x), rest),
            }
        for how, (result, want) in got.items():
            check(result, want, f"{how}{what}")


def unless_refused(combine: Any, x: Any, y: Any) -> Output | None:
    """Return the answer, or None if torch refused tensors of two devices."""
    try:
        return read(combine(x, y))
    except RuntimeError as error:
        if "device" not in str(error) or is_fault(str(error)):
            raise
        return None


def two_handles(trial: Trial) -> None:
    """Add what was made through two handles of one device, while both are still being computed."""
    first = torch.device(trial.device)
    second = torch.device(first.type, first.index or 0)
    a, b = numbers(trial.rng), numbers(trial.rng)
    with trial.act():
        x = floats(a, first) * 3
        y = floats(b, second) * 5
        got = {what: read(tensor) for what, tensor in sums(x, y).items()}
    want = [3 * x + 5 * y for x, y in zip(a, b)]
    for what, result in got.items():
        check(result, want, f"{what} on two handles of {trial.device}")


def round_trip(trial: Trial) -> None:
    """Carry random bytes to the device, within it, and back.

    From pageable memory, and on CUDA from pinned memory too.
    """
    device, rng = trial.device, trial.rng
    for size in SIZES:
        for pinned in (False, True) if device.startswith("cuda") else (False,):
            drawn = draw(rng, size)
            with REPORT.act():
                there = poisoned(size, device, drawn)
                there.copy_(host(drawn, pinned), non_blocking=pinned)
                within = poisoned(size, device, drawn)
                within.copy_(there)
                got = content(within, pinned)
            wrong = differing(got, drawn)
            if wrong:
                raise CaseEnded(
                    "failed",
                    f"host to {device} and back, {'pinned' if pinned else 'pageable'}: {wrong}",
                )


def every_pair(trial: Trial) -> None:
    """Copy from this GPU to each other one as torch does, with tensors no copy has touched."""
    over_all_pairs(trial, "as torch copies", lambda there, here: there.copy_(here))


def peer_access_off(trial: Trial) -> None:
    """Copy with peer access switched off in both directions.

    Then the driver carries the bytes through the host.
    """
    runtime = loaded_runtime()
    if peers(trial.device) and runtime is None:
        raise CaseEnded("skipped", "no CUDA runtime is loaded that could switch peer access")

    def copy(there: Any, here: Any) -> None:
        with without_peer_access(runtime, here.device, there.device):
            there.copy_(here)
            torch.cuda.synchronize(there.device)

    over_all_pairs(trial, "with peer access off", copy)


def pairs_through_host(trial: Trial) -> None:
    """Copy by way of the host's memory, pinned where there is such."""
    over_all_pairs(trial, "through the host", lambda there, here: there.copy_(by_host(here)))


def by_host(here: Any) -> Any:
    """Bring a tensor to pinned host memory."""
    home = torch.empty(here.shape, dtype=here.dtype, pin_memory=here.device.type == "cuda")
    return home.copy_(here)


def over_all_pairs(trial: Trial, path: str, copy: Any) -> None:
    """Carry random bytes from a GPU to each other one; record of every pair how that ended."""
    device, others = trial.device, peers(trial.device)
    if not others:
        raise CaseEnded("skipped", "needs two GPUs of one kind")
    lost, pairs = [], trial.data.setdefault("pairs", {})
    for other in others:
        pair = pairs.setdefault(f"{device} to {other}", {"peer_access": can_access(device, other)})
        pair[path] = first_loss(device, other, trial.rng, copy)
        if pair[path] != "exact":
            possible = {True: "possible", False: "not possible", None: "not known"}[
                pair["peer_access"]
            ]
            lost.append(f"{device} to {other} {path} (peer access {possible}): {pair[path]}")
    if lost:
        raise CaseEnded("failed", "; ".join(lost))


def first_loss(device: str, other: str, rng: random.Random, copy: Any) -> str:
    """Carry bytes of several sizes from one GPU to another; say where they first came out wrong."""
    for size in SIZES:
        drawn = draw(rng, size)
        with REPORT.act():
            there = poisoned(size, other, drawn)
            getattr(torch, other.partition(":")[0]).synchronize(other)
            copy(there, host(drawn, pinned=False).to(device))
            got = content(there, pinned=False)
        wrong = differing(got, drawn)
        if wrong:
            return wrong
    return "exact"


def peers(device: str) -> list[str]:
    """Name the other GPUs of a device's kind that answered, eight at most.

    CUDA connects no GPU with more where there is no NVSwitch.
    """
    kind = device.partition(":")[0]
    if "CANARY_PEERS" in os.environ:
        found = [
            other for other in os.environ["CANARY_PEERS"].split(",") if other.startswith(kind + ":")
        ]
    else:
        found = [
            f"{kind}:{index}"
            for index in range(
                getattr(torch, kind).device_count() if kind in ("cuda", "xpu") else 0
            )
        ]
    # Those that follow in a ring, so that of up to seventeen GPUs every two meet.
    place = found.index(device) if device in found else 0
    return [other for other in found[place:] + found[:place] if other != device][:MOST_PEERS]


def can_access(device: str, other: str) -> bool | None:
    """Say whether the driver lets one GPU read another; None where it cannot be asked."""
    if not device.startswith("cuda"):
        return None
    return bool(torch.cuda.can_device_access_peer(torch.device(device), torch.device(other)))


def runtime_paths() -> list[str]:
    """Return the files of CUDA's runtime that this process has loaded."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return sorted(
                {
                    line.split(maxsplit=5)[5].strip()
                    for line in maps
                    if re.search(r"/libcudart(-\w+)?\.so", line)
                }
            )
    except OSError:
        return []


def loaded_runtime() -> Any:
    """Open the CUDA runtime that this process has loaded already."""
    paths = runtime_paths()
    return ctypes.CDLL(paths[0]) if paths else None


@contextmanager
def without_peer_access(runtime: Any, one: Any, other: Any) -> Iterator[None]:
    """Switch peer access off between two GPUs, and afterwards on again where it was."""
    switched = []
    for here, there in ((one, other), (other, one)):
        with torch.cuda.device(here):
            code = runtime.cudaDeviceDisablePeerAccess(there.index)
        if code == 0:
            switched.append((here, there))
            continue
        runtime.cudaGetLastError()  # torch would take it for an error of its own
        if code != NOT_ENABLED:
            raise CaseEnded("skipped", f"cudaDeviceDisablePeerAccess ended with error {code}")
    try:
        yield
    finally:
        for here, there in switched:
            with torch.cuda.device(here):
                runtime.cudaDeviceEnablePeerAccess(there.index, 0)


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


def differing(got: bytes, drawn: bytes) -> str:
    """Say which bytes differ; nothing where none does."""
    if got == drawn:
        return ""
    wrong = [index for index, (x, y) in enumerate(zip(got, drawn)) if x != y]
    return f"{len(wrong)} of {len(drawn)} bytes differ, the first at {wrong[0]}"


CASES = {
    "mixed-devices": mixed_devices,
    "two-handles": two_handles,
    "round-trip": round_trip,
    "every-pair": every_pair,
    "peer-access-off": peer_access_off,
    "pairs-through-host": pairs_through_host,
}


if __name__ == "__main__":
    REPORT.run(lambda: run_table(REPORT, torch, CASES))
