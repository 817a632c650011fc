"""Compare what the builds in a pasted list name: their torch, their CUDA, and their own releases.

A version such as `2.1.2+pt21cu118` says what a package was compiled beside. So does a name such as
`cupy-cuda11x`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.versions import in_range, major, minor, public
from doctor.facts.families import named_packages
from doctor.model.facts import Fact, present, value_of

_SOURCE = "the pasted text"
_CUDA = re.compile(r"cu(\d{2,3})(?!\d)")
_TORCH = re.compile(r"pt(\d)\.?(\d{1,2})(?!\d)|torch(\d)\.(\d{1,2})(?!\d)|torch(\d)(\d)\d?(?!\d)")
"""`pt210` is torch 2.10; NATTEN's `torch210` is torch 2.1.0."""
_ON_PROCESSOR = re.compile(r"^(?:pt\d{2,3})?cpu$")
_JUDGED_ELSEWHERE = frozenset({"torch", "torchaudio", "vllm", "sglang", "jaxlib", "tensorrt"})
_GENERATION = re.compile(r"cupy-cuda(\d{2})x")
_CONDA_ROW = re.compile(r"^\s{0,8}(?:\[conda\]\s)?pytorch\s{1,60}(\d[\d.]{2,12})\s{1,60}\S*py3")
_PIP_ROW = re.compile(
    r"^\s{0,8}(?:\[(?:conda|pip3)\]\s)?torch(?:==|\s{1,60})(\d[\d.]{2,12}(?:\+\w{1,12})?)"
    r"(?:\s{1,60}pypi_0\b.{0,40})?\s*$"
)
_IMPORTED = re.compile(r"^\s{0,8}PyTorch version\s{0,20}: (\d+\.\d+\.\d+)(?:\+\w{1,12})?\s*$")
_WINDOWS_ONLY = frozenset({"colorama", "pywin32", "win32-setctime", "pywinpty", "windows-curses"})
_TWELVE = 12


def built_beside(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what the builds of a list say of each other."""
    packages = named_packages(facts)
    found: dict[str, object] = {}
    torchvision = packages.get("torchvision", "")
    if local := torchvision.partition("+")[2]:
        found["package.torchvision.local"] = local
    elif torchvision and _is_of_pypi_for_linux(packages, facts):
        found["package.torchvision.local"] = "cuda"
    if tag := _CUDA.match(packages.get("torchaudio", "").partition("+")[2]):
        found["torchaudio.cuda_version"] = _cuda(tag)
    if others := list(_for_another(packages, facts)):
        found["text.built_for_another"] = others
        found["text.built_for_another_names"] = [one.partition(" ")[0] for one in others]
    if twice := _twice(text):
        found["text.torch_listed_twice"] = twice
    if runtime := _other_runtime(packages, facts):
        found["text.other_cuda_packages"] = runtime
    if cudnn := _other_cudnn(packages, facts):
        found["text.other_cudnn"] = cudnn
    plugin = packages.get("jax-cuda12-plugin") or packages.get("jax-cuda13-plugin")
    jaxlib = packages.get("jaxlib")
    if plugin and jaxlib and _three(plugin) != _three(jaxlib):
        found["text.jax_plugin_differs"] = plugin
    return {name: present(value, _SOURCE) for name, value in found.items()}


def _is_of_pypi_for_linux(packages: Mapping[str, str], facts: Mapping[str, Fact]) -> bool:
    """Say whether a torchvision without a suffix is PyPI's build for CUDA beside a torch without.

    The index for the processor names its builds for Linux on x86-64 behind a plus. On Windows,
    macOS and ARM builds without a suffix are for the processor.
    """
    elsewhere = value_of(facts, "host.os") in ("windows", "macos") or (
        value_of(facts, "host.machine") in ("aarch64", "arm64")
    )
    torch = str(value_of(facts, "torch.version") or "")
    return torch.endswith("+cpu") and not elsewhere and not _WINDOWS_ONLY.intersection(packages)


def _for_another(packages: Mapping[str, str], facts: Mapping[str, Fact]) -> Iterator[str]:
    """Yield the packages whose suffix or name tells another torch or another CUDA generation."""
    torch = str(value_of(facts, "torch.version") or "")
    cuda = str(value_of(facts, "torch.cuda_version") or "")
    cuda = _cuda(_CUDA.match(torch.partition("+")[2])) or cuda
    for name, release in packages.items():
        local = release.partition("+")[2].lower()
        if not local or name in _JUDGED_ELSEWHERE:
            continue
        beside, tag = _TORCH.search(local), _CUDA.search(local)
        wants_torch = ".".join(filter(None, beside.groups())) if beside else ""
        wants_cuda = _cuda(tag)
        other_torch = bool(torch and wants_torch) and minor(torch) != wants_torch
        other_cuda = bool(cuda and wants_cuda) and major(cuda) != major(wants_cuda)
        without = bool(cuda) and _ON_PROCESSOR.match(local) is not None and name != "torchvision"
        if other_torch or other_cuda or without:
            parts = [f"torch {wants_torch}"] if wants_torch else []
            parts += [f"CUDA {wants_cuda}"] if wants_cuda else ["the processor"] if without else []
            yield f"{name} {public(release)} ({' and '.join(parts)})"
    yield from _cupy(packages, facts, cuda)


def _cupy(packages: Mapping[str, str], facts: Mapping[str, Fact], cuda: str) -> Iterator[str]:
    """Yield a CuPy for a CUDA generation that neither torch nor the toolkit is of."""
    here = {major(one) for one in (cuda, str(value_of(facts, "cuda.version") or "")) if one}
    for name, release in packages.items():
        made = _GENERATION.fullmatch(name)
        if made and here and int(made[1]) not in here:
            yield f"{name} {release} (CUDA {made[1]})"


def _twice(text: Sequence[str]) -> list[str]:
    """Return the two releases of torch that one environment shows, where they differ."""
    conda = {one[1] for line in text if (one := _CONDA_ROW.match(line))}
    pip = {public(one[1]) or "" for line in text if (one := _PIP_ROW.match(line))}
    imported = {one[1] for line in text if (one := _IMPORTED.match(line))}
    first = imported or conda
    if len(first) == len(pip) == 1 and first != pip:
        return [*first, *pip]
    return []


def _other_runtime(packages: Mapping[str, str], facts: Mapping[str, Fact]) -> str:
    """Return the CUDA runtime of a list that is not of the release behind torch's plus."""
    wanted = _cuda(_CUDA.match(str(value_of(facts, "torch.version") or "").partition("+")[2]))
    if (major(wanted) or 0) < _TWELVE:
        return ""
    name = "nvidia-cuda-runtime-cu12" if wanted.startswith("12.") else "nvidia-cuda-runtime"
    release = packages.get(name, "")
    return f"{name} {release}" if release and minor(release) != wanted else ""


def _other_cudnn(packages: Mapping[str, str], facts: Mapping[str, Fact]) -> str:
    """Return the cuDNN of a list that is of another generation than torch loads.

    Wheels for CUDA 12 load cuDNN 9 from torch 2.4 on, and cuDNN 8 before (METADATA on PyPI).
    """
    torch = public(str(value_of(facts, "torch.version") or ""))
    release = packages.get("nvidia-cudnn-cu12", "")
    if not torch or not release or value_of(facts, "python.conda"):
        return ""
    newer = in_range(torch, introduced="2.4", fixed=None)
    older = in_range(torch, introduced="2.0", fixed="2.4")
    wanted = "9" if newer else "8" if older else ""
    return release if wanted and release.partition(".")[0] != wanted else ""


def _cuda(tag: re.Match[str] | None) -> str:
    """Return the CUDA of `cu118`, and of `cu12` the generation alone."""
    digits = tag[1] if tag else ""
    if digits in ("11", "12", "13"):
        return digits
    return f"{digits[:-1]}.{digits[-1]}" if digits else ""


def _three(release: str) -> tuple[str, ...]:
    return tuple((public(release) or "").split(".")[:3])
