"""What a CMake that is too old lacks: modules of its own, and CUDA as a language."""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

OWN_MODULES = {
    "CUDAToolkit": "3.17",
    "Python": "3.12",
    "Python2": "3.12",
    "Python3": "3.12",
    "Fontconfig": "3.14",
}
"""Modules that CMake brings itself, and since which release (its manual, cmake-modules(7))."""


def own_module(event: Event, package: str) -> Explanation:
    """Explain a module of CMake's own that this CMake does not have yet."""
    since = OWN_MODULES[package]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("cmake/cuda-compiler-not-found",),
        detection=detection(
            event,
            f"This CMake is older than {since}, which brought Find{package}.cmake",
            "CMake looks for a file of the package only where it has no module of its own. What "
            "the project asks for may be installed all the same.",
            recipes=(
                Recipe(
                    title=f"Install CMake {since} or newer, and configure in an empty folder",
                    steps=(Action(install=(f"cmake>={since},<4",)),),
                    note="which cmake has to show the new one; open a new shell if it does not.",
                ),
            ),
            name="cmake-too-old",
            captures={"package": package},
        ),
    )


def knows_no_cuda(case: Case) -> bool:
    """Say whether this CMake is older than CUDA as a language (3.8): a known issue tells that."""
    sign = "Could not find cmake module file: CMakeDetermineCUDACompiler.cmake"
    return any(sign in line for line in case.log.lines)
