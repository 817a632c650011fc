"""A library that is not found: what it is, who brings it, and who asked for which generation."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.libraries.condas_python import of_condas_python
from doctor.analyzers.libraries.frameworks import framework
from doctor.analyzers.libraries.jetson import of_jetson
from doctor.analyzers.libraries.of_r import of_r
from doctor.analyzers.libraries.opencv import of_opencv
from doctor.analyzers.libraries.other_builds import other_build
from doctor.analyzers.libraries.other_vendor import of_other_vendor
from doctor.analyzers.libraries.own_extensions import compiled_here
from doctor.analyzers.libraries.packages import by_conda, ways_to_install
from doctor.analyzers.machine import fact_text, system_of
from doctor.analyzers.recipes import LINUX, command, container_with_gpus
from doctor.base.versions import major
from doctor.events.normal import goes_on
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet
from doctor.model.scales import Severity
from doctor.timelines.libraries import Library, library
from doctor.timelines.symbols import owner_of

_OF_OWNER = {
    "cudnn": "cuDNN",
    "cublas": "cuBLAS",
    "cufft": "cuFFT",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "nvrtc": "NVRTC",
    "nccl": "NCCL",
    "nvjitlink": "nvJitLink",
    "cudart": "the CUDA runtime",
    "nvidia driver": "the NVIDIA driver",
}
_BARE = {
    "cuda": "libcuda.so.1",
    "nvcuda": "nvcuda.dll",
    "nvrtc": "libnvrtc.so",
    "cudart": "libcudart.so",
}
_OPTIONAL = {"libnccl-net.so"}
"""Libraries that are asked for on the chance that they are there."""
_ATTEMPT = re.compile(r"FFmpeg version \d{1,2}: ")
"""One of several releases that torchcodec tries in turn: no line alone is a failure."""
_GENERATION = re.compile(r"^\d{1,2}(?:\.\d{1,2})?$")
_TORCH_LIBRARY = re.compile(
    r"^lib(?:cublas|cublasLt|cudart|cudnn|cufft|curand|cusolver|cusparse|"
    r"cusparseLt|nccl|nvrtc|nvJitLink|nvToolsExt|cupti|cufile)\w*\.so\."
)


def missing(case: Case, event: Event) -> Explanation | None:
    """Explain a library that a loader does not find."""
    if "symbol" in event.objects:
        return _null_library(event)
    name = _name(event)
    if not name:
        return _module(case, event)
    if _ATTEMPT.search(event.text):
        return None
    for explain_one in (of_r, of_opencv, of_jetson, of_other_vendor):
        if (of_one := explain_one(case, event, name)) is not None:
            return of_one
    found = library(name)
    if found is None:
        return _unknown(case, event, name)
    if goes_on(event.text):
        return _without(event, f"{found.asked} is not found: {found.what}")
    return _known(case, event, found)


def _name(event: Event) -> str:
    name = event.objects.get("library", "") or event.objects.get("file", "")
    name = re.split(r"[/\\]", name)[-1]
    return _BARE.get(name, name)


def _known(case: Case, event: Event, found: Library) -> Explanation:
    driver = found.row.generation == "driver"
    generation = found.generation
    asks = framework(case, event, generation) if _is_cuda(found) and generation else None
    cuda = fact_text(case, "torch.cuda_version")
    other = _other_generation(found, cuda) and asks is None
    of = (
        f" of CUDA {generation}"
        if _is_cuda(found) and generation and "CUDA" not in found.what
        else f" {generation}"
        if _GENERATION.match(generation) and generation not in found.what
        else ""
    )
    title = f"{found.asked} is not found: {found.what}{of}"
    if other:
        title = f"{found.asked} is of CUDA {generation}, and torch here is built for CUDA {cuda}"
    cause = " ".join(
        filter(
            None,
            (
                (asks.cause if asks else found.row.means) if found.exact else "",
                f"What asks for it was built for CUDA {generation}, and torch brings the libraries "
                f"of CUDA {cuda} only."
                if other
                else "",
                _torch_should(case, found),
                f"Look at: {found.row.check}" if found.row.check and found.exact else "",
            ),
        )
    )
    recipes: tuple[Recipe, ...] = _of_driver(found) if driver else ()
    if not driver:
        build = _rebuilt(case, event, found)
        recipes = (
            build
            if other
            else (
                *(by_conda(case, found) if _is_cuda(found) and "nccl" not in found.name else ()),
                *build,
                *ways_to_install(case, found, system_of(case, event)),
            )
        )
        recipes += (_NO_SHADOW,) if "Unable to load any of" in event.text else ()
        recipes += (_OF_TOOLKIT,) if _BARE_CUDA.match(found.name) and not other else ()
        recipes = asks.recipes if asks else recipes
    return Explanation(
        event=event,
        precision=Precision.EXACT
        if found.exact and (driver or other or generation)
        else (Precision.FAMILY),
        detection=detection(
            event,
            title,
            cause or "The loader searched its folders and did not find the library.",
            recipes=recipes,
            severity=Severity.NOTE if found.name in _OPTIONAL else Severity.ERROR,
            name="library-not-found",
            captures={"library": found.asked},
        ),
    )


def _rebuilt(case: Case, event: Event, found: Library) -> tuple[Recipe, ...]:
    if not _is_cuda(found) or not found.generation:
        return ()
    return *compiled_here(case, event, found.generation), *other_build(case)


def _without(event: Event, title: str) -> Explanation:
    """Explain a library that a program says it does without."""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{title}; the program goes on without it",
            "The line itself says so. Install the library only where its part is wanted.",
            severity=Severity.NOTE,
            name="library-not-found",
        ),
    )


def _of_driver(found: Library) -> tuple[Recipe, ...]:
    """Return how to come by a library that only the driver of NVIDIA brings."""
    if not found.name.startswith(("libcuda", "libnvidia")):
        return ()
    return (
        command(
            "See whether the driver is there, and where its library lies",
            "sh",
            "-c",
            "nvidia-smi; ls -l /usr/lib/wsl/lib/libcuda.so* /usr/lib/*/libcuda.so*",
            use_if=(LINUX,),
            look=True,
        ),
        Recipe(
            title="Let the loader look into the folder of WSL's driver",
            use_if=("it is WSL, and /usr/lib/wsl/lib holds the file",),
            steps=(Action(env={"LD_LIBRARY_PATH": "/usr/lib/wsl/lib:$LD_LIBRARY_PATH"}),),
        ),
        container_with_gpus("Start the container with the GPUs of the machine"),
    )


def _is_cuda(found: Library) -> bool:
    return bool(_TORCH_LIBRARY.match(found.name)) and "cudnn" not in found.name


def _other_generation(found: Library, cuda: str) -> bool:
    """Say whether a library is of another CUDA generation than torch."""
    wanted, here = major(found.generation or "x"), major(cuda or "x")
    return _is_cuda(found) and wanted is not None and here is not None and wanted != here


def _torch_should(case: Case, found: Library) -> str:
    packages = [name for name in found.packages.pip if name.startswith("nvidia-")]
    if not packages or not _TORCH_LIBRARY.match(found.name):
        return ""
    if "import torch" in "\n".join(case.log.lines[-400:]) or fact_text(case, "torch.release"):
        return (
            "torch's CUDA wheels from PyPI bring it as a package of its own, and find it there "
            "themselves; other programs search LD_LIBRARY_PATH and the folders of the system."
        )
    return ""


def _null_library(event: Event) -> Explanation | None:
    """Explain `Invalid handle. Cannot load symbol X`: the library itself was not loaded."""
    symbol = event.objects["symbol"]
    name = _OF_OWNER.get(owner_of(symbol), "")
    if not name:
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("cuda/cudnn-conflict",),
        detection=detection(
            event,
            f"{name} could not be loaded, so {symbol} is not there",
            f"The program opens {name} by name while it runs, and the loader did not find it; the "
            "handle is empty. A copy inside site-packages/nvidia is found by torch alone, unless "
            "its folder stands in LD_LIBRARY_PATH (on Windows in PATH) when the program starts.",
            recipes=(FIND_IN_PACKAGES,),
            name="library-not-found",
        ),
    )


_BARE_CUDA = re.compile(r"lib(?:cu|nvrtc|nvJitLink|nvvm|nppc?)\w{0,20}\.so")
_OF_TOOLKIT = Recipe(
    title="Let the loader search the toolkit's folder",
    use_if=(LINUX, "/usr/local/cuda/lib64 holds the library"),
    note="Of several toolkits take the folder with the release in its name. Put the line into the "
    "file that starts the program.",
    steps=(Action(env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:$LD_LIBRARY_PATH"}),),
)
_NO_SHADOW = Recipe(
    title="Start without LD_LIBRARY_PATH, so that the parts beside the loaded cuDNN are found",
    use_if=("LD_LIBRARY_PATH leads to another cuDNN, as in Colab and in CUDA images",),
    steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
)
FIND_IN_PACKAGES = Recipe(
    title="Let the loader search the folders of NVIDIA's packages",
    use_if=("the packages nvidia-* are installed in this environment",),
    note="Set it before the program starts; workers of Ray or Slurm need it as well.",
    steps=(Action(env={"LD_LIBRARY_PATH": "<folders>"}),),
    ask={
        "folders": "the folders site-packages/nvidia/cudnn/lib and site-packages/nvidia/cublas/lib "
        "of this environment, with a colon between"
    },
)


def _module(case: Case, event: Event) -> Explanation | None:
    module = event.objects.get("module", "")
    if event.speaker != "Windows loader":
        return None
    if (of_python := of_condas_python(case, event, module)) is not None:
        return of_python
    what = f"A DLL that {module} needs" if module else "A DLL that the file needs"
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{what} is not found (Windows error 126)",
            "Windows names the file that was loaded, not the one that is missing: a DLL that it "
            "needs. Mostly it is the Visual C++ runtime, a CUDA library of another release, or a "
            "part of torch that is not on the search path.",
            recipes=VISUAL_C_RUNTIME,
            name="dll-not-found",
        ),
    )


VISUAL_C_RUNTIME = (
    Recipe(
        title="Install the Visual C++ runtime",
        steps=(
            Action(
                run=(
                    *("winget", "install", "--exact", "--id", "Microsoft.VCRedist.2015+.x64"),
                    *("--accept-package-agreements", "--accept-source-agreements"),
                )
            ),
        ),
    ),
    Recipe(
        title="See which DLL is missing",
        use_if=("the build tools of Visual Studio are installed",),
        steps=(Action(run=("dumpbin", "/dependents", "<file>")),),
        ask={"file": "the .pyd or .dll that the message names"},
        lasting=False,
    ),
)


def _of_windows(case: Case, event: Event, name: str) -> tuple[Recipe, ...]:
    """Return the recipes for a DLL: Python 3.8 and newer no longer search PATH for what it needs.

    https://docs.python.org/3/whatsnew/3.8.html#ctypes
    """
    lines = case.log.lines[max(event.at - _FRAMES, 0) : event.at + 1]
    if "torch" in name or not any("ctypes" in line for line in lines):
        return VISUAL_C_RUNTIME
    return (_SEARCH_PATH, *VISUAL_C_RUNTIME)


_FRAMES = 12
_SEARCH_PATH = Recipe(
    title="Name the folders of the libraries that it needs, before the import",
    note="Since 3.8 Python no longer searches PATH for them. For a build with CUDA it is the "
    "folder bin of that very CUDA release and the one of cuDNN. Python 3.7 still searches PATH.",
    snippet=Snippet(
        where="the top of the program",
        after='import os\nos.add_dll_directory(r"C:\\Program Files\\NVIDIA GPU Computing '
        'Toolkit\\CUDA\\v<cuda>\\bin")',
    ),
    ask={"cuda": "the CUDA release that the package was built for, such as 11.8"},
)


def _unknown(case: Case, event: Event, name: str) -> Explanation | None:
    system = system_of(case, event)
    if name.endswith((".pyd", ".dll")) or event.speaker == "Windows loader":
        return Explanation(
            event=event,
            detection=detection(
                event,
                f"{name}, or a DLL that it needs, is not found",
                "Windows names the file that was loaded, not the one that is missing: the file "
                "itself, or a DLL that it needs. Mostly it is the Visual C++ runtime, a CUDA "
                "library of another release, or a part of torch that is not on the search path.",
                recipes=_of_windows(case, event, name),
                name="dll-not-found",
            ),
        )
    if ".so" not in name and ".dylib" not in name:
        return None
    asker = event.objects.get("file", "").rpartition("/")[2]
    title = f"{name} is not found{f', which {asker} needs' if asker else ''}"
    if goes_on(event.text):
        return _without(event, title)
    return Explanation(
        event=event,
        detection=detection(
            event,
            title,
            "The loader searched the folders of the system, those of LD_LIBRARY_PATH and those "
            "that the asking file names, and the library is in none of them. Either its package "
            "is not installed, or its folder is not searched.",
            recipes=_where_is(name, system),
            name="library-not-found",
        ),
    )


def _where_is(name: str, system: str) -> tuple[Recipe, ...]:
    if system == "macos" or ".dylib" in name:
        return ()
    return (
        Recipe(
            title="See which package of the system has it",
            use_if=("the system is Debian or Ubuntu",),
            steps=(
                Action(system={"apt": ("apt-file",)}),
                Action(run=("apt-file", "update"), sudo=True),
                Action(run=("apt-file", "search", name)),
            ),
            lasting=False,
        ),
    )
