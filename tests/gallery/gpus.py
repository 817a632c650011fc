"""Two GPUs that are not there, played by the CPU: what goes between them may lose bytes.

Only the transport is played: names of devices, where a tensor is, copies, and the three calls of
the CUDA runtime that switch peer access. What the canary makes of it is its own. That the real
runtime does what these calls say is not shown by this.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import torch
from kernels import from_start
from torch.overrides import TorchFunctionMode

PLACES: dict[int, str] = {}
"""Where each tensor is said to be, by the address of its storage."""


class Machine(TorchFunctionMode):
    """Two GPUs played by the CPU.

    Tensors are told apart by a name, and what goes from one to the other may lose bytes.
    """

    def __init__(self, lossy: str = "", scalars: str = "", mixing: str = "") -> None:
        super().__init__()
        self.lossy, self.scalars, self.mixing, self.peer_access, self.switched = (
            lossy,
            scalars,
            mixing,
            True,
            0,
        )

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run everything on the CPU, and remember on which GPU it would have been."""
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        asked = str(kwargs.pop("device", ""))
        kwargs.pop("pin_memory", None)
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        if (
            name == "__get__"
            and tensors
            and PLACES.get(_address(tensors[0]))
            and "device" in str(function)
        ):
            return torch.device(PLACES[_address(tensors[0])])
        if name == "to" and len(args) > 1 and str(args[1]).startswith("cuda"):
            function, args, asked = torch.Tensor.clone, args[:1], str(args[1])
        places = {PLACES.get(_address(each), "cpu") for each in tensors}
        if name == "copy_":
            return self.copy(function, args, kwargs)
        if len({PLACES.get(_address(each), "cpu") for each in tensors if each.dim()}) > 1:
            args = self.mixed(args)
        elif self.scalars == "offset ignored" and "cpu" in places and len(places) > 1:
            args = tuple(
                from_start(each) if isinstance(each, torch.Tensor) and not each.dim() else each
                for each in args
            )
        result = function(*args, **kwargs)
        place = (
            asked
            if asked.startswith("cuda")
            else next(iter(sorted(places - {"cpu"}, reverse=True)), "")
        )
        if place and isinstance(result, torch.Tensor):
            PLACES[_address(result)] = place
        elif isinstance(result, torch.Tensor):
            PLACES.pop(_address(result), None)
        return result

    def mixed(self, args: Any) -> Any:
        """Refuse tensors of two places, as torch does, or take the second for zeros."""
        if self.mixing != "operand ignored":
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices"
            )
        return args[:1] + tuple(
            torch.zeros_like(each) if isinstance(each, torch.Tensor) else each for each in args[1:]
        )

    def copy(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Carry bytes; from one GPU to another they may get lost on the way that is lossy."""
        to, source = (PLACES.get(_address(each), "cpu") for each in args[:2])
        between = to != "cpu" and source not in {"cpu", to}
        path = ("direct" if self.peer_access else "detour") if between else "host"
        if path not in self.lossy or (path == "host" and (to, source) == ("cpu", "cpu")):
            return function(*args, **kwargs)
        args[0][: len(args[0]) - 1].copy_(args[1][: len(args[1]) - 1])
        return args[0]

    # What the canary asks of the CUDA runtime.
    def cudaDeviceDisablePeerAccess(self, _: int) -> int:
        self.peer_access, self.switched = False, self.switched + 1
        return 0 if self.switched % 2 else 705

    def cudaDeviceEnablePeerAccess(self, _: int, __: int) -> int:
        self.peer_access = True
        return 0

    def cudaGetLastError(self) -> int:
        return 0


def _address(tensor: Any) -> int:
    with torch._C.DisableTorchFunctionSubclass():
        return int(tensor.untyped_storage().data_ptr())


def two_gpus(lossy: str = "", scalars: str = "", mixing: str = "", can_access: bool = True) -> None:
    """Stand for a machine of two GPUs.

    Only the transport is played, what the canary makes of it is its own.
    """
    machine = Machine(lossy, scalars, mixing)
    torch.cuda.device_count = lambda: 2
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.device = _chosen
    torch.cuda.can_device_access_peer = lambda *_: can_access
    load = ctypes.CDLL
    ctypes.CDLL = lambda path, *rest, **more: (
        machine if "libcudart" in str(path) else load(path, *rest, **more)
    )
    machine.__enter__()


@contextlib.contextmanager
def _chosen(_: Any) -> Iterator[None]:
    yield
