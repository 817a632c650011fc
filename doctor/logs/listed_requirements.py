"""Compare what the packages of a pasted list ask of each other, by the requirements on record."""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.markers import InvalidMarker, Marker
from packaging.version import Version

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import parse, public
from doctor.facts.families import named_packages
from doctor.model.facts import Fact, Facts, present, value_of
from doctor.timelines.requirements import RecordedRequirement, asked_by

SOURCE = "the pasted text"
_STACK = frozenset(
    {"torch", "torchvision", "torchaudio", "triton", "numpy", "protobuf", "keras", "jax", "jaxlib"}
    | {"tokenizers", "huggingface-hub", "transformers", "xformers", "pydantic", "pydantic-core"}
    | {"ml-dtypes", "accelerate", "peft", "datasets", "flash-attn", "scipy", "numba", "llvmlite"}
)
"""Packages whose release decides whether another one imports."""
_OF_TORCH = frozenset({"torch", "torchvision", "torchaudio", "triton"})
_OWN_BUILD = re.compile(
    r"\d(?:a|b|rc)\d|\.dev\d|\+(?:git|nv|local|computecanada)|\+[0-9a-f]{7,40}$"
)
_CUDA_13_ON_PYPI = Version("2.11")
"""The first torch whose wheels on PyPI are for CUDA 13; those before are for 12 and older."""
_LOCAL = re.compile(r"\+(?:cu\d{2,3}|cpu)\b")
_TAG = re.compile(r"\+cu(\d{1,2})\d(?!\d)")
_CUDA_13 = 13
_SERVERS = frozenset({"sglang", "vllm", "lmdeploy", "tensorrt-llm", "unsloth", "ktransformers"})
"""What makers of images build for another CUDA than that of PyPI's wheels."""


def compared_requirements(facts: Facts) -> dict[str, Fact]:
    """Return what packages of a list ask of each other, where no fact `requires.*` says it yet."""
    here = {name: public(version) for name, version in named_packages(facts).items()}
    torch = str(value_of(facts, "torch.version") or "")
    if torch:
        here["torch"] = public(torch)
    markers = {
        "python_version": str(value_of(facts, "python.minor") or ""),
        "sys_platform": {"windows": "win32", "macos": "darwin"}.get(
            str(value_of(facts, "host.os")), "linux"
        ),
        "platform_system": {"windows": "Windows", "macos": "Darwin"}.get(
            str(value_of(facts, "host.os")), "Linux"
        ),
    }
    compared: dict[str, Fact] = {}
    for package, release in here.items():
        for one in asked_by(package, release):
            if one.name in here and one.name in _STACK and _counts(one, markers):
                if one.name in _OF_TORCH and _of_another_cuda(one, torch, package, facts):
                    continue
                compared |= _compared(package, one, here[one.name])
    return {name: fact for name, fact in compared.items() if name not in facts}


def _of_another_cuda(one: RecordedRequirement, torch: str, package: str, facts: Facts) -> bool:
    """Say whether the torch here was chosen against the METADATA on PyPI by who built the image.

    A server's wheel on PyPI asks for the torch that PyPI has for one CUDA. Images for another CUDA
    and images of a vendor have a torch of their own, and wheels of the server that were built for
    it without other requirements: https://docs.sglang.io/get_started/install.html
    """
    if package not in _SERVERS:
        return False
    if _OWN_BUILD.search(torch):
        return True
    local = str(value_of(facts, f"package.{package}.version") or "").partition("+")[2]
    if local.startswith(("cu", "rocm", "nv", "git", "xpu", "cpu")):
        return True
    asked = re.fullmatch(r"==(\d[\w.]{2,20})", one.specifier) if one.name == "torch" else None
    cuda = str(value_of(facts, "torch.cuda_version") or "")
    tag = _TAG.search(torch)
    major = tag[1] if tag else cuda.partition(".")[0]
    if not major.isdigit():
        return False
    wanted = asked[1] if asked else _torch_asked_by(package, facts)
    version = parse(wanted) if wanted else None
    return version is not None and int(major) >= _CUDA_13 and version < _CUDA_13_ON_PYPI


def _torch_asked_by(package: str, facts: Facts) -> str:
    """Return the exact torch that a package of the list asks for."""
    release = public(str(value_of(facts, f"package.{package}.version") or ""))
    exact = [
        one.specifier.removeprefix("==")
        for one in asked_by(package, release)
        if one.name == "torch" and one.specifier.startswith("==")
    ]
    return exact[0] if len(exact) == 1 else ""


def _counts(one: RecordedRequirement, markers: Mapping[str, str]) -> bool:
    if not one.marker:
        return True
    if "python" in one.marker and not markers["python_version"]:
        return False
    try:
        return Marker(one.marker).evaluate(dict(markers))
    except InvalidMarker:
        return False


def _compared(package: str, one: RecordedRequirement, release: str) -> dict[str, Fact]:
    name = f"requires.{package}.{one.name}"
    try:
        # METADATA of some releases names the build that it was made beside: torch==1.10.0+cu102.
        met = meets(release, _LOCAL.sub("", one.specifier))
    except InvalidRequirement:
        return {}
    return {
        f"{name}.met": present(met, SOURCE),
        f"{name}.specifier": present(one.specifier, SOURCE),
        f"{name}.installed": present(release, SOURCE),
    }
