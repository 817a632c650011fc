"""The circumstances of a fix in words, for those that nobody could look up: a log alone tells little of its machine."""

from __future__ import annotations

from doctor.facts.placeholders import as_text
from doctor.model.issues import Condition, Range

_OPERATORS = ("range", "one_of", "matches", "present", "absent")
_SYSTEMS = {"windows": "on Windows", "macos": "on macOS", "linux": "on Linux"}
_TELLING = {
    ("host.container", "absent"): "outside a container",
    ("host.container", "present"): "in a container",
    ("host.wsl", "absent"): "not under WSL",
    ("host.wsl", "equals"): "under WSL",
    ("python.conda", "present"): "in a conda environment",
    ("python.conda", "absent"): "outside conda",
    ("cuda.home", "present"): "with a CUDA toolkit",
    ("cuda.home", "absent"): "without a CUDA toolkit",
    ("cuda.nvcc", "present"): "with a CUDA toolkit",
    ("nvidia.driver_version", "present"): "with an NVIDIA driver",
    ("libs.ld_library_path", "present"): "where LD_LIBRARY_PATH is set",
    ("python.uv", "present"): "with uv",
    # How authors say "where nothing is known of torch": no circumstance that anybody could look
    # for.
    ("torch.release", "absent"): "",
    ("torch.build", "absent"): "",
}
_NAMES = {
    "torch.release": "torch",
    "torch.version": "torch",
    "torch.minor": "torch",
    "torch.build": "a torch built for",
    "torch.cuda_version": "a torch for CUDA",
    "torch.cuda_major": "a torch for CUDA",
    "cuda.version": "CUDA toolkit",
    "python.version": "Python",
    "nvidia.capability_min": "compute capability",
    "nvidia.capability_max": "compute capability",
    "nvidia.driver_version": "driver",
    "nvidia.driver_branch": "driver",
    "nvidia.cuda_version": "a driver for CUDA",
    "compiler.cxx_kind": "the compiler",
    "metal.macos": "macOS",
    "cuda.packaging": "a CUDA toolkit from",
}


def circumstance(condition: Condition) -> str:
    """Say in words what a condition asks for; empty where it would tell nobody anything."""
    operator = next(
        (
            name
            for name in ("range", "one_of", "matches", "present", "absent")
            if getattr(condition, name) is not None
        ),
        "equals",
    )
    if (told := _TELLING.get((condition.fact, operator))) is not None:
        return told
    if condition.fact.startswith("env.") and operator == "present":
        return f"where {condition.fact[4:]} is set"
    value = getattr(condition, operator)
    values = (
        [as_text(one) for one in value]
        if operator == "one_of"
        else [as_text(value)]
        if operator == "equals"
        else []
    )
    if condition.fact == "nvidia.gpu_present":
        return "with an NVIDIA GPU" if value else "without an NVIDIA GPU"
    if condition.fact == "host.os":
        return " or ".join(_SYSTEMS.get(one, one) for one in values)
    if condition.fact == "host.distribution_id":
        return "on " + " or ".join(one.capitalize() for one in values)
    if condition.fact == "host.package_manager":
        return "with " + " or ".join(values)
    name = _NAMES.get(condition.fact) or _package(condition.fact)
    if operator in ("present", "absent"):
        return f"{'with' if operator == 'present' else 'without'} {name}" if name else ""
    if isinstance(value, Range):
        return f"with {name} {_range(value)}" if name else ""
    return f"with {name} {' or '.join(values)}" if name and values else ""


def _package(fact: str) -> str:
    """Name the package, crate or variable whose version or value a fact gives."""
    kind, _, rest = fact.partition(".")
    if kind in ("package", "crate") and rest.endswith(".version"):
        return rest.removesuffix(".version")
    return rest if kind == "env" else ""


def _range(told: Range) -> str:
    if told.introduced and told.fixed:
        return f"from {told.introduced} to before {told.fixed}"
    return f"{told.introduced} or later" if told.introduced else f"before {told.fixed}"
