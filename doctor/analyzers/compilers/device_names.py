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
from doctor.model.issues import Action, Recipe, Snippet

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
_OF_AMPERE = re.compile(r"^__h(?:max|min)2?(?:_nan)?$")
"""Overloads for half of which headers before CUDA 12.2 have none below sm_80 (cuda_fp16.h)."""
_ARCH = re.compile(r"(?:sm|compute)_(\d{2,3})[af]?\b")
_CANDLE = re.compile(r"compatibility\.cuh|candle|bindgen_cuda|\bcargo |cudarc")
_ATOMIC = re.compile(r"^atomic(?:Add|CAS|Max|Min)$")
_SCOPED = re.compile(r"^atomic\w{2,12}_(?:block|system)$")
_SINCE = {
    "__match_any_sync": ("7.0", "70"),
    "__match_all_sync": ("7.0", "70"),
    "__nanosleep": ("7.0", "70"),
    "__reduce_add_sync": ("8.0", "80"),
    "__reduce_min_sync": ("8.0", "80"),
    "__reduce_max_sync": ("8.0", "80"),
    "__reduce_and_sync": ("8.0", "80"),
    "__reduce_or_sync": ("8.0", "80"),
    "__reduce_xor_sync": ("8.0", "80"),
    "__ldg": ("3.5", "35"),
}
"""From which compute capability on the headers declare a function (CUDA C++ Programming Guide)."""
_WARP = {
    **{name: f"{name}_sync(0xffffffff, " for name in ("__shfl", "__shfl_up", "__shfl_down")},
    "__shfl_xor": "__shfl_xor_sync(0xffffffff, ",
    **{name: f"{name}_sync(0xffffffff, " for name in ("__any", "__all", "__ballot")},
}
"""Functions without a mask: CUDA 9 deprecated them, and headers hide them from sm_70 on."""
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
    if _HALF.match(name) or _BF16.search(name):
        return _half(case, event, name)
    if name in _WARP:
        return _without_mask(event, name)
    if (name.endswith("_sync") and name.removesuffix("_sync") in _WARP) or name == "__syncwarp":
        return _before_cuda_9(event, name)
    if _SCOPED.match(name) and not _is_new_enough(case, 60):
        return _too_old(case, event, name, "6.0", "60", "atomic functions with a scope")
    if name in _SINCE and not _is_new_enough(case, int(_SINCE[name][1])):
        return _too_old(case, event, name, *_SINCE[name], "this function")
    if match.groups.get("atomic") and _ATOMIC.match(name):
        return _atomic(case, event, name)
    return None


def _half(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain a function for half precision or bfloat16."""
    if _OF_AMPERE.match(name):
        return None if _is_new_enough(case, 80) else _headers_too_old(case, event, name)
    if _HALF.match(name) and not _is_new_enough(case, 53):
        return _too_old(case, event, name, "5.3", "53", "arithmetic with half precision")
    if _BF16.search(name) and name.startswith("__h") and not _is_new_enough(case, 80):
        return _too_old(case, event, name, "8.0", "80", "arithmetic with bfloat16")
    return None


def _atomic(case: Case, event: Event, name: str) -> Explanation | None:
    line = event.text + " ".join(case.log.lines[event.at : event.at + 3])
    for word, capability in (("double", "6.0"), ("half", "7.0"), ("bfloat16", "8.0")):
        if word in line:
            arch = capability.replace(".", "")
            return _too_old(
                case, event, f"{name}({word})", capability, arch, "this atomic function"
            )
    return None


def _is_new_enough(case: Case, least: int) -> bool:
    """Say whether the log names architectures, and none of them is older than one."""
    lines = [line[:4000] for line in case.log.lines[:4000] if "sm_" in line or "compute_" in line]
    named = {int(found) for line in lines for found in _ARCH.findall(line)}
    return bool(named) and min(named) >= least


def _headers_too_old(case: Case, event: Event, name: str) -> Explanation:
    is_candle = any(_CANDLE.search(line[:400]) for line in case.log.lines[:4000])
    toolkit = Recipe(
        title="Build with CUDA 12.2 or newer, whose headers have it for older GPUs",
        use_if=("the driver serves CUDA 12.2 (525 or newer)",),
        steps=(Action(run=("nvcc", "--version")),),
        note="The command names the release of now. Install the newer toolkit beside it, put its "
        "bin folder first on PATH, and build in an empty folder.",
    )
    if is_candle:
        newer = Recipe(
            title="Take the newest Candle, whose compatibility.cuh serves older GPUs",
            steps=(
                Action(run=("cargo", "update", "-p", "candle-core", "-p", "candle-kernels")),
                Action(run=("cargo", "clean")),
            ),
            note="Where Cargo.toml names a release or a commit, write the newest one there. A "
            "CUDA_COMPUTE_CAP of a newer GPU compiles, and no kernel of it runs.",
        )
    else:
        newer = Recipe(
            title="Leave the architectures before sm_80 out of the build",
            use_if=("the GPU is of compute capability 8.0 or newer",),
            steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
            ask={"capability": "the compute capability of the GPU, such as 8.6"},
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The headers of this CUDA have {name} from compute capability 8.0 (sm_80) on only",
            "CUDA before 12.2 declares it for Ampere and newer, and the code is compiled for an "
            "older GPU. The project does not serve this GPU with this toolkit. The driver and the "
            "set-up are right.",
            recipes=(newer, toolkit),
            name="architecture-too-old-for-code",
            captures={"name": name},
        ),
    )


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
            recipes=(
                *_flag_of_log(case, arch),
                *_without_scope(event, name),
                *((by_cmake, by_torch) if is_cmake else (by_torch, by_cmake)),
            ),
            name="architecture-too-old-for-code",
            captures={"name": name},
        ),
    )


_BY_HAND = re.compile(
    r"(?P<flag>-gencode[ =]\"?arch=compute_\d{2,3},code=\S{5,60}|-arch[ =](?:sm|compute)_\d{2,3})"
)
_TORCH = re.compile(r"TORCH_EXTENSION_NAME|torch/include|torch/utils/cpp_extension")


def _flag_of_log(case: Case, arch: str) -> tuple[Recipe, ...]:
    """Return the change of the flag that the log's own nvcc command has; torch sets its own."""
    for line in case.log.lines[:4000]:
        match = _BY_HAND.search(line[:8000]) if "nvcc" in line else None
        if match is None or _TORCH.search(line):
            continue
        number = f"<the GPU's, {arch} at least>"
        return (
            Recipe(
                title="Name the architecture of the GPU where the build names an older one",
                use_if=(f"the GPU is of compute capability {arch[:-1]}.{arch[-1]} or newer",),
                snippet=Snippet(
                    where="the Makefile, or the settings of the project",
                    before=match["flag"],
                    after=f"-gencode arch=compute_{number},code=sm_{number}",
                ),
            ),
        )
    return ()


def _without_scope(event: Event, name: str) -> tuple[Recipe, ...]:
    """Return the older form of an atomic function for one block, which does more than is asked."""
    if not name.endswith("_block"):
        return ()
    file = event.objects.get("file", "the source")
    line = event.objects.get("line", "")
    plain = name.removesuffix("_block")
    return (
        Recipe(
            title=f"Take {plain}, which each GPU has, for an older GPU",
            use_if=("the GPU is older than that",),
            snippet=Snippet(
                where=f"{file}{f', line {line}' if line else ''}",
                before=f"{name}(",
                after=f"{plain}(",
            ),
            note="It is atomic for the whole GPU in the place of one block: right, and a bit "
            "slower.",
        ),
    )


def _before_cuda_9(event: Event, name: str) -> Explanation:
    """Explain a warp function with a mask, which each nvcc since CUDA 9 knows."""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"nvcc is older than CUDA 9, which brought {name}",
            "The sources are written for CUDA 9 or newer. Another toolkit may be there as well: "
            "/usr/bin/nvcc of the distribution, or /usr/local/cuda as a link to an old one.",
            recipes=(
                Recipe(
                    title="Build with CUDA 9 or newer, in an empty folder",
                    steps=(
                        Action(
                            env={
                                "CUDA_HOME": "<toolkit>",
                                "CUDACXX": "<toolkit>/bin/nvcc",
                                "PATH": "<toolkit>/bin:$PATH",
                            }
                        ),
                    ),
                    note="Where none is installed, NVIDIA's archive of CUDA toolkits has all "
                    "releases. An older find_package(CUDA) takes "
                    "-DCUDA_TOOLKIT_ROOT_DIR and the folder.",
                    ask={
                        "toolkit": "the folder of the newer toolkit, such as /usr/local/cuda-11.8"
                    },
                ),
                *SEE_NVCC,
            ),
            name="toolkit-before-cuda-9",
            captures={"name": name},
        ),
    )


def _without_mask(event: Event, name: str) -> Explanation:
    """Explain a function among the threads of a warp as it was before Volta."""
    file, line = event.objects.get("file", "the source"), event.objects.get("line", "")
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{name} is gone for GPUs since Volta (sm_70): its successor {name}_sync takes a mask",
            "Since Volta the threads of a warp run on their own, so that the caller names those "
            "that take part. CUDA 9 brought the new names, and the old ones stay for older GPUs "
            "alone. The toolkit and its release are right.",
            recipes=(
                Recipe(
                    title=f"Take {name}_sync, with all threads of the warp",
                    snippet=Snippet(
                        where=f"{file}{f', line {line}' if line else ''}, and each other call",
                        before=f"{name}(",
                        after=_WARP[name],
                    ),
                    note="Other calls of the kind (__shfl, __any, __all, __ballot) change alike. "
                    "Newer sources of the project mostly have it.",
                ),
            ),
            name="warp-function-gone",
            captures={"name": name},
        ),
    )
