"""Explain where CMake stops.

| event | what is said of it |
| --- | --- |
| cmake-too-old, cmake-project-too-old | both releases; the variable of CMake 4 |
| cmake-cuda-compiler-missing, -broken, no-cuda-toolset | nvcc, CUDACXX, Visual Studio |
| cmake-no-native-gpu, cmake-cuda-architectures-empty | name the architecture |
| cmake-package-missing, cmake-target-missing | what the package is, how CMake finds it |
| cmake-cache-of-other-folder | an old build folder |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.cmake_releases import OWN_MODULES, knows_no_cuda, own_module
from doctor.analyzers.recipes import LINUX, UNIX, by_system
from doctor.analyzers.toolkit_recipes import FIRST_PROGRAM, TOOLKIT_FOLDER, TOOLKITS
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe

_MOST = 3


class _Reason(NamedTuple):
    """One kind of event: its title and cause, with the event's objects in braces, its fixes."""

    title: str
    cause: str
    recipes: tuple[Recipe, ...] = ()
    name: str = ""


_ARCHITECTURE = Recipe(
    title="Name the architecture of the GPU",
    note="8.6 is written 86 here; `nvidia-smi --query-gpu=compute_cap --format=csv` prints it.",
    steps=(Action(env={"CUDAARCHS": "<architecture>"}),),
    ask={"architecture": "the compute capability without the point, such as 86"},
)
_NVCC = Recipe(
    title="Name nvcc",
    use_if=("a CUDA toolkit is installed", LINUX),
    steps=(Action(env={"CUDACXX": "<toolkit>/bin/nvcc", "CUDA_HOME": "<toolkit>"}),),
    ask={"toolkit": "the folder of the toolkit, such as /usr/local/cuda-12.8"},
)
_REASONS = {
    "cmake-project-too-old": _Reason(
        "CMake 4 refuses a project that is written for CMake before {least}",
        "CMake 4 took the compatibility with old projects away. pip fetches the newest CMake into "
        "its own build environment, whatever the system has.",
        (
            Recipe(
                title="Have CMake take the project as one for 3.5",
                note="CMake 4 reads this variable in pip's builds too.",
                steps=(Action(env={"CMAKE_POLICY_VERSION_MINIMUM": "3.5"}),),
                lasting=False,
            ),
        ),
    ),
    "cmake-too-old": _Reason(
        "The project needs CMake {wanted}, and {running} is here",
        "The first cmake on PATH counts, and a distribution's is mostly older. PyPI has the newest "
        "one as a package.",
        (
            Recipe(
                title="Install a newer CMake into this environment",
                steps=(Action(install=("cmake>={wanted},<4",)),),
            ),
        ),
    ),
    "cmake-cuda-compiler-missing": _Reason(
        "CMake finds no nvcc: the project has CUDA sources and needs the CUDA toolkit",
        "CMake looks at CUDACXX, at the variable CMAKE_CUDA_COMPILER, and then on PATH. The driver "
        "and torch's wheels come without nvcc. What was found before stays in CMakeCache.txt of "
        "the build folder.",
        (_NVCC, *TOOLKITS),
    ),
    "cmake-cuda-compiler-broken": _Reason(
        "CMake found nvcc, and nvcc does not compile a first small program",
        "The lines after this one, or CMakeError.log, hold nvcc's own error: mostly a host "
        "compiler that is too new for it, an architecture that it does not know, or a toolkit "
        "that is not whole.",
        FIRST_PROGRAM,
    ),
    "cmake-no-cuda-toolset": _Reason(
        "Visual Studio has no CUDA toolset: CMake's generator does not find CUDA in it",
        "The installer of the CUDA toolkit adds files to each Visual Studio that is there already. "
        "A Visual Studio that was installed later lacks them, and so do its build tools alone.",
        (
            Recipe(
                title="Build with Ninja, which needs no toolset",
                note="In the x64 Native Tools Command Prompt.",
                steps=(Action(install=("ninja",)), Action(env={"CMAKE_GENERATOR": "Ninja"})),
            ),
        ),
    ),
    "cmake-no-native-gpu": _Reason(
        "CMake is asked to compile for the GPU of this machine, and sees none",
        "The architecture `native` asks the driver for the GPU. A build in docker build, on a "
        "login node or in CI has none.",
        (_ARCHITECTURE,),
    ),
    "cmake-cuda-architectures-empty": _Reason(
        "CMake got no GPU architecture to compile for",
        "CMAKE_CUDA_ARCHITECTURES is empty. The project reads it from a GPU that is not there, or "
        "from a variable without a value.",
        (_ARCHITECTURE,),
    ),
    "cmake-target-missing": _Reason(
        "A library that CMake links, {owner}{other}, names a target that this machine lacks",
        "The line below names it. The package was configured with a library that is not here: "
        "CUDA::nvToolsExt, for example, left the CUDA toolkit with 12.9, and torch before 2.5 asks "
        "for it.",
        (
            Recipe(
                title="Install the toolkit's libraries for developers, and configure anew",
                use_if=(
                    LINUX,
                    Condition(fact="host.package_manager", equals="apt"),
                    "the target begins with CUDA::",
                ),
                note="CUDA 10.1 keeps cuBLAS in /usr/lib and /usr/include, where its package "
                "libcublas-dev puts it. Delete the build folder before.",
                steps=(
                    Action(
                        run=("apt-get", "install", "-y", "cuda-libraries-dev-<cuda>"), sudo=True
                    ),
                    Action(run=("cmake", "-B", "build", "-DCUDAToolkit_ROOT=<toolkit>")),
                ),
                ask={
                    "cuda": "the release of nvcc with a dash, such as 12-8",
                    "toolkit": "the folder of that toolkit, such as /usr/local/cuda-12.8",
                },
            ),
        ),
    ),
    "cmake-cache-of-other-folder": _Reason(
        "The build folder was made elsewhere, or by another generator",
        "CMakeCache.txt holds absolute paths and the generator of the first run.",
        (
            Recipe(
                title="Configure in a fresh build folder",
                note="CMake 3.24 and newer.",
                steps=(Action(run=("cmake", "--fresh", "-S", ".", "-B", "build")),),
                use_if=("the build folder is called build",),
            ),
        ),
    ),
}
_PACKAGES = {
    "Torch": "torch for C++",
    "Caffe2": "torch for C++",
    "pybind11": "pybind11",
    "CUDA": "the CUDA toolkit",
    "CUDAToolkit": "the CUDA toolkit",
    "CUDNN": "cuDNN for developers",
    "cuDNN": "cuDNN for developers",
    "NCCL": "NCCL for developers",
    "Python": "Python with its headers",
    "Python3": "Python with its headers",
    "PythonLibs": "Python with its headers",
    "OpenMP": "OpenMP",
    "OpenMP_C": "OpenMP",
    "OpenMP_CXX": "OpenMP",
    "BLAS": "a BLAS library for developers",
    "OpenSSL": "OpenSSL for developers",
    "CURL": "libcurl for developers",
    "Protobuf": "Protocol Buffers for developers",
    "ZLIB": "zlib for developers",
    "hip": "ROCm's HIP",
    "HIP": "ROCm's HIP",
    "rocblas": "rocBLAS of ROCm",
    "hipblas": "hipBLAS of ROCm",
    "IntelSYCL": "oneAPI's compiler",
    "Vulkan": "the Vulkan SDK",
    "MPI": "MPI for developers",
    "MPI_CXX": "MPI for developers",
    "Threads": "POSIX threads",
}
_APT = {
    "CURL": "libcurl4-openssl-dev",
    "OpenSSL": "libssl-dev",
    "ZLIB": "zlib1g-dev",
    "BLAS": "libopenblas-dev",
    "MPI": "libopenmpi-dev",
    "MPI_CXX": "libopenmpi-dev",
    "Protobuf": "libprotobuf-dev",
    "pybind11": "pybind11-dev",
}
_OF_TORCH = ("Torch", "Caffe2")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first event of each kind."""
    done: set[str] = set()
    if (event := next(case.of("cmake-variable-not-found"), None)) is not None:
        yield _variable(case, event)
    if (event := next(filter(_is_first_program, case.of("configure-error")), None)) is not None:
        yield _reason(event, _REASONS["cmake-cuda-compiler-broken"])
    unknown = any(True for _ in case.of("cmake-cuda-compiler-missing"))
    for event in case.of(*_REASONS, "cmake-package-missing"):
        if unknown and "identification is unknown" in event.text:
            continue  # CMake prints it as well where it found no nvcc at all
        if event.kind == "cmake-cuda-compiler-missing" and knows_no_cuda(case):
            continue
        package = event.objects.get("package", "")
        if f"{event.kind}{package}" in done or len(done) == _MOST:
            continue
        done.add(f"{event.kind}{package}")
        yield _missing(event, package) if package else _reason(event, _REASONS[event.kind])


def _is_first_program(event: Event) -> bool:
    """Say whether CMake stops at the first program that nvcc is given to compile."""
    message = event.objects.get("message", "")
    return "CUDA compiler identification source file" in message


_VARIABLE = re.compile(r"^\s{0,8}(?P<name>[A-Za-z]\w{2,80})(?: \(ADVANCED\))?\s*$")
_DROPPED = ("CUDA_cublas_device_LIBRARY", "CUDA_nppi_LIBRARY", "CUDA_npp_LIBRARY")
"""Libraries that CUDA 10 no longer has and FindCUDA before CMake 3.12.2 asks for."""


def _variable(case: Case, event: Event) -> Explanation:
    """Explain a variable that no search filled: CMake prints its name below."""
    lines = case.log.lines[event.at + 1 : event.at + 8]
    found = [one["name"] for line in lines if (one := _VARIABLE.match(line[:200]))]
    name = next(iter(found), "")
    recipe = Recipe(
        title=f"Give CMake the file or folder that {name or 'the variable'} stands for",
        steps=(Action(run=("cmake", "-B", "build", f"-D{name or '<variable>'}=<path>")),),
        note="Its own name says what it is: …_LIBRARY a file, …_INCLUDE_DIR a folder with headers. "
        "Install the package for developers of that library first, and build in an empty folder.",
        ask={"path": "where it lies on this machine", "variable": "the name below the message"},
    )
    dropped = any(one in _DROPPED for one in found)
    if dropped:
        recipe = Recipe(
            title="Take a newer CMake, and configure again in an empty folder",
            steps=(Action(install=("cmake>=3.18,<4",)),),
        )
    elif name.startswith("CUDA_") and "LIBRARY" in name:
        recipe = Recipe(
            title="Name the toolkit, and configure again in an empty folder",
            steps=(Action(run=("cmake", "-B", "build", "-DCUDA_TOOLKIT_ROOT_DIR=<toolkit>")),),
            ask={"toolkit": "the folder of a whole CUDA toolkit, such as /usr/local/cuda-12.8"},
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT if dropped else Precision.FAMILY,
        detection=detection(
            event,
            f"This CMake is older than CUDA 10: it asks for {name}, which is gone"
            if dropped
            else f"CMake does not find {name or 'a library'} that the project uses",
            "FindCUDA of CMake before 3.12.2 lists it among the libraries of every toolkit. The "
            "toolkit is whole."
            if dropped
            else "A search of the project found nothing, and the project goes on to use it.",
            recipes=(recipe,),
        ),
    )


def _reason(event: Event, reason: _Reason) -> Explanation:
    objects = {"owner": "", "other": "", "least": "3.5", "wanted": "", "running": ""}
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            reason.title.format(**{**objects, **event.objects}),
            reason.cause,
            recipes=tuple(
                _filled(recipe, event.objects.get("wanted", "")) for recipe in reason.recipes
            ),
        ),
    )


def _filled(recipe: Recipe, wanted: str) -> Recipe:
    """Return a recipe with the release that the project needs; CMake 4 where it needs that."""
    limit = "" if wanted.startswith(("4", "5")) else ",<4"
    if not any("{wanted}" in one for step in recipe.steps for one in step.install):
        return recipe
    return Recipe(title=recipe.title, steps=(Action(install=(f"cmake>={wanted}{limit}",)),))


_OF_PYTHON = (
    Recipe(
        title="Give CMake the folder of the torch that Python has",
        use_if=(UNIX, "torch is installed for this Python"),
        note="Add the options that the build has already, and use an empty folder.",
        steps=(
            Action(
                run=(
                    "sh",
                    "-c",
                    (
                        'cmake -B build -DCMAKE_PREFIX_PATH="$(python3 -c '
                        "'import torch; print(torch.utils.cmake_prefix_path)')\""
                    ),
                )
            ),
        ),
    ),
    Recipe(
        title="Ask torch where its files for CMake lie",
        note="The answer is the value of CMAKE_PREFIX_PATH.",
        steps=(
            Action(
                run=(
                    *("{python.executable}", "-c"),
                    "import torch; print(torch.utils.cmake_prefix_path)",
                )
            ),
        ),
        lasting=False,
    ),
)
"""What leads CMake to the torch of a Python."""


def _missing(event: Event, package: str) -> Explanation:
    what = _PACKAGES.get(package, package)
    missing = event.objects.get("missing", "")
    apt = _APT.get(package, "")
    recipes: tuple[Recipe, ...] = ()
    if "By not providing" in event.text and package in OWN_MODULES:
        return own_module(event, package)
    if package in _OF_TORCH:
        recipes = _OF_PYTHON
    elif package.startswith("CUDA"):
        recipes = (TOOLKIT_FOLDER if missing else _NVCC, *TOOLKITS)
    elif apt:
        recipes = (by_system(f"Install {apt}", apt=(apt,)),)
    return Explanation(
        event=event,
        precision=Precision.EXACT if what != package else Precision.FAMILY,
        detection=detection(
            event,
            f"CMake does not find {package}" + (f": {what}" if what != package else ""),
            (f"What it lacks: {missing}. " if missing else "")
            + "Either it is not installed (a package for running programs alone does not have the "
            f"files), or it lies where CMake does not look: CMAKE_PREFIX_PATH, {package}_ROOT and "
            f"{package}_DIR name other folders.",
            recipes=recipes,
            captures={"package": package},
        ),
    )
