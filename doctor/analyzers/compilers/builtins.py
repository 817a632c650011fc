"""Functions that the compiler itself brings, and macros of the C library that Windows hides.

| what is unknown | what is said of it |
| --- | --- |
| `__builtin_…` | the compiler is older than the sources; for AMD's GPUs that is ROCm |
| `CK_BUFFER_…`, a macro that a list of GPUs defines | a GPU that the library does not serve |
| `M_PI` and its kin | _USE_MATH_DEFINES, which Visual C++ and nvcc with it want |
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.checkouts import other_state
from doctor.analyzers.findings import explanation
from doctor.analyzers.machine import system_of
from doctor.analyzers.recipes import command, variables
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Recipe

_QUOTE = "[‘'\"]"
_UNKNOWN = (
    rf"(?:use of undeclared identifier {_QUOTE}(?P<clang>\w{{2,80}})"
    rf"|{_QUOTE}(?P<gcc>\w{{2,80}})[’'\"] was not declared"
    rf"|identifier {_QUOTE}(?P<nvcc>\w{{2,80}})[’'\"] is undefined"
    rf"|{_QUOTE}?(?P<cl>\w{{2,80}})[’'\"]?:? (?:undeclared identifier|identifier not found))"
)
_MATH = re.compile(r"^M_(?:E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)$")
_PER_GPU = re.compile(r"^CK_BUFFER_RESOURCE_3RD_DWORD$")
_GFX = re.compile(r"\bgfx(?:9[0-9a-f]{2}|[78]\d{2}|1\d{3})\b")


def builtin(case: Case, event: Event) -> Explanation | None:
    """Explain a name that a newer compiler, another GPU or a macro would define."""
    match = compile_pattern(_UNKNOWN).search(event.objects.get("message", ""))
    if match is None:
        return None
    groups = match.groups
    name = next((groups[one] for one in ("clang", "gcc", "nvcc", "cl") if groups.get(one)), "")
    if name.startswith("__builtin_"):
        return _older_compiler(case, event, name)
    if _MATH.match(name) and system_of(case, event) == "windows":
        return _math(case, event, name)
    if _PER_GPU.match(name):
        return _other_gpu(case, event, name)
    return None


def _older_compiler(case: Case, event: Event, name: str) -> Explanation:
    amd = "amdgcn" in name
    compiler = "clang of ROCm" if amd else "compiler"
    return explanation(
        event,
        f"The {compiler} is older than these sources: it does not know {name}",
        f"{name} is a function of the compiler itself, so that no header and no flag brings it. "
        + (
            "A library of ROCm at its newest commit is written for the newest ROCm."
            if amd
            else "Newer releases of GCC and clang have it."
        ),
        (
            *(_for_rocm() if amd else ()),
            *(() if amd else _for_host()),
            *(() if amd else other_state(case)[1:]),
        ),
        name="compiler-older-than-sources",
    )


def _for_rocm() -> tuple[Recipe, ...]:
    return (
        command(
            "Take the sources of the ROCm that is installed (they have a tag for each release)",
            "git",
            "checkout",
            "rocm-<release>",
            ask={"release": "what cat /opt/rocm/.info/version prints, such as 6.2.4"},
            note="Then configure again in an empty build folder.",
        ),
        command(
            "Update ROCm to the release that the sources are written for",
            "amdgpu-install",
            "--usecase=rocm",
            "--no-dkms",
            sudo=True,
            use_if=("these very sources are needed",),
            note="The amdgpu-install of a release brings that release; AMD's page for ROCm has it.",
        ),
    )


def _for_host() -> tuple[Recipe, ...]:
    return (
        variables(
            "Let the build take a newer gcc that is installed",
            {"CC": "gcc-13", "CXX": "g++-13"},
            use_if=("gcc-13 and g++-13 are installed",),
            note="Configure again in an empty build folder.",
        ),
    )


def _math(case: Case, event: Event, name: str) -> Explanation:
    del case
    return explanation(
        event,
        f"Visual C++ defines {name} only if _USE_MATH_DEFINES is defined first",
        f"{name} is no part of standard C++, and the sources are written for gcc. nvcc has Visual "
        "C++ read the headers, so the same holds for .cu files.",
        (
            variables(
                "Define it for the build",
                {"CL": "/D_USE_MATH_DEFINES"},
                note="Visual C++ reads the variable wherever it is called from (pip, CMake, cargo, "
                "nvcc). A newer release of the package may define it itself.",
            ),
        ),
        name="sources-for-another-system",
    )


def _other_gpu(case: Case, event: Event, name: str) -> Explanation:
    shown = sorted({one for line in case.log.lines[:4000] for one in _GFX.findall(line[:500])})
    return explanation(
        event,
        "The library has no code for one of the GPUs that it is compiled for"
        + (f": {', '.join(shown[:4])}" if shown else ""),
        f"{name} is defined for each GPU that the sources know, and stays undefined for others. "
        "Each GPU of the list is compiled, whether it is in the machine or not.",
        (
            command(
                "Compile for the GPU of the machine alone",
                "cmake",
                "-B",
                "build",
                "-DGPU_TARGETS=<gpu>",
                ask={"gpu": "what rocminfo prints as Name, such as gfx1030"},
                note="composable_kernel serves gfx908, gfx90a, gfx942, gfx1030 and the gfx11 and "
                "gfx12 generations; for another one build without it (MIOpen: "
                "-DMIOPEN_USE_COMPOSABLEKERNEL=OFF).",
            ),
        ),
        name="gpu-not-served",
    )
