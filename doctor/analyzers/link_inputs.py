"""Explain what a linker is handed and cannot take: code at fixed addresses, or a folder.

| event | what is said of it |
| --- | --- |
| not-position-independent | which object, and the variable that its compiler reads |
| folder-linked | the folder, and that -L is missing in front of it |

nvcc reads NVCC_APPEND_FLAGS
(https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#nvcc-environment-variables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.link_recipes import is_rust
from doctor.analyzers.recipes import code, command, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_OF_PYTHON = re.compile(r"libpython\d\.\d{1,2}m?\.a")
_OF_SYSTEM = re.compile(r"^(?:/usr/(?:local/)?lib(?:64)?/|/lib/|/opt/)")
_CUDA = re.compile(
    r"cuda|\bnvcc\b|\.cu\b|tmpxft|flash|kernels?\b|cutlass|-l(?:cudart|cublas)", re.IGNORECASE
)
_CMAKE = re.compile(r"\bcmake\b|CMakeFiles|\bninja\b")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first object that the link refuses, or of a folder in it."""
    for event in case.of("not-position-independent"):
        yield _fixed(case, event)
        break
    for event in case.of("folder-linked"):
        yield _folder(event)
        break


def _fixed(case: Case, event: Event) -> Explanation:
    file, made = event.objects["file"], event.objects["made"]
    name = file.partition("(")[0].rpartition("/")[2]
    what = "a shared library" if made == "shared object" else "a program"
    if _OF_PYTHON.fullmatch(name):
        return _static_python(event, name)
    cuda = bool(_CUDA.search(file) or _CUDA.search(event.text[:2000]))
    return explanation(
        event,
        f"{name} was compiled without -fPIC, and {what} is linked from it",
        f"Linux loads {what} at any address, so that all code in it has to be compiled for that. "
        + (
            "nvcc hands -fPIC to the host compiler only where it is told to. "
            if cuda
            else "gcc of most distributions does it for programs alone. "
        )
        + "What was compiled before has to be removed, for a build takes it as done.",
        _of_system(name) if _OF_SYSTEM.match(file) else _recipes(case, event, made, cuda=cuda),
        name="not-position-independent",
    )


def _recipes(case: Case, event: Event, made: str, *, cuda: bool) -> tuple[Recipe, ...]:
    values = {"CFLAGS": "-fPIC", "CXXFLAGS": "-fPIC"}
    if cuda:
        values = {"NVCC_APPEND_FLAGS": "-Xcompiler=-fPIC", **values}
    if is_rust(case, event):
        again = Recipe(
            title="Compile it with -fPIC, from the beginning",
            steps=(Action(run=("cargo", "clean")), Action(env=values)),
            note="Then the same cargo command in this shell. A newer release of the crate may "
            "hand the flag over itself.",
        )
        if made == "shared object":
            return (again,)
        fixed = variables(
            "Link the program for a fixed address, which takes such code",
            {"RUSTFLAGS": "-C relocation-model=static"},
            note="Then the same cargo command in this shell.",
        )
        return again, fixed
    if any(_CMAKE.search(line[:2000]) for line in case.log.lines[-2000:]):
        by_cmake = command(
            "Configure for code at any address, in an empty folder",
            *("cmake", "-B", "build-anew", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"),
            note="Add the other options of the first configuration.",
        )
        return by_cmake, variables(
            "Hand -fPIC to every compiler, and build from the beginning", values
        )
    return (
        variables(
            "Hand -fPIC to every compiler, and build from the beginning",
            values,
            note="Remove the objects first (make clean, or the folder build). A Makefile with "
            "flags of its own takes -fPIC there, and -Xcompiler -fPIC for nvcc.",
        ),
    )


def _of_system(name: str) -> tuple[Recipe, ...]:
    return (
        code(
            f"Link the shared library in the place of {name}",
            "the link command, or the library's variable in CMakeCache.txt",
            re.sub(r"\.a$", ".so", name),
            before=name,
            note="The package for developers mostly has both. A static library that you built "
            "yourself is built again with -fPIC (configure: --with-pic, or CFLAGS=-fPIC).",
        ),
    )


def _static_python(event: Event, name: str) -> Explanation:
    return explanation(
        event,
        f"{name} cannot go into a shared library: this Python was built without its own",
        "A module of Python needs no libpython at all, and a program that holds Python needs the "
        "shared one. A Python that pyenv or make installed has the static one alone, unless it was "
        "asked for the other.",
        (
            command(
                "Build this Python again with its shared library",
                *("pyenv", "install", "--force", "<release>"),
                env={"PYTHON_CONFIGURE_OPTS": "--enable-shared"},
                use_if=("pyenv installed this Python",),
                ask={"release": "the release of this Python, such as 3.10.14"},
            ),
            command(
                "Make an environment with a Python that has the shared library",
                *("uv", "venv", "--managed-python", ".venv-shared"),
                note="conda's Python has it too. Configure again in an empty folder there.",
            ),
        ),
        name="not-position-independent",
    )


def _folder(event: Event) -> Explanation:
    folder = event.objects["folder"]
    return explanation(
        event,
        f"The linker is handed the folder {folder} as if it were a library",
        "-L has to stand in front of a folder. A variable of the shell or an option of the build "
        "holds the folder alone, or a list of folders with blanks between.",
        (
            variables(
                "Give the folder with -L in front",
                {"LDFLAGS": f"-L{folder}", "LIBRARY_PATH": folder},
                note="Set it where LDFLAGS or CUDA's folders are set now, and build again.",
            ),
            command(
                "See which variable holds the folder",
                *("sh", "-c", f"env | grep -F -- '{folder}'")
                if re.fullmatch(r"[\w./+-]{1,300}", folder)
                else ("env",),
                look=True,
            ),
        ),
        name="folder-linked",
        contradicts=("python/package-build-failed",),
    )
