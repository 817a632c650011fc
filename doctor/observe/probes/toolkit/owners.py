"""Name the package that owns a part of a CUDA toolkit, for pip, conda, apt and dnf."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.host import Host
from doctor.observe.probes.toolkit.roots import Toolkit
from doctor.observe.scene import ProbeInput

_PIP = {
    "nvcc": "nvidia-cuda-nvcc",
    "crt": "nvidia-cuda-crt",
    "nvvm": "nvidia-nvvm",
    "cccl": "nvidia-cuda-cccl",
    "runtime": "nvidia-cuda-runtime",
    "nvrtc": "nvidia-cuda-nvrtc",
}
_CONDA = {"nvcc": "cuda-nvcc-tools", "crt": "cuda-crt", "nvvm": "cuda-nvvm", "cccl": "cuda-cccl"}
_CONDA |= {"runtime": "cuda-cudart-dev", "nvrtc": "cuda-nvrtc-dev"}
_REPOSITORY = {"nvcc": "cuda-nvcc", "crt": "cuda-crt", "nvvm": "cuda-nvvm", "cccl": "cuda-cccl"}
_REPOSITORY |= {"runtime": "cuda-cudart-dev", "nvrtc": "cuda-nvrtc-dev"}


def from_pip(components: Sequence[str]) -> list[str]:
    """Return the names that the components have on the package index, from CUDA 13 on."""
    return [_PIP.get(component, f"nvidia-{component}") for component in components]


def requirements(scene: ProbeInput, components: Sequence[str], cuda: str | None) -> list[str]:
    """Return requirements: the installed version, else any version of this CUDA.

    The libraries count their versions apart from CUDA's; one that is not installed is named without
    a version.
    """
    versions = {each.name: each.version for each in scene.distributions}
    made: list[str] = []
    for component, name in zip(components, from_pip(components), strict=True):
        if name in versions:
            made.append(f"{name}=={versions[name]}")
        else:
            made.append(f"{name}=={cuda}.*" if cuda and component in _PIP else name)
    return made


def of_system(host: Host, kit: Toolkit, components: Sequence[str], cuda: str | None) -> list[str]:
    """Return the names of conda, apt or dnf packages, as this toolkit was packaged.

    Empty where that is not known.
    """
    if kit.packaging == "conda":
        return [_CONDA.get(component, f"lib{component}-dev") for component in components]
    if kit.packaging != "nvidia" or cuda is None:
        return []
    if host.which("apt-get"):
        development = "-dev"
    elif host.which("dnf") or host.which("zypper"):
        development = "-devel"
    else:
        return []
    suffix = cuda.replace(".", "-")
    names = (_REPOSITORY.get(component, f"lib{component}-dev") for component in components)
    return [f"{name.replace('-dev', development)}-{suffix}" for name in names]
