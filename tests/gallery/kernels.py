"""Kernels to put into torch's dispatcher in place of its own.

Right ones, and the same with one fault.

Loaded in another interpreter, after torch and before a canary; it is no part of the tests' own
process. Every kernel works in float64 by element-wise products and sums, so that a healthy one is
as good as what it replaces.
"""

from __future__ import annotations

import functools
import math
import os
import random
from collections.abc import Callable
from typing import Any

import torch

LIBRARY = torch.library.Library("aten", "IMPL")
DEVICE = os.environ.get("CANARY_DEVICES") or "cpu"
KEY = "CUDA" if DEVICE.startswith("cuda") and "FAKE_GPUS" not in os.environ else "CPU"
"""Whose kernels are replaced: the CPU computes for a played GPU."""
TILE = 8


# --- what a faulty kernel sees of an operand ---


def in_order(tensor: Any) -> Any:
    """The elements as they lie in the storage, whatever the strides say."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (size,), (1,))
    return storage[(torch.arange(tensor.numel()) + tensor.storage_offset()) % size].reshape(
        tensor.shape
    )


def from_start(tensor: Any) -> Any:
    """The elements as if the storage began with them."""
    return tensor.as_strided(tensor.shape, tensor.stride(), 0)


def layout_of(tensor: Any) -> str:
    """The name that the canaries have for the layout of an operand.

    Empty where it is contiguous.
    """
    strides, sizes = tensor.stride(), tensor.shape
    if any(size == 1 and stride == 7 for size, stride in zip(sizes, strides, strict=True)):
        return "size-one-dims"
    if tensor.is_contiguous() and tensor.storage_offset() == 0:
        return ""
    if 0 in strides:
        return "expanded"
    if strides[-1] == 2:
        return "strided"
    if tensor.dim() == 3 and strides[-1] == 1 and strides[0] < strides[1]:
        return "permuted-batch"
    if strides[-1] != 1:
        return "transposed"
    return "offset"


REFUSALS = {
    "library error": (
        "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmStridedBatchedEx( "
        "handle, opa, opb)`"
    ),
    "dtype unknown": "\"bmm\" not implemented for 'Half'",
}


class Fault:
    """When a fault shows, and what it does: to the operands, to the sum, to the destination."""

    def __init__(
        self, kind: str = "", *, layout: str = "", dtype: str = "", backward: bool = False
    ) -> None:
        self.kind, self.layout, self.dtype, self.backward = kind, layout, dtype, backward
        self.runs = 0

    def shows(self, tensor: Any) -> bool:
        """Whether the fault concerns this operand, now."""
        return (
            (not self.dtype or str(tensor.dtype) == f"torch.{self.dtype}")
            and (not self.layout or layout_of(tensor) == self.layout)
            and (not self.backward or torch._C._current_graph_task_id() != -1)
        )

    def seen(self, tensor: Any) -> Any:
        """An operand, the way the kernel reads it."""
        if self.kind == "missing":
            raise NotImplementedError("The operator is not currently implemented for this device")
        if self.kind in REFUSALS and self.shows(tensor):
            raise RuntimeError(REFUSALS[self.kind])
        if self.kind == "strides ignored" and self.shows(tensor):
            return in_order(tensor)
        if self.kind == "offset ignored" and self.shows(tensor):
            return from_start(tensor)
        return tensor

    def product(self, left: Any, right: Any) -> Any:
        """The product of two matrices, or of batches of them."""
        showing = self.shows(left)
        a, b = self.seen(left).double(), self.seen(right).double()
        if self.kind == "operand ignored" and showing:
            b = torch.ones_like(b)
        if self.kind == "last tile dropped" and showing and a.shape[-1] > TILE:
            kept = (a.shape[-1] - 1) // TILE * TILE
            a, b = a[..., :kept], b[..., :kept, :]
        result = a * b if a.shape[-1] == 1 else (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)
        if self.kind == "last row dropped" and showing:
            result[..., -1, :] = 0
        if self.kind == "last batch dropped" and showing:
            result[-1] = 0
        if self.kind == "columns overflow" and showing:
            result[..., 32768:] = 0
        if self.kind == "terms invented" and showing and a.shape[-1] > 32767:
            result = result + behind(left)
        if self.kind == "unsteady" and showing:
            # Half of the error that a sum of this length may have, and only every second time.
            self.runs += 1
            result = result * (1 + (self.runs % 2) * torch.finfo(left.dtype).eps)
        return self.misshapen(result.to(left.dtype), showing=showing)

    def misshapen(self, result: Any, *, showing: bool) -> Any:
        """The result, in a shape or a dtype that nobody asked for."""
        if self.kind == "last row missing" and showing and result.dim():
            return result[:-1]
        if self.kind == "row too many" and showing:
            return torch.cat((result, result[-1:]))
        return result.double() if self.kind == "other dtype" and showing else result

    def write(self, destination: Any, value: Any) -> Any:
        """Put a result where it belongs."""
        if self.kind == "never written" and self.shows(destination):
            return destination
        if self.kind == "destination read" and self.shows(destination):
            return destination.add_(value)
        if self.kind == "destination strides ignored" and self.shows(destination):
            flat = destination.as_strided(
                (destination.numel(),), (1,), destination.storage_offset()
            )
            flat.copy_(value.reshape(-1))
            return destination
        destination.copy_(value)
        if self.kind == "written beyond" and self.shows(destination):
            size = destination.untyped_storage().nbytes() // destination.element_size()
            reached = destination.storage_offset() + sum(
                (n - 1) * s for n, s in zip(destination.shape, destination.stride(), strict=True)
            )
            place = reached + 1 if reached + 1 < size else destination.storage_offset() - 1
            if place >= 0:
                destination.as_strided((1,), (1,), place).zero_()
        return destination


def behind(tensor: Any) -> Any:
    """The element that lies behind an operand."""
    return tensor.as_strided((1,), (1,), tensor.storage_offset() + tensor.numel())


def replace(op: str, kernel: Callable[..., Any], key: str = KEY) -> None:
    """Put a kernel into the dispatcher; what it makes lies on the device that it computes on."""

    @functools.wraps(kernel)
    def placed(*operands: Any, **options: Any) -> Any:
        with torch.device(DEVICE):
            return kernel(*operands, **options)

    LIBRARY.impl(op, placed if KEY == "CUDA" else kernel, key)


# --- products ---


def products(ops: list[str], **fault: Any) -> None:
    """Replace kernels that multiply matrices."""
    made = Fault(**fault)
    for op in ops:
        replace(op, PRODUCTS[op](made))


def _plain(fault: Fault) -> Callable[..., Any]:
    return fault.product


def _out(fault: Fault) -> Callable[..., Any]:
    return lambda a, b, *, out: fault.write(out, fault.product(a, b))


def _biased(fault: Fault, c: Any, a: Any, b: Any, beta: float, alpha: float) -> Any:
    bias = torch.zeros_like(c) if fault.kind == "bias ignored" and fault.shows(c) else fault.seen(c)
    return (beta * bias.double() + alpha * fault.product(a, b).double()).to(a.dtype)


def _add(fault: Fault) -> Callable[..., Any]:
    return lambda c, a, b, *, beta=1, alpha=1: _biased(fault, c, a, b, beta, alpha)


def _add_in_place(fault: Fault) -> Callable[..., Any]:
    return lambda c, a, b, *, beta=1, alpha=1: fault.write(c, _biased(fault, c, a, b, beta, alpha))


PRODUCTS: dict[str, Callable[[Fault], Callable[..., Any]]] = {
    "mm": _plain,
    "bmm": _plain,
    "mm.out": _out,
    "bmm.out": _out,
    "addmm": _add,
    "baddbmm": _add,
    "addmm_": _add_in_place,
    "baddbmm_": _add_in_place,
    "mv": lambda fault: lambda a, v: fault.product(a, v[:, None])[:, 0],
    "dot": lambda fault: lambda x, y: fault.product(x[None], y[:, None])[0, 0],
}


def wrong_gradient(**fault: Any) -> None:
    """Replace what autograd knows of bmm: the product is right, its gradients are not."""
    made = Fault(**fault)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            with torch._C._AutoDispatchBelowAutograd():
                return torch.ops.aten.bmm(a, b)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, Any]:
            a, b = ctx.saved_tensors
            return made.product(gradient, b.transpose(1, 2)), made.product(
                a.transpose(1, 2), gradient
            )

    replace("bmm", Product.apply, f"Autograd{KEY}")


# --- attention ---


def attention(**fault: Any) -> None:
    """Replace the fused kernel of attention."""
    made = Fault(**fault)

    def kernel(
        q: Any,
        k: Any,
        v: Any,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        attn_mask: Any = None,
        scale: Any = None,
    ) -> Any:
        scores, values = _scores(made, q, k, v, is_causal, attn_mask, scale)
        result = scores.softmax(-1) @ values
        if made.kind == "last row dropped" and made.shows(q):
            result[..., -1, :] = 0
        return result.to(q.dtype).transpose(1, 2).contiguous().transpose(1, 2), scores.logsumexp(
            -1
        ).float()

    replace("_scaled_dot_product_flash_attention_for_cpu", kernel)


def _scores(
    fault: Fault, q: Any, k: Any, v: Any, is_causal: bool, mask: Any, scale: Any
) -> tuple[Any, Any]:
    """The scores before the softmax, and the values they are for."""
    showing = fault.shows(q)
    queries, keys, values = (fault.seen(each).double() for each in (q, k, v))
    if fault.kind == "operand ignored" and showing:
        keys = torch.ones_like(keys)
    if fault.kind == "last tile dropped" and showing:
        kept = (keys.shape[2] - 1) // 4 * 4
        keys, values = keys[:, :, :kept], values[:, :, :kept]
    group = queries.shape[1] // keys.shape[1]
    shared = (
        (lambda each: each.repeat(1, group, 1, 1))
        if fault.kind == "wrong group"
        else (lambda each: each.repeat_interleave(group, 1))
    )
    keys, values = shared(keys), shared(values)
    scores = (
        queries
        @ keys.transpose(-1, -2)
        * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    )
    steps, count = scores.shape[-2:]
    if is_causal:
        edge = torch.arange(steps)[:, None]
        edge = edge // 4 * 4 + 3 if fault.kind == "future leaks" and showing else edge
        scores = scores.masked_fill(torch.arange(count) > edge, -math.inf)
    if mask is not None and fault.kind != "mask ignored":
        mask = in_order(mask) if fault.kind == "mask strides ignored" else mask
        mask = mask[..., :count]
        scores = (
            scores.masked_fill(~mask, -math.inf)
            if mask.dtype == torch.bool
            else scores + mask.double()
        )
    if fault.kind == "keys invented" and showing and count > 32 and count % 32:
        scores = torch.nn.functional.pad(scores, (0, 1), value=2.0)
        values = torch.nn.functional.pad(values, (0, 0, 0, 1))
    return scores, values


def attention_gradient(**fault: Any) -> None:
    """Replace the kernel that differentiates attention; the forward one stays torch's own."""
    made = Fault(**fault)

    def kernel(
        g: Any, q: Any, k: Any, v: Any, *rest: Any, attn_mask: Any = None, scale: Any = None
    ) -> Any:
        is_causal = rest[3]  # after the result, the logarithms of its sums, and the dropout
        factor = scale if scale is not None else 1 / math.sqrt(q.shape[-1])
        scores, values = _scores(made, q, k, v, is_causal, attn_mask, scale)
        queries, keys, slope = (made.seen(each).double() for each in (q, k, g))
        shares = scores.softmax(-1)
        reached = slope @ values.transpose(-1, -2)
        by_score = shares * (reached - (shares * reached).sum(-1, keepdim=True)) * factor
        found = [
            by_score @ keys[:, :, : by_score.shape[-1]],
            by_score.transpose(-1, -2) @ queries,
            shares.transpose(-1, -2) @ slope,
        ]
        if made.kind == "last row dropped":
            found[1][..., -1, :] = 0
        missing = [
            like.shape[2] - each.shape[2] for each, like in zip(found, (q, k, v), strict=True)
        ]
        return tuple(
            torch.nn.functional.pad(each, (0, 0, 0, rows)).to(q.dtype)
            for each, rows in zip(found, missing, strict=True)
        )

    replace("_scaled_dot_product_flash_attention_for_cpu_backward", kernel)


# --- element by element ---


def elementwise(ops: list[str], **fault: Any) -> None:
    """Replace operations that are no products."""
    made = Fault(**fault)
    for op in ops:
        replace(op, ELEMENTWISE[op](made))


def _step(combine: Callable[[Any, Any], Any]) -> Callable[[Fault], Callable[..., Any]]:
    def kernel(fault: Fault) -> Callable[..., Any]:
        return lambda x, y, z, *, value=1: fault.write(
            x, x.double() + value * combine(fault.seen(y).double(), fault.seen(z).double())
        )

    return kernel


def _drawn(sample: Callable[[Any], Any]) -> Callable[[Fault], Callable[..., Any]]:
    def kernel(fault: Fault) -> Callable[..., Any]:
        def fill(x: Any, *how: Any, generator: Any = None) -> Any:
            drawn = sample(x.shape, *how)
            if fault.kind == "uniform noise" and fault.shows(x):
                drawn = _evenly_spread_like(drawn)
            if fault.kind == "fractions" and fault.shows(x):
                drawn = drawn + 0.5
            if fault.kind == "rows repeated" and fault.shows(x):
                drawn[1::2] = drawn[::2]
            return fault.write(x, drawn)

        return fill

    return kernel


def _evenly_spread_like(drawn: Any) -> Any:
    """Noise of the same mean, within the range of what was drawn, and the same for every number.

    Range and mean are what they ought to be; the distribution is not.
    """
    mean, low, high = drawn.mean(), drawn.min(), drawn.max()
    reach = min(mean - low, high - mean)
    noise = _noise(*drawn.shape)
    centred = noise - noise.mean()
    # If the mean is not in the middle, the longer side decides what fits into the range.
    return centred / centred.abs().max() * reach * 0.99 + mean


def _noise(*shape: int) -> Any:
    """Numbers between 0 and 1, made without the kernels that are replaced."""
    return torch.tensor([random.random() for _ in range(math.prod(shape))]).reshape(shape)


def _unary(function: Callable[[float], float]) -> Callable[[Fault], Callable[..., Any]]:
    def kernel(fault: Fault) -> Callable[..., Any]:
        def computed(x: Any) -> Any:
            values = [function(value) for value in fault.seen(x).reshape(-1).tolist()]
            result = torch.tensor(values, dtype=x.dtype).reshape(x.shape)
            return fault.misshapen(result, showing=fault.shows(x))

        return computed

    return kernel


def _sorted(fault: Fault) -> Callable[..., Any]:
    def kernel(x: Any, dim: int = -1, descending: bool = False) -> Any:
        rows = fault.seen(x).movedim(dim, -1)
        one, other = rows.unsqueeze(-1), rows.unsqueeze(-2)
        places = ((one > other) | (one == other).tril(-1)).sum(
            -1
        )  # by rank; equal ones stay in their order
        order = torch.zeros_like(places).scatter_(
            -1, places, torch.arange(rows.shape[-1]).expand_as(places).contiguous()
        )
        found, places = rows.gather(-1, order).movedim(-1, dim), order.movedim(-1, dim)
        return fault.misshapen(found, showing=fault.shows(x)), places

    return kernel


def _joined(fault: Fault) -> Callable[..., Any]:
    def kernel(tensors: Any, dim: int = 0) -> Any:
        seen = [fault.seen(each) for each in tensors]
        shape = list(seen[0].shape)
        shape[dim] = sum(each.shape[dim] for each in seen)
        result, start = torch.empty(shape, dtype=seen[0].dtype), 0
        for each in seen:
            result.narrow(dim, start, each.shape[dim]).copy_(each)
            start += each.shape[dim]
        return fault.misshapen(result, showing=fault.shows(tensors[0]))

    return kernel


def _convolved(fault: Fault) -> Callable[..., Any]:
    def kernel(x: Any, weight: Any, *_: Any) -> Any:
        w = fault.seen(weight)
        windows = x.unfold(2, w.shape[2], 1).unfold(3, w.shape[3], 1)
        return (
            (windows.unsqueeze(1).double() * w[None, :, :, None, None].double())
            .sum((2, 5, 6))
            .to(x.dtype)
        )

    return kernel


def _convolved_back(fault: Fault) -> Callable[..., Any]:
    def kernel(g: Any, x: Any, weight: Any, *_: Any) -> Any:
        windows = fault.seen(x).unfold(2, weight.shape[2], 1).unfold(3, weight.shape[3], 1)
        slope = (
            (g[:, :, None, :, :, None, None].double() * windows.unsqueeze(1).double())
            .sum((0, 3, 4))
            .to(x.dtype)
        )
        if fault.kind == "last row dropped":
            slope[-1] = 0
        return None, slope, None

    return kernel


def _normalized(fault: Fault) -> Callable[..., Any]:
    def kernel(
        x: Any,
        gain: Any,
        shift: Any,
        mean: Any,
        variance: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> Any:
        result = (fault.seen(x) - mean) / (variance + eps).sqrt() * gain + shift
        return result, x.new_empty(0), x.new_empty(0)

    return kernel


ELEMENTWISE: dict[str, Callable[[Fault], Callable[..., Any]]] = {
    "addcmul_": _step(lambda y, z: y * z),
    "addcdiv_": _step(lambda y, z: y / z),
    "normal_": _drawn(
        lambda shape, mean=0, deviation=1: _noise(12, *shape).sum(0).sub(6).mul(deviation).add(mean)
    ),
    "uniform_": _drawn(lambda shape, least=0, most=1: _noise(*shape).mul(most - least).add(least)),
    "exponential_": _drawn(lambda shape, rate=1: _noise(*shape).clamp(1e-9).log().neg().div(rate)),
    "bernoulli_.float": _drawn(lambda shape, chance=0.5: (_noise(*shape) < chance).float()),
    "random_.from": _drawn(
        lambda shape, least, most: _noise(*shape).mul(most - least).add(least).floor()
    ),
    "sqrt.out": lambda fault: lambda x, *, out: fault.write(out, fault.seen(x).double() ** 0.5),
    "bitwise_and.Tensor_out": lambda fault: (
        lambda x, y, *, out: fault.write(out, ~(~fault.seen(x) | ~fault.seen(y)))
    ),
    "lgamma": _unary(math.lgamma),
    "digamma": lambda fault: lambda x: torch.special.polygamma(0, fault.seen(x).contiguous()),
    "sort": _sorted,
    "cat": _joined,
    "convolution": _convolved,
    "convolution_backward": _convolved_back,
    "native_batch_norm": _normalized,
}


# --- sums and copies ---


def sums(ops: list[str], kind: str = "") -> None:
    """Replace additions; the second operand may be ignored where it is a tensor."""

    def added(x: Any, y: Any, alpha: Any = 1) -> Any:
        if kind == "operand ignored" and isinstance(y, torch.Tensor) and y.dim():
            return x.clone()
        total = x.sub(y * -alpha)
        return total.double() if kind == "other dtype" else total

    kernels = {
        "add.Tensor": lambda x, y, *, alpha=1: added(x, y, alpha),
        "add_.Tensor": lambda x, y, *, alpha=1: x.copy_(added(x, y, alpha)),
        "add.out": lambda x, y, *, alpha=1, out: (
            out if kind == "never written" else out.copy_(added(x, y, alpha))
        ),
    }
    for op in ops:
        replace(op, kernels[op])


def copies(first: int = 0, last: int = 0, every: int = 0) -> None:
    """Let copies of bytes lose the first of them, the last, or one of every so many."""
    whole = torch.Tensor.copy_

    def copy(to: Any, source: Any, non_blocking: bool = False) -> Any:
        if to.dtype != torch.uint8 or to.data_ptr() == 0:
            return whole(to, source, non_blocking)
        kept = to.clone()
        whole(to, source, non_blocking)
        lost = torch.zeros(to.numel(), dtype=torch.bool)
        lost[: first and min(first, to.numel())] = True
        lost[to.numel() - last :] = True
        if every:
            lost[every - 1 :: every] = True
        to[lost] = kept[lost]
        return to

    torch.Tensor.copy_ = copy


def conversions(kind: str = "") -> None:
    """Copy into another dtype from the start of the storage, or overwrite the source."""
    whole = torch.Tensor.copy_

    def copy(to: Any, source: Any, non_blocking: bool = False) -> Any:
        if to.dtype == source.dtype or not kind:
            return whole(to, source, non_blocking)
        whole(from_start(to) if kind == "offset ignored" else to, source, non_blocking)
        if kind == "source overwritten":
            whole(source, source + 1)
        return to

    torch.Tensor.copy_ = copy
