"""The ways to install what brings a library: system, conda, pip."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.analyzers.machine import fact_text
from doctor.analyzers.recipes import by_system
from doctor.base.versions import major
from doctor.model.issues import Action, Condition, Option, Recipe
from doctor.timelines.libraries import Library

_FOLDER = re.compile(r"^nvidia-(?:cuda-)?([a-z]+)")
_FOLDERS = {"runtime": "cuda_runtime", "nvrtc": "cuda_nvrtc", "cupti": "cuda_cupti"}
_CU = re.compile(r"-cu(\d\d)$")


def ways_to_install(case: Case, found: Library, system: str) -> tuple[Recipe, ...]:
    """Return the recipes that bring a library, the one that fits the log first."""
    recipes = []
    packages = found.packages
    if (packages.apt or packages.dnf) and system in ("linux", "") and not _of_nvidia(found):
        recipes.append(
            by_system(
                f"Install {found.what} with the system's package manager",
                apt=packages.apt,
                dnf=packages.dnf,
                use_if=(),
                note="In a Dockerfile this stands before the program; apt-get update comes first.",
            )
        )
    if packages.brew and system == "macos":
        recipes.append(
            Recipe(
                title=f"Install {found.what} with Homebrew",
                steps=(Action(run=("brew", "install", *packages.brew)),),
            )
        )
    if (pip := _pip_package(case, found)) and system in ("linux", ""):
        recipes.append(_by_pip(found, pip))
    if packages.conda and not _of_nvidia(found):
        recipes.append(
            Recipe(
                title=f"Install {found.what} from conda-forge",
                use_if=(Condition(fact="python.conda", present=True),),
                steps=(
                    Action(
                        run=(
                            *("conda", "install", "-p", "{python.conda}", "-c", "conda-forge"),
                            packages.conda[0],
                        )
                    ),
                ),
            )
        )
    return tuple(recipes)


_CONDA_TOOLKITS = ("9.0", "9.2", "10.0", "10.1", "10.2", "11.0", "11.1", "11.3", "11.8")
"""Releases of the Conda package cudatoolkit, the last one that bears this name."""


def by_conda(case: Case, found: Library) -> tuple[Recipe, ...]:
    """Return the recipe for a library of the CUDA toolkit where the log works with conda.

    Up to CUDA 11 one package holds the runtime and the mathematical libraries; the sonames of
    CUDA 11 are 11.0 (libcudart) and 11 or 10 (the others) in all its minor releases.
    """
    generation = found.generation
    if not case.context.conda and not any("conda install" in line for line in case.log.lines):
        return ()
    wanted = "11.8" if major(generation or "x") == 11 else generation
    if wanted not in _CONDA_TOOLKITS:
        return ()
    return (
        Recipe(
            title=f"Install the libraries of CUDA {wanted} into the conda environment",
            use_if=("the package has no build for a newer CUDA",),
            note="They do not touch the driver, and lie beside those of another CUDA.",
            steps=(
                Action(
                    run=(
                        *("conda", "install", "-p", "{python.conda|<environment>}"),
                        *("-c", "conda-forge", "-c", "defaults", f"cudatoolkit={wanted}"),
                    )
                ),
            ),
            ask={"environment": "the folder of the environment, or use -n with its name"},
        ),
    )


def _of_nvidia(found: Library) -> bool:
    return any(name.startswith("nvidia-") for name in found.packages.pip)


def _pip_package(case: Case, found: Library) -> str:
    """Return NVIDIA's package for the CUDA generation of the library, or of torch."""
    names = [name for name in found.packages.pip if name.startswith("nvidia-")]
    generation = major(found.generation or "x") if "cudnn" not in found.name else None
    wanted = generation or major(fact_text(case, "torch.cuda_version") or "x")
    if wanted is None and "cudnn" in found.name and found.generation == "9":
        wanted = 12  # what the wheels of CTranslate2 and ONNX Runtime are built for
    for name in names:
        suffix = _CU.search(name)
        if suffix is None and (wanted is None or wanted >= 13):
            return name
        if suffix is not None and int(suffix[1]) == wanted:
            return name
    return names[0] if len(names) == 1 else ""


def _by_pip(found: Library, package: str) -> Recipe:
    match = _FOLDER.match(package)
    folder = _FOLDERS.get(match[1], match[1]) if match else "cudnn"
    wanted = f"{package}=={found.generation}.*" if "cudnn" in found.name else package
    wanted = wanted if found.generation and "cudnn" in found.name else package
    if not _CU.search(package):
        folder = "cu13"
    return Recipe(
        title=f"Install {package}, and let the loader search its folder",
        note="torch finds NVIDIA's packages itself; other programs search LD_LIBRARY_PATH only.",
        steps=(
            Action(install=(wanted,), options=(Option.HOLD_TORCH,)),
            Action(
                env={
                    "LD_LIBRARY_PATH": "{python.site_packages|<site-packages>}/nvidia/"
                    f"{folder}/lib:$LD_LIBRARY_PATH"
                }
            ),
        ),
        ask={"site-packages": "the folder site-packages of this environment"},
    )
