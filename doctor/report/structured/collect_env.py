"""The machine in the form of `python -m torch.utils.collect_env`, without importing torch.

Maintainers ask for this form, and tools read it:
https://github.com/pytorch/pytorch/blob/main/torch/utils/collect_env.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, State, value_of

_NOT_COLLECTED = "Could not collect"
_RELEVANT = re.compile(
    r"torch|triton|numpy|optree|onnx|nvidia-|^cuda-|xformers|flash|bitsandbytes|vllm|sglang|deepspeed|apex|transformers|accelerate|jax"
    r"|tensorflow|mamba|causal-conv1d|^intel|^mkl|candle"
)
_MOST_PACKAGES = 150
_SYSTEMS = {"linux": "Linux", "macos": "macOS", "windows": "Windows"}


def block(facts: Facts) -> str:
    """Return the block, its keys in torch's own order.

    What is not known says so in the words that torch has for it.
    """
    return "\n".join(
        [
            *_torch(facts),
            "",
            *_system(facts),
            "",
            *_python(facts),
            *_cuda(facts),
            "",
            *_cpu(facts),
            "",
            *_libraries(facts),
        ]
    )


def _told(
    facts: Facts, name: str, *, absent: str = "N/A", unknown: str = _NOT_COLLECTED, form: str = "{}"
) -> str:
    fact = facts.get(name)
    if fact is None or fact.state is State.UNKNOWN:
        return unknown
    return form.format(_one_line(fact.value)) if fact.state is State.PRESENT else absent


def _one_line(value: Any) -> str:
    return " ".join(as_text(value)[:400].split())


def _torch(facts: Facts) -> Iterator[str]:
    yield "Collecting environment information..."
    yield f"PyTorch version: {_told(facts, 'torch.version')}"
    yield f"Is debug build: {'False' if value_of(facts, 'torch.version') else 'N/A'}"
    # `Could not collect` stands in real reports of a torch that was built without CUDA, so it
    # cannot say that nothing is known.
    cuda = _told(facts, "torch.cuda_version", absent="None", unknown="not known")
    yield f"CUDA used to build PyTorch: {cuda}"
    yield f"ROCM used to build PyTorch: {_told(facts, 'torch.hip_version')}"


def _system(facts: Facts) -> Iterator[str]:
    system, machine = value_of(facts, "host.os"), value_of(facts, "host.machine")
    name = value_of(facts, "host.distribution") or _SYSTEMS.get(str(system), "")
    yield "OS: " + (
        _one_line(name) + (f" ({_one_line(machine)})" if machine else "")
        if name
        else _NOT_COLLECTED
    )
    kind, version = (
        value_of(facts, "compiler.cxx_kind"),
        _told(facts, "compiler.cxx_version", absent=_NOT_COLLECTED),
    )
    yield f"GCC version: {version if kind == 'gcc' else _NOT_COLLECTED}"
    yield f"Clang version: {version if kind in ('clang', 'apple-clang') else _NOT_COLLECTED}"
    yield f"CMake version: {_told(facts, 'build.cmake', absent=_NOT_COLLECTED, form='version {}')}"
    yield f"Libc version: {_told(facts, 'host.glibc', form='glibc-{}')}"


def _python(facts: Facts) -> Iterator[str]:
    bits = value_of(facts, "python.bits")
    yield (
        "Python version: "
        + _told(facts, "python.version")
        + (f" ({_one_line(bits)}-bit runtime)" if bits else "")
    )
    if (platform := _platform(facts)) is not None:
        yield f"Python platform: {platform}"
    yield f"Is CUDA available: {_available(value_of(facts, 'torch.cuda_available'))}"


def _platform(facts: Facts) -> str | None:
    """Return the platform.

    None where neither a kernel nor WSL is known, since readers take a platform for the word on WSL.
    """
    kernel, wsl = value_of(facts, "host.kernel"), value_of(facts, "host.wsl")
    told = facts.get("host.wsl")
    if kernel is None and (told is None or told.state is State.UNKNOWN):
        return None
    parts = [
        _SYSTEMS.get(str(value_of(facts, "host.os")), "Linux"),
        _one_line(kernel) if kernel else "",
    ]
    said = " ".join(parts).lower()
    parts += ["microsoft-standard-WSL2"] if wsl is True and "microsoft" not in said else []
    parts += ["tegra"] if value_of(facts, "host.jetson") and "tegra" not in said else []
    glibc = value_of(facts, "host.glibc")
    parts += [
        _one_line(value_of(facts, "host.machine") or ""),
        f"with-glibc{_one_line(glibc)}" if glibc else "",
    ]
    return "-".join(filter(None, parts))


def _available(value: Any) -> str:
    return str(value) if isinstance(value, bool) else "N/A"


def _cuda(facts: Facts) -> Iterator[str]:
    yield f"CUDA runtime version: {_told(facts, 'cuda.nvcc_version', absent='No CUDA')}"
    yield f"CUDA_MODULE_LOADING set to: {_told(facts, 'env.CUDA_MODULE_LOADING', unknown='N/A')}"
    yield from _gpus(facts)
    yield f"Nvidia driver version: {_told(facts, 'nvidia.driver_version', absent='No CUDA')}"
    yield f"cuDNN version: {_cudnn(facts)}"
    devices = value_of(facts, "torch.devices")
    listed = isinstance(devices, list)
    xpu = any(str(name).startswith("xpu") for name in devices) if listed else "N/A"
    yield f"Is XPU available: {xpu}"
    yield "HIP runtime version: N/A"
    yield "MIOpen runtime version: N/A"
    yield "Is XNNPACK available: N/A"
    config = value_of(facts, "env.PYTORCH_ALLOC_CONF") or value_of(
        facts, "env.PYTORCH_CUDA_ALLOC_CONF"
    )
    yield f"Caching allocator config: {_one_line(config) if config else 'N/A'}"


def _gpus(facts: Facts) -> Iterator[str]:
    names = value_of(facts, "nvidia.gpu_names")
    if not isinstance(names, list) or not names:
        gpus = value_of(facts, "nvidia.gpus")
        names = (
            [gpu.get("name") for gpu in gpus if isinstance(gpu, dict) and gpu.get("name")]
            if isinstance(gpus, list)
            else []
        )
    fact = facts.get("nvidia.gpus") or facts.get("nvidia.gpu_names")
    none = "No CUDA" if fact is not None and fact.state is State.ABSENT else _NOT_COLLECTED
    yield "GPU models and configuration:" + ("" if names else f" {none}")
    yield from (f"GPU {number}: {_one_line(name)}" for number, name in enumerate(names[:64]))


def _cudnn(facts: Facts) -> str:
    packages = _packages(facts)
    return next(
        (
            f"{version} ({name})"
            for name, version in packages.items()
            if name.startswith("nvidia-cudnn-cu")
        ),
        _NOT_COLLECTED,
    )


def _cpu(facts: Facts) -> Iterator[str]:
    yield "CPU:"
    yield f"Architecture: {_told(facts, 'host.machine')}"
    yield f"CPU(s): {_told(facts, 'host.cpu_count')}"


def _packages(facts: Facts) -> dict[str, str]:
    listed = value_of(facts, "packages")
    found = (
        {str(name): _one_line(version) for name, version in listed.items()}
        if isinstance(listed, dict)
        else {}
    )
    for name in facts:
        if (
            name.startswith("package.")
            and name.endswith(".version")
            and (version := value_of(facts, name))
        ):
            found.setdefault(
                name.removeprefix("package.").removesuffix(".version"), _one_line(version)
            )
    return dict(sorted(found.items()))


def _libraries(facts: Facts) -> Iterator[str]:
    yield "Versions of relevant libraries:"
    lines: dict[str, list[str]] = {"[pip3] ": [], "[conda] ": []}
    for name, version in _packages(facts).items():
        if _RELEVANT.search(name):
            conda = value_of(facts, f"package.{name}.installer") == "conda"
            lines["[conda] " if conda else "[pip3] "].append(
                f"{name} {version}" if conda else f"{name}=={version}"
            )
    for label, found in lines.items():
        yield from (label + line for line in found[:_MOST_PACKAGES] or [_NOT_COLLECTED])
