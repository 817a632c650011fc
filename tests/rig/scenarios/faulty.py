"""GPUs with a fault.

The one that has it is red, the others are green, and the cause comes first.
"""

from __future__ import annotations

from typing import Any

from tests.rig import machines
from tests.rig.scenario import Scenario

_CUBLAS = (
    "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling "
    "`cublasGemmStridedBatchedEx(handle, opa, opb, (int)m, (int)n, (int)k, "
    "(void*)&falpha, a, CUDA_R_16F, (int)lda, stridea, b, CUDA_R_16F, (int)ldb, strideb, "
    "(void*)&fbeta, c, CUDA_R_16F, (int)ldc, stridec, "
    "(int)num_batches, compute_type, CUBLAS_GEMM_DEFAULT_TENSOR_OP)`"
)
_NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


def _faulty(
    why: str,
    cards: list[dict[str, Any]],
    only: str,
    *,
    lossy: tuple[tuple[int, int], ...] = (),
    **more: Any,
) -> Scenario:
    """GPUs, of which some have a fault, and the check besides torch-runtime that looks at them."""
    count = len(cards)
    played = {"gpus": cards, "lossy": lossy}
    told = {
        "machine": machines.nvidia(gpus=count),
        "nvml": f"gpus={count}",
        "gpus": played,
        "code": 1,
        "severity": "error",
        **more,
    }
    args = tuple(word for each in ("torch-runtime", only) for word in ("--only", each))
    return Scenario(why=why, args=told.pop("args", args), **told)


def _one_of(count: int, bad: int, **how: Any) -> list[dict[str, Any]]:
    return [how if index == bad else {} for index in range(count)]


def _alive(*indices: int, check: str = "torch-runtime") -> tuple[str, ...]:
    return tuple(f"{check} cuda:{index}" for index in indices)


_OLD_AND_NEW: list[dict[str, Any]] = [
    {"name": "NVIDIA GeForce GTX 1080", "capability": "6.1"},
    {"name": "NVIDIA GeForce RTX 3090", "capability": "8.6"},
]
_NVML_OLD_AND_NEW = (
    "gpus=2;0.name=NVIDIA GeForce GTX 1080;0.cc=6.1;1.name=NVIDIA GeForce RTX 3090;1.cc=8.6"
)
_BY_SLOT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
_FULL = {"free": 1 << 20}
_BUSY = {"fails": {"context": 46}}

SCENARIOS = {
    "half-products-broken": _faulty(
        "cuBLAS of another release: float16 and bfloat16 fail, float32 does not",
        [{"fails": {"bmm/float16": _CUBLAS, "bmm/bfloat16": _CUBLAS}}],
        "noncontiguous-matmul",
        first=("cuda/.*", "torch/.*", "canary/noncontiguous-matmul"),
        says=("CUBLAS_STATUS_INVALID_VALUE",),
        red=("noncontiguous-matmul cuda:0",),
    ),
    "half-attention-broken": _faulty(
        "no code for this GPU in the kernels of float16 attention",
        [{"fails": {"scaled_dot_product_attention/float16": _NO_KERNEL}}],
        "noncontiguous-attention",
        first=("cuda/.*", "torch/.*", "canary/noncontiguous-attention"),
        says=("no kernel image",),
        red=("noncontiguous-attention cuda:0",),
    ),
    "one-bad-of-four": _faulty(
        "uncorrectable memory errors in one GPU of four",
        _one_of(4, 1, fails={"kernel": 214}),
        "noncontiguous-ops",
        first=("nvidia/.*", "cuda/.*", "torch/.*", "canary/torch-runtime"),
        says=("cuda:1", "(?i)ECC"),
        red=_alive(1),
        green=(*_alive(0, 2, 3), *_alive(0, 2, 3, check="noncontiguous-ops")),
    ),
    "illegal-access-of-one": _faulty(
        "a card that cannot add two tensors",
        _one_of(4, 1, fails={"add": 700}),
        "noncontiguous-ops",
        first=("card/one-of-several",),
        says=("cuda:1", "illegal memory access"),
        red=_alive(1),
        green=(*_alive(0, 2, 3), *_alive(0, 2, 3, check="noncontiguous-ops")),
    ),
    "one-hangs-of-four": _faulty(
        "one GPU of four does not answer",
        _one_of(4, 2, fails={"context": "hang"}),
        "cross-device-add",
        first=("nvidia/.*", "cuda/.*", "torch/.*", "canary/torch-runtime", "reach/.*"),
        says=("cuda:2",),
        red=_alive(2),
        green=(*_alive(0, 1, 3), *_alive(0, 1, 3, check="cross-device-add")),
        args=("--only", "torch-runtime", "--only", "cross-device-add", "--timeout", "25"),
    ),
    "one-without-properties": _faulty(
        "torch cannot ask one GPU of three what it is",
        _one_of(3, 1, fails={"properties": 999, "context": 999}),
        "noncontiguous-ops",
        first=("cuda/.*", "nvidia/.*", "canary/torch-runtime"),
        says=("cuda:1",),
        green=(*_alive(0, 2), *_alive(0, 2, check="noncontiguous-ops")),
    ),
    "illegal-access-in-product": _faulty(
        "a card that adds, and dies of a product",
        [{"fails": {"bmm": 719}}],
        "noncontiguous-matmul",
        first=("torch/cuda-illegal-memory-access",),
        says=("unspecified launch failure",),
        red=("noncontiguous-matmul cuda:0",),
    ),
    "sticky-in-convolution": _faulty(
        "one kernel reads where it may not, and takes the process's CUDA along",
        [{"fails": {"conv2d": 700}}],
        "noncontiguous-ops",
        first=("torch/cuda-illegal-memory-access",),
        says=("illegal memory access",),
        red=("noncontiguous-ops cuda:0",),
        red_cases={"noncontiguous-ops cuda:0": ("convolution",)},
    ),
    "lossy-pair": _faulty(
        "what one GPU sends another loses bytes on the direct way",
        [{}, {}],
        "cross-device-add",
        lossy=((0, 1), (1, 0)),
        first=("nvidia/peer-copies-lose-bytes",),
        says=("NCCL_P2P_DISABLE",),
        red=("cross-device-add cuda:0", "cross-device-add cuda:1"),
    ),
    "full": _faulty(
        "somebody else's job fills GPU 0",
        [_FULL, {}],
        "noncontiguous-ops",
        nvml="gpus=2;0.used=85500000000;0.processes=4242:84900000000",
        code=0,
        severity="warning",
        first=("reach/cuda-full", "reach/cuda-some"),
        says=("4242|process", "(?i)memory"),
        red=(),
        green=(*_alive(1), *_alive(1, check="noncontiguous-ops")),
    ),
    "busy": _faulty(
        "somebody else's process holds GPU 0 in exclusive-process mode",
        [_BUSY, {}],
        "noncontiguous-ops",
        nvml="gpus=2;mode=3;0.processes=4242:629145600",
        code=0,
        severity="warning",
        first=("reach/cuda-busy", "reach/cuda-some"),
        says=("(?i)exclusive", "4242|process"),
        red=(),
        green=(*_alive(1), *_alive(1, check="noncontiguous-ops")),
    ),
    "slower-card-fails": _faulty(
        "CUDA numbers the faster card first, nvidia-smi by slot",
        [
            {"name": "NVIDIA GeForce RTX 3060", "capability": "8.6", "fails": {"kernel": 700}},
            {"name": "NVIDIA GeForce RTX 4090", "capability": "8.9"},
        ],
        "noncontiguous-ops",
        nvml=(
            "gpus=2;0.name=NVIDIA GeForce RTX 3060;0.cc=8.6;1.name=NVIDIA GeForce RTX 4090;1.cc=8.9"
        ),
        first=("torch/cuda-illegal-memory-access",),
        tells=(r"cuda:1 \(.*RTX 3060.*0000:10:00\.0", "nvidia-smi 0"),
        red=_alive(1),
    ),
    "pascal-compiles-nothing": _faulty(
        (
            "a GTX 1080 beside an RTX 3090, and a torch that has code for both: Triton takes "
            "Volta and later, which is no fault of this stack"
        ),
        _OLD_AND_NEW,
        "inductor-compile",
        nvml=_NVML_OLD_AND_NEW,
        env=_BY_SLOT,
        code=0,
        severity="",
        worst="note",
        red=(),
        green=("inductor-compile cuda:1",),
        skipped={"inductor-compile cuda:0": "(?i)too old"},
    ),
    "pascal-dropped": _faulty(
        "a GTX 1080 beside an RTX 3090, and a torch for CUDA 13, which has no code for Pascal",
        [{**_OLD_AND_NEW[0], "fails": {"kernel": 209}}, _OLD_AND_NEW[1]],
        "noncontiguous-ops",
        nvml=_NVML_OLD_AND_NEW,
        env=_BY_SLOT,
        first=("torch/legacy-gpu-dropped", "torch/.*arch.*", "torch/.*kernel-image.*"),
        red=_alive(0),
        green=(*_alive(1), *_alive(1, check="noncontiguous-ops")),
    ),
}


def cards(scenario: Scenario) -> int:
    """Return how many GPUs the machine of a scenario has."""
    return len(scenario.gpus["gpus"]) if scenario.gpus else 0
