"""Tensors that say `cuda:N` and are computed by the CPU.

A subclass that carries its place, and a mode that sees every call of torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from fake_gpus.cards import Machine

TWO = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
MOVES = {
    "to",
    "cpu",
    "cuda",
    "copy_",
    "grad",
    "backward",
    "__getitem__",
    "__setitem__",
    "index_put_",
    "set_",
    "__set__",
    "type",
}
READS = {
    "size",
    "stride",
    "dim",
    "numel",
    "storage_offset",
    "data_ptr",
    "untyped_storage",
    "is_contiguous",
    "element_size",
    "__len__",
}
ANSWERS = {
    "device": lambda index: torch.device("cuda", index),
    "is_cuda": lambda index: True,
    "is_cpu": lambda index: False,
    "get_device": lambda index: index,
}


class OnGpu(torch.Tensor):
    """A tensor in ordinary memory that is said to be on a GPU."""

    place: int


class Watch(TorchDispatchMode):
    """Watch the kernels of one call of torch and its backward pass, and fail where the GPU does."""

    def __init__(self, machine: Machine, index: int) -> None:
        super().__init__()
        self.machine, self.card = machine, machine.cards[index]

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a kernel, or fail by its name and dtype."""
        result = function(*args, **(kwargs or {}))
        first = next((each for each in tensors_in((args, result))), None)
        dtype = str(first.dtype).partition(".")[2] if first is not None else ""
        strike(self.machine, self.card, function._schema.name.partition("::")[2], dtype)
        return result


class Playing(TorchFunctionMode):
    """Runs every call on the CPU, and remembers on which GPU it would have been."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Answer about places, move, or compute."""
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(function, "__self__", None), "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if args and isinstance(args[0], OnGpu) and name in ANSWERS:
                return ANSWERS[name](args[0].place)
            kwargs.pop("pin_memory", None)
            if name in ("to", "cpu", "cuda"):
                return self.move(name, args, kwargs)
            asked = kwargs.pop("device", None)
            places = {place_of(each): each for each in tensors_in((args, kwargs))}
            return self.compute(name, function, args, kwargs, places, self.index(asked))

    def index(self, asked: Any) -> int | None:
        """The GPU that a device names; -1 for the CPU, None where nobody asked."""
        if asked is None:
            return None
        device = torch.device("cuda", asked) if isinstance(asked, int) else torch.device(asked)
        if device.type != "cuda":
            return -1
        index = self.machine.current if device.index is None else device.index
        if index >= len(self.machine.cards):
            raise torch.AcceleratorError("CUDA error: invalid device ordinal")
        return index

    def compute(
        self,
        name: str,
        function: Any,
        args: Any,
        kwargs: Any,
        places: dict[int, Any],
        asked: int | None,
    ) -> Any:
        """Run a call on the GPU where its operands are."""
        gpus = sorted(place for place in places if place >= 0)
        index = asked if asked is not None else (gpus[-1] if gpus else -1)
        if index < 0:
            if gpus and asked is not None:  # such as zeros_like(x, device="cpu")
                return plain(function(*args, **kwargs))
            return function(*args, **kwargs)
        if name in READS:
            return function(*args, **kwargs)
        card = self.machine.touch(index)
        if name == "copy_":
            return self.copy(*args[:2])
        if name not in MOVES and asked is None:
            same_device(args, kwargs)
        strike(self.machine, card, name, "")
        if any(
            key.partition("/")[0] not in ("context", "properties", "allocation", "kernel")
            for key in card.fails
        ):
            with Watch(self.machine, index):
                result = function(*args, **kwargs)
        else:
            result = function(*args, **kwargs)
        return self.placed(result, index)

    def move(self, name: str, args: Any, kwargs: Any) -> Any:
        """Bring a tensor to another device or to another dtype."""
        tensor, *rest = args
        target = {"cpu": -1, "cuda": self.machine.current}.get(name)
        device = kwargs.pop("device", None)
        left = []
        for each in rest:
            if isinstance(each, torch.Tensor):
                target, kwargs["dtype"] = place_of(each), each.dtype
            elif isinstance(each, torch.dtype):
                kwargs["dtype"] = each
            elif (
                device is None
                and isinstance(each, (str, int, torch.device))
                and not isinstance(each, bool)
            ):
                device = each
            else:
                left.append(each)
        target = self.index(device) if device is not None else target
        here = place_of(tensor)
        target = here if target is None else target
        for index in {here, target} - {-1}:
            self.machine.touch(index)
        if (
            target == here
            and kwargs.get("dtype", tensor.dtype) == tensor.dtype
            and not kwargs.get("copy")
        ):
            return tensor
        moved = torch.Tensor.to(tensor, dtype=kwargs.get("dtype", tensor.dtype), copy=True)
        if here >= 0 and target >= 0 and self.loses(here, target):
            moved.view(-1)[-1:] = 0
        return self.placed(moved, target) if target >= 0 else moved

    def copy(self, into: Any, source: Any) -> Any:
        """Carry bytes; between two GPUs the last one may get lost on the way."""
        here, there = place_of(source), place_of(into)
        for index in {here, there} - {-1}:
            self.machine.touch(index)
        if here != there and min(here, there) >= 0 and self.loses(here, there):
            kept = into.flatten()[-1].clone()
            torch.Tensor.copy_(into, source)
            into.view(-1)[-1] = kept
            return into
        return torch.Tensor.copy_(into, source)

    def loses(self, here: int, there: int) -> bool:
        """Tell whether the direct path between two GPUs is taken, and loses bytes."""
        return self.machine.peers and (here, there) in self.machine.lossy

    def placed(self, result: Any, index: int) -> Any:
        """Say of every tensor in a result that it is on that GPU."""
        if isinstance(result, OnGpu):
            return result
        if isinstance(result, torch.Tensor):
            self.machine.take(index, result.numel() * result.element_size())
            result = (
                torch.Tensor._make_subclass(OnGpu, result, result.requires_grad)
                if result.is_leaf
                else result.as_subclass(OnGpu)
            )
            result.place = index
            return result
        if isinstance(result, (tuple, list)):
            parts = [self.placed(each, index) for each in result]
            return (
                type(result)(parts)
                if hasattr(result, "n_fields") or not hasattr(result, "_fields")
                else type(result)(*parts)
            )
        return result


def plain(result: Any) -> Any:
    """Give a tensor that is on no GPU."""
    return result.as_subclass(torch.Tensor) if isinstance(result, OnGpu) else result


def tensors_in(values: Any) -> Any:
    """Find the tensors among arguments, in lists and dicts too."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for each in values:
            yield from tensors_in(each)
    elif isinstance(values, dict):
        yield from tensors_in(list(values.values()))


def place_of(tensor: Any) -> int:
    """The GPU of a tensor; -1 for the CPU."""
    return tensor.place if isinstance(tensor, OnGpu) else -1


def same_device(args: Any, kwargs: Any) -> None:
    """Refuse operands of two devices as torch does; a number of the CPU is welcome everywhere."""
    with_dims = {
        place_of(each) for each in tensors_in((args, kwargs)) if each.dim() or place_of(each) >= 0
    }
    if len(with_dims) > 1:
        first, second = (
            f"cuda:{place}" if place >= 0 else "cpu"
            for place in sorted(with_dims, reverse=True)[:2]
        )
        raise RuntimeError(TWO.format(first, second))


def strike(machine: Machine, card: Any, name: str, dtype: str) -> None:
    """Fail by the name of an operation, alone or with a dtype.

    Every attention of torch counts as scaled_dot_product_attention.
    """
    family = "scaled_dot_product_attention" if "scaled_dot_product" in name else name.rstrip("_")
    machine.strike(card, "kernel", family, f"{family}/{dtype}")
