"""Explain builds that look for nvcc on a Mac: no CUDA toolkit exists for macOS since CUDA 11.

https://docs.nvidia.com/cuda/archive/11.0/cuda-toolkit-release-notes/ ends the support of macOS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.fitting_pythons import on_mac
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet

_LACKS_NVCC = re.compile(
    r"name 'bare_metal_version' is not defined|CUDA_HOME environment variable is not set"
    r"|\bwas requested, but nvcc was not found|nvcc: (?:command )?not found|command not found: nvcc"
    r"|No such file or directory: '[^']{0,200}\bnvcc'"
)
_HAS_NVCC = re.compile(r"Cuda compilation tools, release|/Developer/NVIDIA/CUDA-")
_REQUESTED = re.compile(r"\b(\w{2,40}) was requested, but nvcc")
_BUILT = re.compile(
    r"(?:Building wheels? for (?:collected packages: )?|Failed to build '?|Collecting )"
    r"([A-Za-z][\w.-]{1,40})"
)
_LONGEST, _ABOVE, _MOST = 400, 60, 6
_FIT_FOR_TORCH = ("mamba", "causal-conv1d")
_ATTENTION = ("flash-attn",)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that a build wants CUDA where there is none, for each line that says so."""
    event = next((one for one in case.events if _LACKS_NVCC.search(one.text)), None)
    if event is None or not on_mac(case):
        return
    lines = [line[:_LONGEST] for line in case.log.lines]
    if any(_HAS_NVCC.search(line) for line in lines):
        return
    package = _package(lines[max(event.at - _ABOVE, 0) : event.at + 1])
    said = [at for at, line in enumerate(lines) if _LACKS_NVCC.search(line)]
    for at in (event.at, *(one for one in said[:_MOST] if one != event.at)):
        place = msgspec.structs.replace(event, at=at, line=case.log.number(at), text=lines[at])
        yield _without_cuda(place, package)


def _without_cuda(event: Event, package: str) -> Explanation:
    return explanation(
        event,
        f"{package or 'This extension'} needs NVIDIA's CUDA, and there is none for macOS",
        "It runs on Linux with an NVIDIA GPU only, and no installation of nvcc helps: since CUDA "
        "11 there is no toolkit for macOS. What the build says behind this follows from it.",
        _recipes(package),
        name="no-cuda-on-macos",
        contradicts=("*/nvcc-missing", "*/cuda-home-missing", "*/build-failed"),
    )


def _package(lines: list[str]) -> str:
    for pattern in (_REQUESTED, _BUILT):
        found = next((one for line in reversed(lines) if (one := pattern.search(line))), None)
        if found is not None:
            return found[1].replace("_", "-")
    return ""


def _recipes(package: str) -> tuple[Recipe, ...]:
    recipes: list[Recipe] = []
    if package.startswith(_FIT_FOR_TORCH):
        recipes.append(
            Recipe(
                title="Take the Mamba of transformers, which computes with plain torch",
                note="MambaForCausalLM.from_pretrained loads weights whose name ends in -hf, such "
                "as state-spaces/mamba-130m-hf. It runs on a Mac, slowly.",
                steps=(Action(install=("transformers>=4.39",)),),
            )
        )
    if package.startswith(_ATTENTION):
        recipes.append(
            code(
                "Let the model use torch's own attention",
                "where the program loads the model",
                'model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa")',
            )
        )
    wanted = package or "<package>"
    return (
        *recipes,
        Recipe(
            title="Ask for it on Linux only, so that the rest installs on the Mac",
            use_if=("the program runs without it",),
            snippet=Snippet(
                where="the list of requirements",
                before=wanted,
                after=f'{wanted}; sys_platform == "linux"',
            ),
            ask={} if package else {"package": "the package whose build fails"},
        ),
    )
