"""Recipes for a CUDA toolkit that a build does not find, or that does not work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.recipes import LINUX, UNIX, WINDOWS, by_system, command, variables
from doctor.model.issues import Action, Recipe

TOOLKIT_FOLDER = command(
    "Name the folder of a whole toolkit, and configure again in an empty folder",
    *("cmake", "-B", "build-anew", "-DCUDA_TOOLKIT_ROOT_DIR=<toolkit>"),
    "-DCUDAToolkit_ROOT=<toolkit>",
    use_if=("a CUDA toolkit is installed",),
    ask={"toolkit": "the folder that holds bin/nvcc and include/cuda.h, as /usr/local/cuda-12.8"},
    note="Packages of a distribution, or only the runtime, lack headers or libcudart.so; NVIDIA's "
    "installer brings all of it into one folder.",
)
TOOLKITS = (
    command(
        "Install the CUDA toolkit into the conda environment",
        *("conda", "install", "-y", "-c", "conda-forge", "cuda-toolkit=<cuda>"),
        use_if=("this is a conda environment", "no CUDA toolkit is installed"),
        ask={"cuda": "the release of CUDA, for a build against torch that of torch, such as 12.8"},
    ),
    by_system(
        "Install the CUDA toolkit of the distribution",
        apt=("nvidia-cuda-toolkit",),
        use_if=(LINUX, "no CUDA toolkit is installed", "any release of CUDA serves"),
        note="It is older than NVIDIA's own. A build against torch needs the release of torch.",
    ),
)
FIRST_PROGRAM = (
    Recipe(
        title="Build with Ninja, which needs no CUDA part in Visual Studio",
        use_if=(WINDOWS, "nvcc --version answers"),
        steps=(
            Action(
                run=(
                    *("cmake", "-G", "Ninja", "-B", "build-ninja"),
                    "-DCMAKE_CUDA_ARCHITECTURES=<architecture>",
                )
            ),
            Action(run=("cmake", "--build", "build-ninja")),
        ),
        ask={"architecture": "the compute capability without the point, as 86 for 8.6"},
        note="Run it in the x64 Native Tools Command Prompt. The installer of CUDA adds "
        "its part to the Visual Studio of that time only.",
    ),
    command(
        "See nvcc's own error, which CMake wrote into a file of the build folder",
        *("grep", "-rhiE", "error|fatal|unsupported", "<build>/CMakeFiles"),
        *("--include=CMakeError.log", "--include=CMakeConfigureLog.yaml"),
        use_if=(UNIX,),
        ask={"build": "the build folder, the one with CMakeCache.txt"},
        look=True,
    ),
    variables(
        "Let nvcc take an older C++ compiler, and name the architecture",
        {"CUDAHOSTCXX": "<compiler>", "CUDAARCHS": "<architecture>"},
        use_if=(LINUX, "nvcc's own error is one of the C++ compiler or the architecture"),
        ask={
            "compiler": "one that this CUDA takes: g++-10 for 11.1 to 11.4, g++-11 for "
            "11.5 to 12.0, g++-12 for 12.1 and newer",
            "architecture": "the compute capability without the point, such as 86",
        },
        note="Configure in an empty folder: CMake keeps what it found.",
    ),
)
_ENVIRONMENT = re.compile(r"(/[\w./+-]{1,200})/bin/nvcc")
_OF_CONDA = re.compile(r"/envs/[^/]{1,60}$|conda\d?$")


def into_environment(path: str) -> Iterator[Recipe]:
    """Yield the recipe that puts nvcc where the build looks for it: into an environment."""
    found = _ENVIRONMENT.fullmatch(path)
    if found is not None and _OF_CONDA.search(found[1]):
        yield Recipe(
            title="Install nvcc and the headers into the environment that the build looks in",
            use_if=("it is an environment of conda",),
            steps=(
                Action(
                    run=(
                        *("conda", "install", "-y", "-p", found[1]),
                        *("-c", "nvidia/label/cuda-<cuda>.0", "cuda-toolkit"),
                    )
                ),
            ),
            ask={"cuda": "the CUDA of torch (torch.version.cuda prints it), such as 12.4"},
        )
