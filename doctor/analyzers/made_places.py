"""Explain GPUs below what XLA's libraries know, and files that a linker takes for no library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import command, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_CUPY = re.compile(r"\bcupy(?:-(\d[\w.]{1,12})\.tar\.gz|\s|/)")
_LONGEST = 400


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is said of a GPU that XLA does not serve, and of a broken file."""
    for event in list(case.of("gpu-below-xla"))[:1]:
        yield _below(event)
    for event in list(case.of("library-file-broken"))[:1]:
        yield _broken(case, event)


def _below(event: Event) -> Explanation:
    major, minor = event.objects["major"], event.objects.get("minor", "")
    gpu = f"{major}.{minor}" if minor else f"{major}.x"
    return explanation(
        event,
        f"The GPU has compute capability {gpu}, which this build of XLA no longer serves",
        "cuBLAS gives XLA no algorithms for GPUs before capability 5.0 (Kepler: K20, K40, K80, GTX "
        "6xx and 7xx), and the CUDA of newer builds drops them altogether. Drivers and toolkits do "
        "not change that.",
        (
            command(
                "See which GPU it is",
                *("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv"),
                look=True,
                note="Choose a machine with a GPU of capability 5.2 or more, such as a T4 in place "
                "of a K80.",
            ),
            variables(
                "Compute on the processor",
                {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""},
            ),
        ),
        name="gpu-below-build",
    )


def _broken(case: Case, event: Event) -> Explanation:
    path, said = event.objects["path"], event.objects["said"].lower()
    driver = "libcuda.so" in path or "libnvidia" in path
    cupy = any(_CUPY.search(line[:_LONGEST]) for line in case.log.lines)
    recipes: list[Recipe] = []
    if cupy:
        recipes.append(
            Recipe(
                title="Install CuPy as a wheel for the toolkit's CUDA, which needs no compiler",
                steps=(Action(install=("cupy-cuda<generation>x",)),),
                ask={"generation": "the first number of the CUDA release: 12 for 12.4"},
                note="Before CUDA 11.2 the name holds the whole number: cupy-cuda101 for 10.1.",
            )
        )
    recipes.append(
        command(
            "See what the file is",
            "ls",
            "-lL",
            path,
            look=True,
            note="A container that mounts the driver leaves empty files where it was started "
            "without GPUs: start it with --gpus all, or build without linking to the driver "
            "(toolkit's lib64/stubs in LIBRARY_PATH)."
            if driver
            else "Install the package that brings it again.",
        )
    )
    return explanation(
        event,
        f"The linker cannot use {path.rpartition('/')[2]}: {said}",
        "The file is empty or cut off, so that nothing can be linked with it."
        + (
            " It belongs to the NVIDIA driver, which a container gets when it starts."
            if driver
            else ""
        )
        if "truncated" in said
        else "The file is for another processor or system, or is a text that Git LFS or a mirror "
        "left in its place.",
        tuple(recipes),
        name="library-file-broken",
    )
