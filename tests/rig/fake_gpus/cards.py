"""The GPUs of the machine, and what they do wrong.

Errors of CUDA, texts of a library, a hang, a context that is slow or taken.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import time
from pathlib import Path
from typing import Any

DOCUMENTATION = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
ERRORS = {
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    46: ("cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"),
    209: (
        "cudaErrorNoKernelImageForDevice",
        "no kernel image is available for execution on the device",
    ),
    214: ("cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"),
    226: (
        "cudaErrorContained",
        "Invalid access of peer GPU memory over nvlink or a hardware error",
    ),
    700: ("cudaErrorIllegalAddress", "an illegal memory access was encountered"),
    702: ("cudaErrorLaunchTimeout", "the launch timed out and was terminated"),
    711: ("cudaErrorTooManyPeers", "peer mapping resources exhausted"),
    714: ("cudaErrorHardwareStackError", "hardware stack error"),
    716: ("cudaErrorMisalignedAddress", "misaligned address"),
    719: ("cudaErrorLaunchFailure", "unspecified launch failure"),
    999: ("cudaErrorUnknown", "unknown error"),
}
STICKY = {214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719}
"""Errors that end CUDA for the process (driver_types.h: "must be terminated and relaunched")."""
IN_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
    "must use the 'spawn' start method"
)
BLOCK = 2 << 20  # what torch takes from the driver at least
KINDS = {
    "name",
    "capability",
    "memory",
    "free",
    "uuid",
    "pci",
    "gfx",
    "fails",
    "context_seconds",
    "count",
}


class Card:
    """One GPU; `fails` says where it goes wrong.

    Context, properties, allocation, kernel, or the name of an operation, `bmm/float16`.
    """

    def __init__(self, place: int, said: dict[str, Any]) -> None:
        assert not set(said) - KINDS, f"a GPU has no {sorted(set(said) - KINDS)}"
        self.place = place
        self.name = said.get("name", "NVIDIA H100 80GB HBM3")
        self.capability = tuple(map(int, said.get("capability", "9.0").split(".")))
        self.memory = said.get("memory", 85520809984)
        self.free = said.get("free", self.memory - 600 * (1 << 20))
        self.uuid = said.get("uuid", f"GPU-{place + 0xA0:08x}-1111-2222-3333-444444444444")
        self.pci = said.get("pci", f"0000:{0x10 + place:02x}:00.0")
        self.gfx = said.get("gfx", "")
        self.fails: dict[str, Any] = said.get("fails", {})
        self.context_seconds = said.get("context_seconds", 0)


class Machine:
    """The GPUs that CUDA sees in this environment, in CUDA's order, and the process's state."""

    def __init__(self) -> None:
        said = json.loads(_text(os.environ["FAKE_GPUS"]))
        described = [one for each in said["gpus"] for one in [each] * each.get("count", 1)]
        self.installed = [Card(place, one) for place, one in enumerate(described)]
        self.exclusive, self.sticky = said.get("exclusive", False), said.get("sticky", True)
        self.lossy = {tuple(pair) for pair in said.get("lossy", [])}
        self.peers = said.get("peers", True)
        self.rocm, self.starts = said.get("rocm", ""), said.get("starts", False)
        self.current, self.lost, self.started_by, self.compiling = 0, 0, 0, False
        self.contexts: set[int] = set()
        self.held: list[Any] = []

    @functools.cached_property
    def cards(self) -> list[Card]:
        """What this process may see, as the environment has it when CUDA is first asked."""
        return visible(self.installed)

    def start(self) -> None:
        """Do what cuInit does: once, and never in a fork of a process that did it."""
        if self.started_by not in (0, os.getpid()):
            raise RuntimeError(IN_FORK)
        if not self.started_by and Path("/dev/nvidiactl").exists():
            self.held.append(os.open("/dev/nvidiactl", os.O_RDWR))
        self.started_by = os.getpid()

    def touch(self, index: int) -> Card:
        """Open a context where there is none yet; the card, where all is well with it."""
        self.start()
        card = self.cards[index]
        if self.lost:
            raise cuda_error(self.lost)
        if index not in self.contexts:
            time.sleep(card.context_seconds)
            self.strike(card, "context")
            if self.exclusive:
                self.own(card)
            self.contexts.add(index)
        return card

    def own(self, card: Card) -> None:
        """Be the one process that a GPU in exclusive-process mode takes."""
        folder = Path("/tmp" if self.exclusive is True else self.exclusive)
        file = (folder / f"fake-{card.uuid}.lock").open("w")
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise cuda_error(46) from None
        self.held.append(file)

    def strike(self, card: Card, *where: str) -> None:
        """Fail where the card is said to."""
        for name in where:
            self.fail(card.fails.get(name))

    def fail(self, what: Any) -> None:
        """Fail with an error of CUDA, with a text of a library, or hang."""
        if what == "hang":
            while True:
                time.sleep(60)
        if isinstance(what, str):
            raise RuntimeError(what)  # noqa: TRY004 - as the library does
        if what:
            if what in STICKY and self.sticky:
                self.lost = what
            raise cuda_error(what)

    def take(self, index: int, size: int) -> None:
        """Refuse memory that the card does not have."""
        card = self.cards[index]
        if max(size, BLOCK) > card.free:
            raise out_of_memory(index, card, size)


def visible(installed: list[Card]) -> list[Card]:
    """Choose and order GPUs as CUDA does.

    By speed unless CUDA_DEVICE_ORDER says PCI_BUS_ID, up to the first wrong entry.
    """
    cards = list(installed)
    if os.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        fastest = max(cards, key=lambda card: (card.capability, -card.place), default=None)
        cards.sort(key=lambda card: card is not fastest)
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return cards
    chosen: list[Card] = []
    for entry in (each.strip() for each in asked.split(",")):
        found = [
            card
            for number, card in enumerate(cards)
            if entry == str(number) or (len(entry) > 4 and card.uuid.startswith(entry))
        ]
        if len(found) != 1 or found[0] in chosen:
            break
        chosen += found
    return chosen


def cuda_error(code: int) -> Exception:
    """Say what torch 2.13 says for an error of the CUDA runtime."""
    import torch

    name, words = ERRORS[code]
    text = (
        f"CUDA error: {words}\nSearch for `{name}' in {DOCUMENTATION} for more information.\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so "
        "the stacktrace below might be incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\nDevice-side assertions "
        "were explicitly omitted for this error check; "
        "the error probably arose while initializing the DSA handlers."
    )
    return getattr(torch, "AcceleratorError", RuntimeError)(text)


def out_of_memory(index: int, card: Card, size: int) -> Exception:
    """Say what torch's allocator says."""
    import torch

    return torch.cuda.OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {max(size, BLOCK) / (1 << 20):.2f} MiB. "
        f"GPU {index} has a total capacity of "
        f"{card.memory / (1 << 30):.2f} GiB of which {card.free / (1 << 20):.2f} MiB is "
        "free. Including non-PyTorch memory, "
        "this process has 518.00 MiB memory in use. Of the allocated memory 0 bytes is "
        "allocated by PyTorch, "
        "and 0 bytes is reserved by PyTorch but unallocated."
    )


def _text(given: str) -> str:
    if given.lstrip().startswith("{"):
        return given
    return Path(given).read_text(encoding="utf-8")
