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
    ("cuda.version", "absent"): "",
    ("cuda.gcc_max", "absent"): "",
    ("cuda.gcc_max", "present"): "a CUDA toolkit is installed",
    ("python.minor", "absent"): "",
    ("torch.cuda_tag", "absent"): "",
    ("torch.wanted_tag", "absent"): "",
    ("host.distribution_version", "absent"): "",
    ("nvidia.driver_branch", "absent"): "",
    ("nvidia.capability_max", "absent"): "",
    ("torch.release", "absent"): "",
    ("torch.version", "absent"): "",
    ("torch.build", "absent"): "",
}
_UNSEEN: Mapping[tuple[str, str], str] = {
    ("env.NVIDIA_VISIBLE_DEVICES", "matches"): "NVIDIA_VISIBLE_DEVICES holds the UUID of a GPU",
    ("amd.blacklisted_in", "matches"): "a file of /etc/modprobe.d blocks amdgpu",
    ("amd.blocked_by", "absent"): "nomodeset is not on the kernel's command line",
    ("amd.blocked_by", "present"): "nomodeset is on the kernel's command line",
    ("amd.firmware_held", "absent"): "apt holds no package of firmware back",
    ("amd.firmware_held", "present"): "apt holds the package of the firmware back",
    ("amd.firmware_missing", "present"): "the kernel's log says that the firmware is missing",
    ("amd.left_out", "matches"): "the kernel's log says: PCI rejects atomics",
    ("cuda.missing_system_packages", "present"): "packages of the toolkit are missing",
    ("host.service", "absent"): "this is no service of systemd",
    ("host.service", "equals"): "this is a service of systemd",
    ("host.unit", "absent"): "the name of the service's unit is not known",
    ("host.unit", "present"): "the name of the service's unit is known",
    ("intel.blocked_by", "present"): "nomodeset is on the kernel's command line",
    ("intel.firmware_held", "absent"): "apt holds no package of firmware back",
    ("intel.firmware_held", "present"): "apt holds the package of the firmware back",
    ("intel.firmware_missing", "present"): "the kernel's log says that the firmware is missing",
    ("nvidia.libcuda_alone", "absent"): "other parts of the driver are of another release too",
    ("nvidia.libcuda_alone", "equals"): "libcuda alone is of another release",
    ("intel.kernel_older", "present"): "the kernel is older than the card",
    ("intel.render", "equals"): "this user may not open /dev/dri/renderD*",
    ("nvidia.alike_for_guests", "present"): "vfio-pci takes all cards of this model",
    ("nvidia.before_turing", "absent"): "the GPU is a Turing or a newer one",
    ("nvidia.blacklisted_in", "matches"): "a file of /etc/modprobe.d blocks nvidia",
    ("nvidia.build_failed", "absent"): "DKMS's log has no failed build",
    ("nvidia.compat_outdated", "absent"): "no older cuda-compat comes first",
    ("nvidia.compat_outdated", "present"): "an older cuda-compat comes first",
    ("nvidia.computing", "absent"): "nothing computes on the GPU",
    ("nvidia.computing", "present"): "something computes on the GPU",
    ("nvidia.ecc_uncorrected", "absent"): "nobody named the GPU with the errors",
    ("nvidia.fabric_manager", "absent"): "the fabric manager is not installed",
    ("nvidia.fabric_manager", "present"): "the fabric manager is installed",
    ("nvidia.fabric_manager_differs", "absent"): "it has the very version of the driver",
    ("nvidia.fabric_of_host", "absent"): "the NVSwitches are this machine's own",
    ("nvidia.firmware_missing", "absent"): "the kernel's log misses no firmware",
    ("nvidia.firmware_missing", "present"): "the kernel's log says that the firmware is missing",
    (
        "nvidia.free_for_host.first",
        "present",
    ): "no virtual machine is defined with one of the cards",
    ("nvidia.gpu_errors", "absent"): "no GPU reports an error",
    ("nvidia.gpu_errors", "matches"): "nvidia-smi says that a GPU requires a reset",
    ("nvidia.gpu_errors.index", "present"): "the number of the GPU is known",
    ("nvidia.gpus_barred", "present"): "the service may not open /dev/nvidia*",
    ("nvidia.ids_of_vfio", "matches"): "a file of /etc/modprobe.d gives vfio-pci its cards by ids=",
    ("nvidia.libcuda", "absent"): "the driver's library libcuda.so.1 is not installed",
    ("nvidia.libcuda", "matches"): "libcuda.so.1 lies in a folder of the system",
    ("nvidia.libcuda", "present"): "the driver's library libcuda.so.1 is installed",
    ("nvidia.libcuda_of_image", "absent"): "the container's libcuda is the host's",
    ("nvidia.libcuda_version", "present"): "the release of libcuda.so.1 is known",
    ("nvidia.libcuda_older", "equals"): "libcuda in the container is older than the driver",
    ("nvidia.libraries_empty", "present"): "the driver's libraries are files without content",
    ("nvidia.module_file", "absent"): "no module of the driver is built for the running kernel",
    ("nvidia.module_file", "present"): "the driver's module is built for the running kernel",
    ("nvidia.module_left", "absent"): "the driver's module did not leave again after it was loaded",
    ("nvidia.needs_legacy_driver", "absent"): "the GPU is no Maxwell, Pascal or Volta",
    ("nvidia.needs_legacy_driver", "present"): "the GPU is a Maxwell, Pascal or Volta",
    ("nvidia.needs_newer_driver", "present"): "the GPU is newer than the driver",
    ("nvidia.needs_older_driver", "absent"): "the GPU is no Kepler and no Fermi",
    ("nvidia.needs_open_module", "absent"): "the GPU is older than Blackwell",
    ("nvidia.nodes_missing", "present"): "a file /dev/nvidia* is missing",
    ("nvidia.nodes_refused", "absent"): "the mode of /dev/nvidia* is open to every user",
    ("nvidia.nodes_refused", "present"): "this user may not open /dev/nvidia*",
    ("nvidia.nodes_stale", "present"): "a file /dev/nvidia* has another number than the driver",
    ("nvidia.nodes_wrong", "matches"): "a file /dev/nvidia* has the wrong number",
    ("nvidia.nvlsm", "absent"): "the package nvlsm is not installed",
    ("nvidia.prime_select", "absent"): "there is no prime-select",
    ("nvidia.prime_select", "present"): "prime-select is installed",
    ("nvidia.switcher", "equals"): "that program switched the GPU off",
    ("nvidia.undriven", "absent"): "the NVIDIA driver holds the card",
    ("nvidia.undriven", "present"): "no driver holds the card",
    ("nvidia.uninstaller", "present"): "the program nvidia-uninstall is there",
    ("nvidia.vgpu_token", "absent"): "no token of a licence server is in place",
    ("nvidia.vgpu_token", "present"): "the token of a licence server is in place",
    ("nvidia.visible", "absent"): "nvidia-smi shows no GPU",
    ("nvidia.xid_gsp", "absent"): "the kernel's log has no Xid 119 or 120",
    ("nvidia.xid_gsp", "present"): "the kernel's log has Xid 119 or 120",
    ("nvidia.xid_reset", "present"): "the Xid of the kernel's log asks for a reset",
    ("nvidia.xid_restart", "absent"): "no Xid of the kernel's log asks for a restart",
    ("nvidia.xid_restart", "present"): "an Xid of the kernel's log asks for a restart",
}
"""What a condition on the machine asks of a reader, where nobody could look."""
_CONTAINERS = {"docker": "Docker", "podman": "Podman", "kubernetes": "Kubernetes", "lxc": "LXC"}
_STATEMENTS = {
    "nvidia.gpu_present": ("the machine has an NVIDIA GPU", "the machine has no NVIDIA GPU"),
    "intel.gpu_present": ("the machine has an Intel GPU", "the machine has no Intel GPU"),
    "nvidia.libcuda_mounted": (
        "the container runtime mounts libcuda.so.1",
        "libcuda.so.1 is a file of the image",
    ),
    "nvidia.libcuda_of_image": (
        "the image brings a libcuda of its own",
        "the container's libcuda is the host's",
    ),
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
    if (sentence := _UNSEEN.get((condition.fact, operator))) is not None:
        return sentence
    value = getattr(condition, operator)
    if condition.fact == "host.container" and operator == "matches":
        kinds = [name for word, name in _CONTAINERS.items() if word in str(value)]
        return f"this is a container of {' or '.join(kinds)}"
    if condition.fact == "host.distribution_version":
        return f"the distribution is of release {as_text(value)}"
    if condition.fact == "nvidia.device_file_mode":
        return f"/proc/driver/nvidia/params gives device files the mode {as_text(value)}"
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
    return f"{name} is {' or '.join(word or 'empty' for word in words)}" if name and words else ""


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
