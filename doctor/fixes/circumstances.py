"""Write a condition of a fix as a sentence, for a reader who has to decide it."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts.placeholders import as_text
from doctor.model.issues import Condition, Range

_OPERATORS = ("range", "one_of", "matches", "present", "absent")
_SYSTEMS = {"windows": "Windows", "macos": "macOS", "linux": "Linux"}
_SENTENCES: Mapping[tuple[str, str], str] = {
    ("host.container", "absent"): "this is no container",
    ("host.container", "present"): "this is a container",
    ("host.wsl", "absent"): "this is not WSL",
    ("host.wsl", "equals"): "this is WSL",
    ("host.jetson", "absent"): "this is no Jetson",
    ("host.jetson", "present"): "this is a Jetson",
    ("python.conda", "present"): "this is a conda environment",
    ("python.conda", "absent"): "this is no conda environment",
    ("cuda.home", "present"): "a CUDA toolkit is installed",
    ("cuda.home", "absent"): "no CUDA toolkit is installed",
    ("cuda.nvcc", "present"): "a CUDA toolkit is installed",
    ("cuda.nvcc", "absent"): "no CUDA toolkit is installed",
    ("nvidia.driver_version", "present"): "an NVIDIA driver is installed",
    ("nvidia.driver_version", "absent"): "no NVIDIA driver is installed",
    ("nvidia.nvml", "present"): "nvidia-smi fails",
    ("nvidia.nvml", "absent"): "nvidia-smi works",
    ("libs.ld_library_path", "present"): "LD_LIBRARY_PATH is set",
    ("python.uv", "present"): "uv is installed",
    # Authors write these for "nothing is known of it": no reader can decide that.
    ("nvidia.fabric_wanted", "absent"): "",
    ("nvidia.uvm", "absent"): "",
    ("cuda.gcc_max", "absent"): "",
    ("python.minor", "absent"): "",
    ("torch.cuda_tag", "absent"): "",
    ("torch.wanted_tag", "absent"): "",
    ("nvidia.driver_branch", "absent"): "",
    ("torch.release", "absent"): "",
    ("torch.version", "absent"): "",
    ("torch.build", "absent"): "",
}
_STATEMENTS = {
    "nvidia.gpu_present": ("the machine has an NVIDIA GPU", "the machine has no NVIDIA GPU"),
    "intel.gpu_present": ("the machine has an Intel GPU", "the machine has no Intel GPU"),
    "nvidia.device_nodes": ("/dev/nvidia* exists", "/dev/nvidia* does not exist"),
    "nvidia.uvm": ("the module nvidia_uvm is loaded", "the module nvidia_uvm is not loaded"),
    "nvidia.uvm_node": ("/dev/nvidia-uvm exists", "/dev/nvidia-uvm does not exist"),
    "nvidia.fabric_wanted": (
        "the GPUs are joined by NVSwitches or NVLink",
        "nothing joins the GPUs but PCIe",
    ),
    "nvidia.nvswitch": ("the machine has an NVSwitch", "the machine has no NVSwitch"),
    "nvidia.runs_cuda_of_torch": (
        "the driver runs the CUDA release of torch",
        "the driver is older than the CUDA release of torch",
    ),
    "host.rosetta": ("Rosetta runs this Python", "Rosetta does not run this Python"),
    "host.virtual_machine": ("this is a virtual machine", "this is no virtual machine"),
    "triton.fits_torch": (
        "triton is the release that torch asks for",
        "triton is not the release that torch asks for",
    ),
}
"""What a fact says when it is true, and when it is false."""
_NAMES = {
    "host.machine": "the processor",
    "compiler.cxx_major": "the C++ compiler",
    "compiler.cxx_version": "the C++ compiler",
    "compiler.cxx": "a C++ compiler",
    "build.git": "git",
    "rust.toolchain": "a Rust toolchain",
    "amd.driver": "the driver amdgpu",
    "candle.built_for": "the compute capability that Candle is built for",
    "nvidia.gpu_count": "the number of GPUs",
    "torch.release": "torch",
    "torch.version": "torch",
    "torch.minor": "torch",
    "torch.cuda_version": "the CUDA release of torch",
    "torch.cuda_major": "the CUDA release of torch",
    "cuda.version": "the CUDA toolkit",
    "python.version": "Python",
    "nvidia.capability_min": "the compute capability",
    "nvidia.capability_max": "the compute capability",
    "nvidia.driver_version": "the NVIDIA driver",
    "nvidia.driver_branch": "the NVIDIA driver",
    "nvidia.cuda_version": "the CUDA release of the driver",
    "compiler.cxx_kind": "the C++ compiler",
    "metal.macos": "macOS",
}
_BUILDS = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "cpu": "the CPU", "mps": "Metal"}
_DISTRIBUTIONS = {"nixos": "NixOS", "rhel": "RHEL", "centos": "CentOS"}
_PACKAGINGS = {"pip": "pip packages", "conda": "conda packages"}


def circumstance(condition: Condition) -> str:
    """Return a condition as a sentence without a full stop.

    Empty where no reader could decide it.
    """
    operator = next((name for name in _OPERATORS if getattr(condition, name) is not None), "equals")
    if (sentence := _SENTENCES.get((condition.fact, operator))) is not None:
        return sentence
    value = getattr(condition, operator)
    if condition.fact.startswith("env.") and operator in ("present", "absent"):
        return f"{condition.fact[4:]} is {'set' if operator == 'present' else 'not set'}"
    if (statement := _STATEMENTS.get(condition.fact)) and operator == "equals":
        return statement[0] if value else statement[1]
    if operator in ("equals", "one_of"):
        return _is(condition.fact, value if operator == "one_of" else (value,))
    name = _NAMES.get(condition.fact) or _package(condition.fact)
    if not name:
        return ""
    if operator in ("present", "absent"):
        return f"{name} is {'installed' if operator == 'present' else 'not installed'}"
    return f"{name} is {_range(value)}" if isinstance(value, Range) else ""


def unseen(condition: Condition) -> str:
    """Return a condition that no sentence spells, by the name of its fact.

    Empty where authors write it for "nothing is known of torch".
    """
    operator = next((name for name in _OPERATORS if getattr(condition, name) is not None), "equals")
    if (condition.fact, operator) in _SENTENCES:
        return ""
    value = getattr(condition, operator)
    words = {
        "present": "there",
        "absent": "not there",
        "range": _range(value) if isinstance(value, Range) else "",
        "matches": f"like {as_text(value)}",
    }.get(operator) or as_text(value)
    return f"the fact {condition.fact}, which doctor could not see, is {words}"


def _is(fact: str, values: tuple[object, ...]) -> str:
    words = [as_text(value) for value in values]
    match fact:
        case "host.os":
            return "this is " + " or ".join(_SYSTEMS.get(word, word) for word in words)
        case "host.distribution_id":
            return "this is " + " or ".join(
                _DISTRIBUTIONS.get(word, word.capitalize()) for word in words
            )
        case "host.package_manager":
            return f"the system has {' or '.join(words)}"
        case "torch.build":
            return "torch is built for " + " or ".join(_BUILDS.get(word, word) for word in words)
        case "cuda.packaging":
            kinds = " or ".join(_PACKAGINGS.get(word, word) for word in words)
            return f"the CUDA toolkit comes from {kinds}"
        case _:
            pass
    name = _NAMES.get(fact) or _package(fact)
    return f"{name} is {' or '.join(words)}" if name and words else ""


def _package(fact: str) -> str:
    """Return the package, crate or variable whose version or value a fact gives."""
    kind, _, rest = fact.partition(".")
    if kind in ("package", "crate") and rest.endswith(".version"):
        return rest.removesuffix(".version")
    return rest if kind == "env" else ""


def _range(wanted: Range) -> str:
    if wanted.introduced and wanted.fixed:
        return f"{wanted.introduced} or newer and older than {wanted.fixed}"
    return f"{wanted.introduced} or newer" if wanted.introduced else f"older than {wanted.fixed}"
