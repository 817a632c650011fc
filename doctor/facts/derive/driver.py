"""How NVIDIA's driver and its libraries stand to each other, and what here wants them."""

from __future__ import annotations

from doctor.base.versions import major, parse
from doctor.facts.derive.making import SOURCE, derived_fact
from doctor.facts.devices import texts
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, value_of

_BUILT_FOR_CUDA = {
    "jax": ("jax-cuda12-plugin", "jax-cuda13-plugin"),
    "onnxruntime": ("onnxruntime-gpu",),
    "cupy": ("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
}
"""Packages that exist for NVIDIA's GPUs alone, by what people call them."""

_OF_TENSORFLOW = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
"""What tensorflow[and-cuda] brings: without it pip's TensorFlow is for the processor."""

_FIRST_BRANCH = 300
_WITH_IMAGES = ("docker", "podman", "kubernetes", "container")


def halves(facts: Facts) -> FactStream:
    """Yield whether libcuda is a forward compatibility package, or of another driver."""
    stands_in = _stands_in(facts)
    yield "nvidia.forward_compatibility", present(True, SOURCE) if stands_in else absent(SOURCE)
    yield "nvidia.libcuda_differs", absent(SOURCE) if stands_in else _difference(facts)
    yield "nvidia.libcuda_older", _older(facts)
    yield "nvidia.libcuda_alone", _alone(facts)
    yield "nvidia.libcuda_of_image", _of_image(facts)
    yield "nvidia.compat_outdated", _outdated(facts)
    rest = _without_libcuda(facts)
    yield "nvidia.library_path_rest", present(rest, SOURCE) if rest else absent(SOURCE)
    yield "nvidia.l4t_driver", derived_fact(facts, "nvidia.driver_version", make=_l4t)
    manager, kernel = (
        value_of(facts, f"nvidia.{name}") for name in ("fabric_manager", "driver_version")
    )
    differ = manager and kernel and manager != kernel
    words = f"the fabric manager is of {manager}, the driver of {kernel}"
    yield "nvidia.fabric_manager_differs", present(words, SOURCE) if differ else absent(SOURCE)


def _without_libcuda(facts: Facts) -> str:
    """Return LD_LIBRARY_PATH without the folder from which libcuda is loaded.

    Empty where the variable does not name it, or names nothing else.
    """
    folder = str(value_of(facts, "nvidia.libcuda") or "").rpartition("/")[0]
    value = value_of(facts, "env.LD_LIBRARY_PATH")
    named = [one for one in value.split(":") if one] if isinstance(value, str) else []
    left = [one for one in named if one.rstrip("/") != folder]
    return ":".join(left) if len(left) < len(named) else ""


def _l4t(driver: str) -> str | None:
    """Return a driver's version where it is a release of Jetson's L4T.

    NVIDIA's other drivers are beyond 300 since 2012.
    """
    release = major(driver)
    return driver if release is not None and release < _FIRST_BRANCH else None


def _stands_in(facts: Facts) -> bool:
    """Say whether libcuda comes from a package that replaces the driver's.

    NVIDIA's container toolkit mounts it into the standard folder, so its path need not say so. A
    libcuda of a newer branch than the kernel's driver, beside an NVML that fits it, came by such a
    package; after an update without a restart NVML fits no more. The toolkit takes no package of
    the driver's own branch
    (https://github.com/NVIDIA/nvidia-container-toolkit/tree/main/cmd/nvidia-cdi-hook/cudacompat).
    """
    library, kernel = (
        parse(str(value_of(facts, f"nvidia.{name}") or ""))
        for name in ("libcuda_version", "driver_version")
    )
    if "/compat" in str(value_of(facts, "nvidia.libcuda") or ""):
        # One that is older than the driver makes up for nothing: CUDA refuses the pair.
        return library is None or kernel is None or library >= kernel
    answered = (
        facts.get("nvidia.nvml", absent("")).state is State.ABSENT
        and facts.get("nvidia.gpus", absent("")).state is State.PRESENT
    )
    if not answered or library is None or kernel is None:
        return False
    return library.release[:1] > kernel.release[:1]


def _difference(facts: Facts) -> Fact:
    library, kernel = (
        value_of(facts, f"nvidia.{name}") for name in ("libcuda_version", "driver_version")
    )
    # Jetson and Windows count drivers in their own way, and their libcuda carries no number of the
    # kernel's.
    if (
        not library
        or not kernel
        or library == kernel
        or value_of(facts, "host.jetson")
        or value_of(facts, "host.wsl")
    ):
        return absent(SOURCE)
    if _l4t(str(library)) or _l4t(str(kernel)):
        return absent(SOURCE)
    return present(
        (
            f"{value_of(facts, 'nvidia.libcuda') or 'libcuda'} is of driver {library}, the "
            f"kernel's module of {kernel}"
        ),
        SOURCE,
    )


def _older(facts: Facts) -> Fact:
    """Return whether libcuda is older than the kernel's module, where the two differ."""
    library, kernel = (
        parse(str(value_of(facts, f"nvidia.{name}") or ""))
        for name in ("libcuda_version", "driver_version")
    )
    if library is None or kernel is None or _stands_in(facts):
        return absent(SOURCE)
    differ = _difference(facts).state is State.PRESENT
    return present(library < kernel, SOURCE) if differ else absent(SOURCE)


def _alone(facts: Facts) -> Fact:
    """Return whether libcuda alone differs: NVML's library is of the module's version."""
    kernel, nvml = (
        value_of(facts, f"nvidia.{name}") for name in ("driver_version", "nvml_version")
    )
    alone = _difference(facts).state is State.PRESENT and not _stands_in(facts) and nvml == kernel
    return present(True, SOURCE) if alone else absent(SOURCE)


def _of_image(facts: Facts) -> Fact:
    """Return whether the libcuda of a container is its image's own, and of another driver.

    What NVIDIA's toolkit hands in is mounted file by file. In LXC the libraries are always the
    container's own.
    """
    contained = str(value_of(facts, "host.container") or "").startswith(_WITH_IMAGES)
    own = contained and value_of(facts, "nvidia.libcuda_mounted") is False
    differs = own and _difference(facts).state is State.PRESENT and not _stands_in(facts)
    compat = "/compat" in str(value_of(facts, "nvidia.libcuda") or "")
    return present(True, SOURCE) if differs and not compat else absent(SOURCE)


def _outdated(facts: Facts) -> Fact:
    """Return the folder of a forward compatibility package that is older than the driver."""
    path = str(value_of(facts, "nvidia.libcuda") or "")
    differs = (
        _difference(facts).state is State.PRESENT and "/compat" in path and not _stands_in(facts)
    )
    return present(path.rpartition("/")[0], SOURCE) if differs else absent(SOURCE)


def wants(facts: Facts) -> FactStream:
    """Yield `nvidia.wanted_by`.

    What here was built for NVIDIA's GPUs, where nobody hides them on purpose.
    """
    names = ["torch"] if value_of(facts, "torch.build") == "cuda" else []
    names += [
        name
        for name, packages in _BUILT_FOR_CUDA.items()
        if any(value_of(facts, f"package.{one}.version") for one in packages)
    ]
    tensorflow = value_of(facts, "package.tensorflow.version")
    if tensorflow and any(value_of(facts, f"package.{one}.version") for one in _OF_TENSORFLOW):
        names.append("tensorflow")
    if "cuda" in texts(facts, "candle.features"):
        names.append("candle")
    hidden = value_of(facts, "nvidia.hidden_on_purpose") or value_of(facts, "gpu.hidden_by")
    yield "nvidia.wanted_by", present(names, SOURCE) if names and not hidden else absent(SOURCE)
