"""Names of device code that nvcc does not know: an architecture that lacks them, two toolkits.

Which architecture has which function stands in NVIDIA's CUDA Math API (`cuda_fp16.h`,
`cuda_bf16.h`) and in the CUDA C++ Programming Guide (atomic functions, warp functions).
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compilers.standards import SEE_NVCC
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_UNDEFINED = (
    r"identifier \"(?P<name>\w{2,80})\" is undefined"
    r"|(?P<operator>more than one operator \"[^\"]{1,4}\" matches these operands"
    r"|no operator \"[^\"]{1,4}\" matches these operands)"
    r"|no instance of overloaded function \"(?P<atomic>atomic\w{2,20})\" matches"
)
_HALF = re.compile(
    r"^__(?:h(?:add|sub|mul|fma|neg|div|eq|ne|lt|le|gt|ge|isnan|abs|max|min|fma_relu)2?(?:_sat|_rn)?"
    r"|hadd2|hmul2|hfma2|hneg2|heq2|hltu?2?|half2\w{2,20})$|^h(?:exp|log|sqrt|rcp|rsqrt|sin|cos|floor"
    r"|ceil|rint|trunc)2?$"
)
_BF16 = re.compile(r"bfloat16|bf16", re.IGNORECASE)
_ATOMIC = re.compile(r"^atomic(?:Add|CAS|Max|Min)$")
_IN_TOOLKIT = re.compile(
    r"[/\\](?:cuda(?:-\d\d?\.\d)?|CUDA[/\\]v\d\d?\.\d)[/\\](?:targets[/\\][\w-]{1,40}[/\\])?include[/\\]"
    r"(?!(?:thrust|cub|cuda)[/\\])"
)


def device_name(case: Case, event: Event) -> Explanation | None:
    """Explain a function of CUDA that the compiler does not know."""
    if event.speaker != "nvcc":
        return None
    match = compile_pattern(_UNDEFINED).search(event.objects.get("message", ""))
    if match is None:
        return None
    name = match.groups.get("name") or match.groups.get("atomic") or ""
    if name and _IN_TOOLKIT.search(event.objects.get("file", "")):
        return _two_toolkits(case, event, name)
    if _HALF.match(name):
        return _too_old(case, event, name, "5.3", "53", "arithmetic with half precision")
    if _BF16.search(name) and name.startswith("__h"):
        return _too_old(case, event, name, "8.0", "80", "arithmetic with bfloat16")
    if match.groups.get("atomic") and _ATOMIC.match(name):
        line = event.text + " ".join(case.log.lines[event.at : event.at + 3])
        if "double" in line:
            return _too_old(case, event, f"{name}(double)", "6.0", "60", "this atomic function")
        if "half" in line:
            return _too_old(case, event, f"{name}(half)", "7.0", "70", "this atomic function")
        if "bfloat16" in line:
            return _too_old(case, event, f"{name}(bfloat16)", "8.0", "80", "this atomic function")
    return None


def _two_toolkits(case: Case, event: Event, name: str) -> Explanation:
    del case
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "nvcc is of another CUDA release than the headers that it reads: "
            f"{name} is not defined",
            "The error stands in a header of the CUDA toolkit itself, which its own nvcc always "
            "compiles. So another nvcc runs: /usr/bin/nvcc is the distribution's own "
            "(nvidia-cuda-toolkit) and mostly old, while the headers come from /usr/local.",
            recipes=(
                Recipe(
                    title="Build with the nvcc that belongs to these headers, in an empty folder",
                    use_if=("the toolkit lies in /usr/local/cuda",),
                    steps=(
                        Action(
                            env={
                                "CUDA_HOME": "/usr/local/cuda",
                                "CUDACXX": "/usr/local/cuda/bin/nvcc",
                                "PATH": "/usr/local/cuda/bin:$PATH",
                            }
                        ),
                    ),
                    note="CMake keeps the old one in its cache: remove the folder build before.",
                ),
                *SEE_NVCC,
            ),
            name="nvcc-of-another-toolkit",
            captures={"name": name},
        ),
    )


def _too_old(
    case: Case, event: Event, name: str, capability: str, arch: str, what: str
) -> Explanation:
    is_cmake = any("CMake" in line or "-- " in line for line in case.log.lines[-400:])
    by_cmake = Recipe(
        title="Name the architecture of the GPU in an empty build folder",
        steps=(Action(run=("cmake", "-B", "build", "-DCMAKE_CUDA_ARCHITECTURES=<architecture>")),),
        note="A project with find_package(CUDA) takes -DCUDA_NVCC_FLAGS=-arch=sm_<architecture>, "
        "a Makefile nvcc -arch=sm_<architecture>.",
        ask={
            "architecture": f"the compute capability without the point, {arch} at least: 86 for 8.6"
        },
    )
    by_torch = Recipe(
        title="Name the architecture of the GPU, and build again",
        steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
        note="Where the sources pass -arch or -gencode themselves, take the older numbers out "
        "there.",
        ask={"capability": f"the compute capability of the GPU, {capability} at least"},
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The code is compiled for a GPU without {name}: it needs compute capability "
            f"{capability} (sm_{arch}) or newer",
            f"CUDA's headers hide {what} from older architectures. Without a flag, nvcc up to 10 "
            "compiles for sm_30 and nvcc 11 and 12 for sm_52, whatever GPU the machine has.",
            recipes=(by_cmake, by_torch) if is_cmake else (by_torch, by_cmake),
            name="architecture-too-old-for-code",
            captures={"name": name},
        ),
    )
