"""What torch.cuda, torch.compile and the CUDA runtime say on the machine that is played."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import types
from collections.abc import Iterator
from typing import Any

from fake_gpus.cards import Machine


def install(torch: Any) -> None:
    """Change a torch that was just imported."""
    from fake_gpus.tensors import Playing

    machine = Machine()
    cuda = Cuda(torch, machine)
    for name in dir(cuda):
        if not name.startswith("__") and name not in ("torch", "machine", "number"):
            setattr(torch.cuda, name, getattr(cuda, name))
    if machine.rocm:
        torch.version.hip, torch.version.cuda = machine.rocm, None
    mode = Playing(machine)
    torch.compile = compiled_by_nobody(torch, torch.compile, machine)
    load = ctypes.CDLL
    ctypes.CDLL = lambda path, *rest, **more: (
        Runtime(machine) if "libcudart" in str(path) else load(path, *rest, **more)
    )
    mode.__enter__()
    if machine.starts:
        machine.start()


class Uuid:
    """A GPU's identity, as torch prints it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text.removeprefix("GPU-")


class Stamp:
    """Stands for streams and events: everything here is done at once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_stream = 0

    def record(self, *_: Any) -> None:
        """Nothing runs behind anybody's back."""

    wait = synchronize = wait_event = wait_stream = record_stream = record

    def query(self) -> bool:
        """All is done."""
        return True

    def elapsed_time(self, _: Any) -> float:
        """No time has passed."""
        return 0.001

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


class Cuda:
    """The functions of torch.cuda that are about devices."""

    Stream = Event = Stamp

    def __init__(self, torch: Any, machine: Machine) -> None:
        self.torch, self.machine = torch, machine

    def number(self, device: Any = None) -> int:
        """The index that a device means."""
        if device is None or device == "cuda":
            return self.machine.current
        if isinstance(device, int):
            return device
        index = self.torch.device(device).index
        return self.machine.current if index is None else int(index)

    def is_available(self) -> bool:
        """There is a GPU that this process may see."""
        return bool(self.device_count())

    def device_count(self) -> int:
        """As many as the environment shows."""
        return 0 if self.machine.compiling else len(self.machine.cards)

    def is_initialized(self) -> bool:
        """Whether this process started CUDA."""
        return bool(self.machine.started_by)

    def init(self) -> None:
        """Start CUDA."""
        if not self.machine.cards:
            raise RuntimeError("No CUDA GPUs are available")
        self.machine.start()

    _lazy_init = init

    def is_bf16_supported(self, *_: Any, **__: Any) -> bool:
        """Ampere and later."""
        return self.machine.cards[self.machine.current].capability >= (8, 0)

    def get_device_properties(self, device: Any = None) -> Any:
        """Describe a GPU, as far as torch does."""
        self.init()
        index = self.number(device)
        if not 0 <= index < len(self.machine.cards):
            raise AssertionError("Invalid device id")
        card = self.machine.cards[index]
        self.machine.strike(card, "properties")
        domain, bus, place = (int(part, 16) for part in card.pci.partition(".")[0].split(":"))
        return types.SimpleNamespace(
            name=card.name,
            major=card.capability[0],
            minor=card.capability[1],
            total_memory=card.memory,
            multi_processor_count=132,
            uuid=Uuid(card.uuid),
            pci_bus_id=bus,
            pci_device_id=place,
            pci_domain_id=domain,
            gcnArchName=card.gfx or card.name,
            is_integrated=0,
            is_multi_gpu_board=0,
            warp_size=64 if card.gfx else 32,
            L2_cache_size=50 << 20,
            max_threads_per_multi_processor=2048,
            max_threads_per_block=1024,
            regs_per_multiprocessor=65536,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=232448,
            shared_memory_per_multiprocessor=233472,
        )

    def get_device_name(self, device: Any = None) -> str:
        """What the card is called."""
        return str(self.get_device_properties(device).name)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """Its compute capability."""
        seen = self.get_device_properties(device)
        return seen.major, seen.minor

    def current_device(self) -> int:
        """The GPU that calls without a device mean."""
        self.init()
        return self.machine.current

    def set_device(self, device: Any) -> None:
        """Choose that GPU."""
        self.machine.current = self.number(device)

    @contextlib.contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Choose that GPU for a while."""
        before, self.machine.current = self.machine.current, self.number(device)
        try:
            yield
        finally:
            self.machine.current = before

    def synchronize(self, device: Any = None) -> None:
        """Wait for a GPU; its errors come to light."""
        card = self.machine.touch(self.number(device))
        self.machine.strike(card, "synchronize")

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Free and all memory; asking opens a context."""
        card = self.machine.touch(self.number(device))
        return card.free, card.memory

    def can_device_access_peer(self, one: Any, other: Any) -> bool:
        """Whether the driver lets one GPU read another."""
        return self.number(one) != self.number(other)

    def current_stream(self, *_: Any) -> Stamp:
        """The only stream there is."""
        return Stamp()

    def default_stream(self, *_: Any) -> Stamp:
        """The same; a function of its own, for Dynamo tells them apart."""
        return Stamp()

    def stream(self, stream: Any = None) -> Stamp:
        """Choose a stream for a while."""
        return Stamp()

    def empty_cache(self) -> None:
        """Nothing is kept."""

    def manual_seed(self, *_: Any) -> None:
        """The generator of the CPU draws."""

    manual_seed_all = reset_peak_memory_stats = manual_seed

    def get_rng_state(self, *_: Any) -> Any:
        """The state of the generator that draws here."""
        return self.torch.get_rng_state()

    def set_rng_state(self, state: Any, *_: Any) -> None:
        """Set it."""
        self.torch.set_rng_state(state)

    def memory_allocated(self, *_: Any) -> int:
        """Nothing is counted."""
        return 0

    memory_reserved = max_memory_allocated = memory_allocated


class Runtime:
    """The three calls of the CUDA runtime that switch peer access."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.enabled = machine, {True}

    def cudaDeviceDisablePeerAccess(self, _: int) -> int:
        """Switch it off; 705 where it was off."""
        was, self.machine.peers = self.machine.peers, False
        return 0 if was else 705

    def cudaDeviceEnablePeerAccess(self, _: int, __: int) -> int:
        """Switch it on."""
        self.machine.peers = True
        return 0

    def cudaGetLastError(self) -> int:
        """All is well."""
        return 0


def too_old(card: Any) -> None:
    """Refuse what Inductor refuses, in its words (torch/_inductor/exc.py, GPUTooOldForTriton)."""
    if card.capability < (7, 0):
        major, minor = card.capability
        raise RuntimeError(
            f"Found {card.name} which is too old to be supported by the triton GPU "
            "compiler, which is used as the backend. "
            "Triton only supports devices of CUDA Capability >= 7.0, but your device is "
            f"of CUDA capability {major}.{minor}"
        )


def compiled_by_nobody(torch: Any, compile_really: Any, machine: Machine) -> Any:
    """Leave what is on a GPU uncompiled, for there is none to compile for.

    Compile the rest without anybody looking.
    """
    from fake_gpus.tensors import OnGpu, tensors_in

    @functools.wraps(compile_really)
    def compile(model: Any = None, **how: Any) -> Any:
        if model is None:
            return lambda function: compile(function, **how)
        compiled = compile_really(model, **how)

        @functools.wraps(model)
        def run(*args: Any, **kwargs: Any) -> Any:
            places = {each.place for each in tensors_in((args, kwargs)) if isinstance(each, OnGpu)}
            for place in places:
                too_old(machine.cards[place])
            if places:
                return model(*args, **kwargs)
            machine.compiling = True  # a compiler for the CPU has no business with GPUs
            try:
                with torch._C.DisableTorchFunction():
                    return compiled(*args, **kwargs)
            finally:
                machine.compiling = False

        return run

    return compile
