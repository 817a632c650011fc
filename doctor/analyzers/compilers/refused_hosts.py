"""Host compilers that nvcc names as not supported, or does not find at all."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compilers.hosts import newer_toolkit, newest_for, older
from doctor.analyzers.machine import lines_around, toolkit_of
from doctor.analyzers.recipes import LINUX, WINDOWS
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_UNSUPPORTED = (
    r"The version \('(?P<release>[\d.]{1,12})'\) of the host compiler "
    r"\('(?P<name>[\w+ .-]{1,30})'\) is not supported"
)


def refused_host(case: Case, event: Event) -> Explanation | None:
    """Explain a host compiler that nvcc refuses by its name, or misses."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_UNSUPPORTED).search(message):
        return _not_taken(case, event, match.groups["name"], match.groups["release"])
    if "No supported gcc/g++ host compiler" in message:
        return _none_taken(case, event)
    if "Host compiler targets unsupported OS" in message:
        return _for_64_bits(case, event)
    return None


def _not_taken(case: Case, event: Event, name: str, release: str) -> Explanation:
    """Explain a host compiler that nvcc names as not supported."""
    toolkit = toolkit_of(case, event)
    this = f"nvcc of CUDA {toolkit}" if toolkit else "This nvcc"
    clang = "clang" in name.lower()
    newest = newest_for(case, "gcc", toolkit)
    recipes = older("gcc", newest) if newest else (_PLAIN_GCC,)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{this} does not take {name} {release} as its host compiler",
            "nvcc compiles the host part with the compiler that -ccbin, NVCC_CCBIN or CUDAHOSTCXX "
            "names, or the first gcc on PATH, and each CUDA release knows some releases of it. "
            + ("gcc serves in the place of clang. " if clang else "")
            + (f"CUDA {toolkit} takes gcc up to {newest}." if newest else ""),
            recipes=recipes,
            name="host-compiler-too-new",
        ),
    )


_PLAIN_GCC = Recipe(
    title="Have nvcc take gcc",
    use_if=(LINUX, "g++ is a release that this CUDA takes"),
    steps=(Action(env={"NVCC_PREPEND_FLAGS": "-ccbin g++", "CUDAHOSTCXX": "g++"}),),
    note="Take -ccbin clang out of the project's setup.py or Makefile where it stands there.",
)


def _none_taken(case: Case, event: Event) -> Explanation:
    """Explain the nvcc of Debian and Ubuntu, which looks for a gcc that it knows and finds none."""
    newest = newest_for(case, "gcc", toolkit_of(case, event)) or "10"
    package = f"g++-{newest}"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The nvcc of the distribution finds no gcc that is old enough for it",
            "/usr/bin/nvcc of the package nvidia-cuda-toolkit is a script that looks for the gcc "
            "releases that its CUDA takes. It was installed without the one that it asks for, or "
            "is older than torch's CUDA: a toolkit of NVIDIA's below /usr/local takes a newer gcc.",
            recipes=(
                Recipe(
                    title=f"Install {package}, and have nvcc take it",
                    use_if=("the system is Debian or Ubuntu",),
                    steps=(
                        Action(system={"apt": (package,)}),
                        Action(env={"NVCC_CCBIN": f"/usr/bin/{package}"}),
                    ),
                    note="CUDA 10.1 takes gcc up to 8, 11.0 up to 9, 11.1 to 11.4 up to 10.",
                ),
                newer_toolkit(""),
            ),
            name="host-compiler-missing",
        ),
    )


_CL_X64 = re.compile(
    r"Optimizing Compiler Version 19\.(?P<minor>\d\d)\.\d{4,6}(?:\.\d{1,3})? for x64"
)
_CUDA_PATH = re.compile(r"CUDA[/\\]{1,2}v(?P<cuda>1\d\.\d)")
_SINCE_1940 = (12, 4)


def _for_64_bits(case: Case, event: Event) -> Explanation | None:
    """Explain a cl.exe for 64 bits that nvcc is too old for (MSVC 19.40 came after CUDA 12.3)."""
    near = [line[:2000] for line in lines_around(case, event, 40, 5)]
    cl = next((found for line in near if (found := _CL_X64.search(line))), None)
    toolkit = next((found["cuda"] for line in near if (found := _CUDA_PATH.search(line))), "")
    if cl is None or int(cl["minor"]) < 40:
        return None
    if toolkit and tuple(map(int, toolkit.split("."))) >= _SINCE_1940:
        return None
    this = f"nvcc of CUDA {toolkit}" if toolkit else "This nvcc"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("windows/host-compiler-not-64-bit",),
        detection=detection(
            event,
            f"{this} does not know Visual C++ 19.{cl['minor']}: CUDA 12.4 is the first that does",
            "Visual Studio 2022 17.10 brought this compiler. An older nvcc takes it for one of "
            "another system. It is the one for 64 bits, so the prompt is right.",
            recipes=(
                Recipe(
                    title="Install the CUDA toolkit 12.4 or newer, and build with it",
                    use_if=(WINDOWS,),
                    steps=(
                        Action(
                            run=(
                                *("winget", "install", "--exact", "--id", "Nvidia.CUDA"),
                                *("--version", "12.4"),
                            )
                        ),
                        Action(
                            env={
                                "CUDA_PATH": "C:\\Program Files\\NVIDIA GPU Computing Toolkit"
                                "\\CUDA\\v12.4"
                            }
                        ),
                    ),
                ),
                Recipe(
                    title="Open the prompt of the build tools 14.39 (v17.9), and build there",
                    use_if=("they are installed by the Visual Studio Installer",),
                    steps=(Action(run=("where", "cl")),),
                    note="vcvars64.bat -vcvars_ver=14.39 chooses them.",
                    lasting=False,
                ),
            ),
            name="host-compiler-too-new",
        ),
    )
