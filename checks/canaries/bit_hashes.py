# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Runs kernels three times on equal inputs, and prints a digest of each result"
# needs = ["torch"]
# tier = "quick"
# timeout = 120
# devices = "each"
# cases = [
#     "matmul", "matmul-transposed", "matmul-half", "linear", "convolution", "sum", "softmax",
#     "layer-norm", "attention", "elementwise",
# ]
# ///
"""The same kernel gives the same bits for the same inputs, each time and on each equal machine.

A failure means that memory, a core or a GPU computes wrongly now and then (silent data corruption):
repeats differ although each kernel here has one order of its sums. `doctor fleet` compares the
digests of nodes with equal hardware and software, which finds one that is wrong each time.

The inputs come from an integer generator, so no floating point stands between them and the kernel.
On the CPU one thread computes, for the order of a sum depends on how many share it. cuBLAS promises
the same bits on GPUs of one architecture and number of multiprocessors
(https://docs.nvidia.com/cuda/cublas/#results-reproducibility); cuDNN with deterministic algorithms
(https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/misc.html#reproducibility-determinism).
Kernels that add atomically, such as cumsum and index_add on a GPU, are left out.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from typing import Any, Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_cases import Trial, run_table, skip_if_not_implemented
from canary_report import CaseEnded, Report

REPORT = Report()
torch = REPORT.load("torch")

REPEATS = 3
SIDE = 192
STEERING = re.compile(
    r"^(MKL_|ONEDNN_|DNNL_|OMP_|KMP_|ATEN_|CUBLAS|CUDNN|NVIDIA_TF32|TORCH_|PYTORCH_|GLIBC_TUNABLES)"
)


def numbers(count: int, seed: int) -> list[float]:
    """Return multiples of 1/512 below 2, of at most 11 bits: exact in float16 as well.

    The generator is the one of MINSTD, https://doi.org/10.1145/63039.63042.
    """
    state, made = seed, []
    for _ in range(count):
        state = state * 48271 % 2147483647
        made.append(((state >> 8) % 2047 - 1023) / 512)
    return made


def tensor(trial: Trial, *shape: int, seed: int, dtype: str = "float32") -> Any:
    """Make a tensor on the device."""
    count = 1
    for size in shape:
        count *= size
    made = torch.tensor(numbers(count, seed), dtype=getattr(torch, dtype))
    return made.reshape(shape).to(trial.device)


def digest(result: Any) -> str:
    """Return a digest of the bits of a result."""
    flat = result.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(bytes(flat.tolist())).hexdigest()[:16]


def kind(device: str) -> str:
    """Name the hardware and the software that decide the bits."""
    parts = [f"torch {torch.__version__}", str(getattr(torch.version, "git_version", ""))[:12]]
    if device.startswith("cuda"):
        seen = torch.cuda.get_device_properties(torch.device(device))
        parts += [seen.name, f"{seen.major}.{seen.minor}", f"{seen.multi_processor_count} SM"]
        parts += [f"CUDA {torch.version.cuda or torch.version.hip}"]
        parts += [f"cuDNN {torch.backends.cudnn.version()}"]
    else:
        parts += [platform.system(), platform.machine(), processor_model(), capability()]
    parts += [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if STEERING.match(name)
    ]
    return ", ".join(filter(None, parts))


def processor_model() -> str:
    """Return the model of the processor: libraries choose kernels by it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 16)
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "CPU part")
    found = dict(re.findall(r"^([\w ]+?)[ \t]*:[ \t]*(.*)$", text, re.MULTILINE)[:60])
    return " ".join(found[name] for name in wanted if name in found)


def capability() -> str:
    """Return the instruction set that torch chose."""
    try:
        return str(torch.backends.cpu.get_cpu_capability())
    except AttributeError:  # torch before 2.0
        return ""


def repeated(name: str, make: Callable[[Trial], Callable[[], Any]]) -> Callable[[Trial], None]:
    """Return a case that runs a kernel some times and keeps the digests."""

    def case(trial: Trial) -> None:
        trial.data.setdefault("device", trial.device)
        trial.data.setdefault("kind", kind(trial.device))
        hashes = trial.data.setdefault("hashes", {})
        with trial.act(), torch.no_grad():
            compute = make(trial)
            seen = [digest(compute()) for _ in range(REPEATS)]
        hashes[name] = sorted(set(seen))
        if len(set(seen)) > 1:
            raise CaseEnded(
                "failed", f"{len(set(seen))} different results in {REPEATS} runs on the same inputs"
            )

    return skip_if_not_implemented(case)


def matmul(trial: Trial) -> Callable[[], Any]:
    """Multiply matrices."""
    a, b = tensor(trial, SIDE, SIDE, seed=1), tensor(trial, SIDE, SIDE, seed=2)
    return lambda: a @ b


def matmul_transposed(trial: Trial) -> Callable[[], Any]:
    """Multiply by a transposed view, in a batch."""
    a, b = tensor(trial, 2, 96, 96, seed=3), tensor(trial, 2, 96, 96, seed=4)
    return lambda: torch.bmm(a, b.transpose(1, 2))


def matmul_half(trial: Trial) -> Callable[[], Any]:
    """Multiply in 16 bits: tensor cores, AMX."""
    dtype = "bfloat16" if trial.device == "cpu" else "float16"
    a, b = (tensor(trial, SIDE, SIDE, seed=seed, dtype=dtype) for seed in (5, 6))
    return lambda: a @ b


def linear(trial: Trial) -> Callable[[], Any]:
    """Multiply and add a bias in one kernel."""
    x, w, b = (
        tensor(trial, 64, SIDE, seed=7),
        tensor(trial, 80, SIDE, seed=8),
        tensor(trial, 80, seed=9),
    )
    return lambda: torch.nn.functional.linear(x, w, b)


def convolution(trial: Trial) -> Callable[[], Any]:
    """Convolve images."""
    x, w = tensor(trial, 2, 8, 24, 24, seed=10), tensor(trial, 16, 8, 3, 3, seed=11)

    def compute() -> Any:
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
            return torch.nn.functional.conv2d(x, w, padding=1)

    return compute


def total(trial: Trial) -> Callable[[], Any]:
    """Sum along each dimension, and all."""
    x = tensor(trial, SIDE, SIDE, seed=12) * 0.1
    return lambda: torch.cat([x.sum(0), x.sum(1), x.sum().reshape(1)])


def softmax(trial: Trial) -> Callable[[], Any]:
    """Take a softmax of rows."""
    x = tensor(trial, 64, SIDE, seed=13)
    return lambda: torch.softmax(x, dim=-1)


def layer_norm(trial: Trial) -> Callable[[], Any]:
    """Normalize rows."""
    x = tensor(trial, 64, SIDE, seed=14)
    return lambda: torch.nn.functional.layer_norm(x, (SIDE,))


def attention(trial: Trial) -> Callable[[], Any]:
    """Attend in one fused kernel."""
    fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if fused is None:
        raise CaseEnded("skipped", "torch before 2.0 has no such kernel")
    q, k, v = (tensor(trial, 1, 4, 64, 32, seed=seed) for seed in (15, 16, 17))
    return lambda: fused(q, k, v)


def elementwise(trial: Trial) -> Callable[[], Any]:
    """Take functions of each element."""
    x = tensor(trial, SIDE, SIDE, seed=18)
    return lambda: torch.stack(
        [x.exp(), x.tanh(), torch.nn.functional.gelu(x), (x + 2.5).log(), x * x]
    )


KERNELS = {
    "matmul": matmul,
    "matmul-transposed": matmul_transposed,
    "matmul-half": matmul_half,
    "linear": linear,
    "convolution": convolution,
    "sum": total,
    "softmax": softmax,
    "layer-norm": layer_norm,
    "attention": attention,
    "elementwise": elementwise,
}


def main() -> None:
    """Run each kernel on each device; on the CPU by one thread."""
    torch.set_num_threads(1)
    run_table(REPORT, torch, {name: repeated(name, make) for name, make in KERNELS.items()})


if __name__ == "__main__":
    REPORT.run(main)
