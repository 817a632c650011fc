"""GPU architectures that nvcc or ptxas does not know: too new for it, or dropped from it.

The releases of the table gpu-arch come from `ptxas --help`; those before 11.7 from NVIDIA's release
notes of the toolkits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compilers.standards import SEE_NVCC
from doctor.analyzers.machine import table_rows, toolkit_of
from doctor.base.patterns import compile_pattern
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet

_UNKNOWN = (
    r"Unsupported gpu architecture '(?:compute|sm|lto)_(?P<arch>\d{2,3}[af]?)"
    r"|Value '(?:compute|sm|lto)_(?P<value>\d{2,3}[af]?)' is not defined for option"
    r"|Unsupported \.target '?(?:sm_|compute_)(?P<target>\d{2,3}[af]?)"
    r"|unknown target '(?:sm|compute)_(?P<clang>\d{2,3}[af]?)'"
    r"|[Uu]nsupported CUDA gpu architecture: (?:sm|compute)_(?P<llvm>\d{2,3}[af]?)"
)
_EMPTY = (
    r"Unsupported gpu architecture '(?:compute|sm)_'|Value '(?:compute|sm)_' is not defined"
    r"|Unsupported gpu architecture '(?:compute|sm)_(?P<words>\D[^']{2,120})'"
)
_FEATURE = (
    r"(?:Feature|Instruction|Modifier|Type) '(?P<feature>[^']{1,80})' (?:requires "
    r"\.target sm_(?P<least>\d{2,3}[af]?) or higher|not supported on \.target 'sm_(?P<on>\d{2,3}))"
)
_EARLIER = {
    "5.0": "6.0",
    "5.2": "6.5",
    "6.0": "8.0",
    "6.1": "8.0",
    "6.2": "8.0",
    "7.0": "9.0",
    "7.5": "10.0",
    "8.0": "11.0",
    "8.6": "11.1",
    "8.7": "11.4",
}


_LAST = {
    **dict.fromkeys(("1.0", "1.1", "1.2", "1.3"), "6.5"),
    **dict.fromkeys(("2.0", "2.1"), "8.0"),
    **dict.fromkeys(("3.0", "3.2"), "10.2"),
    **dict.fromkeys(("3.5", "3.7"), "11.8"),
}
"""The last toolkit for architectures that the table does not hold (NVIDIA's release notes)."""


def architecture(case: Case, event: Event) -> Explanation | None:
    """Explain an architecture that a CUDA compiler refuses."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_UNKNOWN).search(message):
        arch = next(value for value in match.groups.values() if value)
        last = _LAST.get(capability_of(arch), "")
        return _ancient(event, arch, last) if last else _unknown(case, event, arch)
    if match := compile_pattern(_EMPTY).search(message):
        return _empty(case, event, match.groups.get("words") or "")
    if match := compile_pattern(_FEATURE).search(message):
        return _feature(event, match.groups)
    return None


def capability_of(arch: str) -> str:
    """Return the compute capability of an architecture: 12.0 of 120a."""
    digits = arch.rstrip("af")
    return f"{digits[:-1]}.{digits[-1]}"


def _row(case: Case, capability: str) -> Mapping[str, Any]:
    return next(
        (
            row
            for row in table_rows(case.catalog, "gpu-arch")
            if row.get("capability") == capability
        ),
        {},
    )


def _first_toolkit(row: Mapping[str, Any], capability: str) -> str:
    """Return the first toolkit that compiles for an architecture, or an empty text."""
    span = row.get("toolkit")
    first = span.get("from", "") if isinstance(span, Mapping) else ""
    return str(first) or _EARLIER.get(capability, "")


def _unknown(case: Case, event: Event, arch: str) -> Explanation:
    capability = capability_of(arch)
    row = _row(case, capability)
    toolkit = toolkit_of(case, event)
    first = _first_toolkit(row, capability)
    last = str(row.get("last-toolkit", ""))
    compiler = event.objects.get("compiler", "nvcc")
    this = f"{compiler} of CUDA {toolkit}" if toolkit else f"this {compiler}"
    gpus = f" ({row['family']}: {row['names']})" if row else ""
    here = parse(toolkit) if toolkit else None
    too_old = bool(here and first and (least := parse(first)) and here < least)
    ahead = _for_this_nvcc(toolkit, first, capability) if too_old else ()
    too_new = bool(here and last and (most := parse(last)) and here > most)
    if not row and capability not in _EARLIER:
        title = f"{this[0].upper()}{this[1:]} does not know sm_{arch}, and no known GPU has it"
        cause = (
            "The list of architectures that the build passes holds a number that no release of "
            "CUDA in the table has. It comes from TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES, "
            "or a flag of the build."
        )
    elif too_new:
        title = f"CUDA {last} is the last toolkit that compiles for sm_{arch}{gpus}"
        cause = (
            f"The build asks {this} for compute capability {capability}, which later toolkits "
            "dropped. Without such a GPU, leave the architecture out; with one, build with "
            f"CUDA {last} or older, and a torch for it."
        )
    elif last and not too_old:
        span_text = f"CUDA {first} to {last}" if first else f"CUDA up to {last}"
        title = f"{this[0].upper()}{this[1:]} does not compile for sm_{arch}{gpus}: {span_text} do"
        cause = (
            f"The build asks for compute capability {capability}. A later toolkit dropped it, and "
            "an older one does not have it yet; `nvcc --version` tells which. Without such a GPU, "
            "leave the architecture out of the build."
        )
    else:
        title = (
            f"sm_{arch}{gpus} needs CUDA {first} or newer, and {this} is older"
            if first
            else f"{this[0].upper()}{this[1:]} does not know sm_{arch}{gpus}"
        )
        cause = (
            f"The build asks for compute capability {capability}, which "
            + (f"nvcc knows from CUDA {first} on. " if first else "this nvcc does not know. ")
            + "Often another nvcc than the one that was meant is found first: /usr/bin/nvcc is the "
            "distribution's own and mostly old."
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT if too_old or too_new else Precision.FAMILY,
        contradicts=("cuda/gpu-unknown-to-nvcc",) if too_old else (),
        detection=detection(
            event,
            title,
            cause,
            recipes=(*ahead, _ONLY_THESE, *(SEE_NVCC if row else ())),
            name="architecture-unknown-to-nvcc",
            captures={"arch": arch, "capability": capability},
        ),
    )


def _for_this_nvcc(toolkit: str, first: str, capability: str) -> tuple[Recipe, ...]:
    """Return what helps where nvcc is older than the GPU: its newest PTX, or a newer toolkit.

    The driver compiles PTX for each newer GPU (CUDA C++ Programming Guide, Just-in-Time
    Compilation).
    """
    here = parse(toolkit)
    known = [
        one for one, since in _NEWEST_FIRST if here and (least := parse(since)) and here >= least
    ]
    newer = Recipe(
        title=f"Build with CUDA {first} or newer, and with a torch for the same CUDA",
        use_if=("such a toolkit is installed, or can be",),
        steps=(Action(env={"CUDA_HOME": "<toolkit>", "PATH": "<toolkit>/bin:$PATH"}),),
        ask={"toolkit": f"its folder, such as /usr/local/cuda-{first}"},
    )
    if not known:
        return (newer,)
    name = known[0]
    binary = name.partition(".")[0] == capability.partition(".")[0]
    wanted = name if binary else f"{name}+PTX"
    return (
        Recipe(
            title=f"Compile for {wanted}, which this nvcc knows and the GPU can run",
            use_if=("the build is torch's (setup.py, torch.utils.cpp_extension)",),
            note=f"Code for {name} runs on every GPU of its generation."
            if binary
            else "The driver compiles the PTX for the GPU when the program starts.",
            steps=(Action(env={"TORCH_CUDA_ARCH_LIST": wanted}),),
        ),
        newer,
    )


_NEWEST_FIRST = (
    ("9.0", "11.8"),
    ("8.6", "11.1"),
    ("8.0", "11.0"),
    ("7.5", "10.0"),
    ("7.0", "9.0"),
    ("6.1", "8.0"),
)
"""Architectures, and the first toolkit with each, newest first."""


def _ancient(event: Event, arch: str, last: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("cuda/gpu-unknown-to-nvcc",),
        detection=detection(
            event,
            f"The sources ask nvcc for sm_{arch}, which ended with CUDA {last}",
            "The number stands in the flags of the project, not in your GPU: it was written when "
            "such GPUs were sold. Write that of your GPU in its place. "
            "nvidia-smi --query-gpu=compute_cap --format=csv prints it.",
            recipes=(
                Recipe(
                    title=f"Write the architecture of your GPU in the place of {arch}",
                    snippet=Snippet(
                        where=f"each file that names it: grep -rnE '(compute|sm)_{arch}' . finds "
                        "them (CMakeLists.txt, Makefile, setup.py)",
                        before=f"-gencode arch=compute_{arch},code=sm_{arch}",
                        after="-gencode arch=compute_86,code=sm_86",
                    ),
                    note="86 is for an RTX 30, 75 for an RTX 20 and T4, 89 for an RTX 40. Build in "
                    "an empty folder.",
                ),
            ),
            name="architecture-unknown-to-nvcc",
            captures={"arch": arch},
        ),
    )


_ONLY_THESE = Recipe(
    title="Compile for the GPUs of this machine alone",
    use_if=("the architecture in the message is not one of them", "torch's build is used"),
    steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
    ask={
        "capability": "what `nvidia-smi --query-gpu=compute_cap --format=csv,noheader` prints, "
        "such as 8.6"
    },
)


_NEWER_CMAKE = Recipe(
    title="Take a CMake that knows native, 3.24 or newer, and build in an empty folder",
    use_if=("the build asks for native, and the machine has its GPU",),
    steps=(Action(install=("cmake>=3.24",), options=(Option.UPGRADE,)),),
)


def _empty(case: Case, event: Event, words: str) -> Explanation:
    seen = f": it got the words {words!r}" if words else ""
    is_ggml = any("ggml" in line.lower() or "llama.cpp" in line for line in case.log.lines)
    is_cmake = is_ggml or any(
        sign in line for line in case.log.lines for sign in ("-- ", "CMAKE_", "CMakeFiles")
    )
    options = ["-DCMAKE_CUDA_ARCHITECTURES=<architecture>"]
    if is_ggml:
        options.insert(0, "-DGGML_NATIVE=OFF")
    by_cmake = Recipe(
        title="Name the architecture of the GPU that will be used",
        note="Add the options that the build has already, -DGGML_CUDA=ON for instance. In a "
        "Dockerfile write them into the RUN line."
        if is_ggml
        else "Add the options that the build has already.",
        steps=(Action(run=("cmake", "-B", "build", *options)),),
        ask={"architecture": "the compute capability without the point, such as 86 for 8.6"},
    )
    by_torch = Recipe(
        title="Name the architecture of the GPU that will be used",
        steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
        ask={"capability": "the compute capability of the GPU, such as 8.6"},
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT if words else Precision.FAMILY,
        contradicts=("cuda/gpu-unknown-to-nvcc", "candle/gpu-unknown-to-nvcc") if words else (),
        detection=detection(
            event,
            f"The build passes nvcc an architecture without a number{seen}",
            "The build asks for the GPU of the machine (native) and finds none, as in docker "
            "build, in CI or on a login node; or it reads an empty variable. CMake before 3.24 "
            "does not know the word native. Name the architecture. The toolkit is not too old.",
            recipes=(by_cmake, _NEWER_CMAKE) if is_cmake else (by_torch,),
            name="architecture-empty",
        ),
    )


_ARCH_SPECIFIC = re.compile(
    r"tensormap\.replace|wgmma|setmaxnreg|tcgen05|multimem|cp\.async\.bulk\.tensor.{0,40}gather"
)
"""Instructions of sm_90a, sm_100a and the like, which plain architectures do not have (PTX ISA)."""


def _of_one_gpu(event: Event, feature: str, on: str) -> Explanation:
    """Explain an instruction that only an architecture with the letter a has."""
    own = "90a" if re.search(r"sm_?90", event.text) or "wgmma" in feature else f"{on}a"
    other = own != f"{on}a"
    dotted = f"{own[:-2]}.{own[-2:]}"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{feature} is an instruction of sm_{own}, and the file is compiled for plain sm_{on}",
            "Such instructions belong to one GPU generation, and only the architecture with the "
            "letter a has them. "
            + (
                f"The file is written for sm_{own} and has no place in a build for sm_{on}: a "
                "release of the package that knows this GPU leaves it out."
                if other
                else "The GPU has them; the letter is missing in the list of the build."
            ),
            recipes=(
                Recipe(
                    title=f"Compile these files for sm_{own}",
                    use_if=() if not other else (f"the GPU has compute capability {dotted[:-1]}",),
                    steps=(Action(env={"TORCH_CUDA_ARCH_LIST": dotted}),),
                    note=f"CMake projects take -DCMAKE_CUDA_ARCHITECTURES={own}.",
                ),
                Recipe(
                    title="Take the newest state of the package, which knows this GPU",
                    use_if=("it is built from a git checkout",),
                    steps=(
                        Action(run=("git", "pull", "--ff-only")),
                        Action(run=("git", "submodule", "update", "--init", "--recursive")),
                    ),
                    note="Then build in an empty folder.",
                ),
            ),
            name="architecture-without-letter",
            captures={"arch": own},
        ),
    )


def _feature(event: Event, groups: Mapping[str, str]) -> Explanation:
    least, on, feature = groups.get("least"), groups.get("on"), groups["feature"]
    if on and on.isdigit() and int(on) >= 90 and _ARCH_SPECIFIC.search(feature):
        return _of_one_gpu(event, feature, on)
    needs = f"sm_{least} or newer" if least else f"more than sm_{on} has"
    return Explanation(
        event=event,
        precision=Precision.EXACT if least else Precision.FAMILY,
        detection=detection(
            event,
            f"The code uses {feature}, which needs {needs}",
            "The sources hold instructions that the architecture of this build does not have. The "
            "list of architectures goes down to GPUs that the sources do not serve; sm_90a and its "
            "like are not part of sm_90.",
            recipes=(
                Recipe(
                    title="Leave the older architectures out of the build",
                    use_if=("the GPU is as new as that",),
                    steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
                    ask={"capability": "the compute capability of the GPU, such as 9.0a"},
                ),
            ),
            name="architecture-too-old-for-code",
        ),
    )
