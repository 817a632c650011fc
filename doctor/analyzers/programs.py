"""Explain programs that a build looks for and does not find.

| program | what is said of it |
| --- | --- |
| gcc, g++, cc, cc1plus, clang | no compiler: the packages of each system |
| cl, link.exe, vcvarsall.bat, a generator of Visual Studio | the build tools, or their prompt |
| nvcc, cicc, ptxas | no CUDA toolkit, or a part of it; CUDA_HOME |
| ninja, cmake, make, git, cargo, protoc, pkg-config, gfortran | the package that brings it |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, system_of
from doctor.analyzers.recipes import LINUX, WINDOWS, by_system, command
from doctor.analyzers.toolkit_recipes import into_environment
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Condition, Range, Recipe

_MOST = 2
_NEAR = 30
_MILD = {"interrupted", "own-assertion", "file-missing", "permission-denied", "program-missing"}
"""Kinds beside which a missing file counts as the failure."""
_BARE = re.compile(r"[\w+-]{1,40}")
_STARTS = re.compile(
    r"(?:check_\w{4,6}|run|Popen|call)\(\s{0,3}\[?['\"](?P<program>[\w.-]{1,40})[ '\"]"
)

_SOUND = re.compile(r"[/\\](?:ffmpeg[/\\]_run|whisper[/\\]audio|pydub[/\\]\w{3,20})\.py")
"""What starts ffmpeg, and names it in no frame."""


class _Program(NamedTuple):
    """What a program is, and the packages that bring it."""

    what: str
    apt: tuple[str, ...] = ()
    dnf: tuple[str, ...] = ()
    pip: str = ""
    conda: str = ""
    brew: str = ""
    winget: str = ""


_COMPILER = _Program(
    "the build tools (compilers, linker, make)",
    ("build-essential",),
    ("gcc", "gcc-c++", "make"),
    conda="gxx_linux-64",
)
_OF_COMPILER = ("gcc", "g++", "cc", "c++", "cc1plus", "cc1", "as", "ld", "make", "gmake")
_RUST = _Program("Rust's compiler and its package manager", conda="rust", brew="rust")
_PROGRAMS = {
    **dict.fromkeys(_OF_COMPILER, _COMPILER),
    **dict.fromkeys(("clang", "clang++"), _Program("clang", ("clang",), ("clang",), conda="clang")),
    **dict.fromkeys(("cargo", "rustc", "rustup"), _RUST),
    "ninja": _Program(
        "Ninja, which runs the compilers", ("ninja-build",), ("ninja-build",), "ninja"
    ),
    "Ninja": _Program(
        "Ninja, which runs the compilers", ("ninja-build",), ("ninja-build",), "ninja"
    ),
    "Unix Makefiles": _Program("make", ("make",), ("make",)),
    "cmake": _Program("CMake", ("cmake",), ("cmake",), "cmake", "cmake", "cmake"),
    "git": _Program("git", ("git",), ("git",), conda="git", brew="git", winget="Git.Git"),
    "pkg-config": _Program(
        "pkg-config", ("pkg-config",), ("pkgconf-pkg-config",), conda="pkg-config", brew="pkgconf"
    ),
    "protoc": _Program(
        "the compiler of Protocol Buffers",
        ("protobuf-compiler",),
        ("protobuf-compiler",),
        conda="libprotobuf",
        brew="protobuf",
    ),
    "gfortran": _Program("GNU Fortran", ("gfortran",), ("gcc-gfortran",), conda="gfortran"),
    "which": _Program("the program that finds programs", ("debianutils",), ("which",)),
    "ffmpeg": _Program(
        "the program that reads sound and films",
        ("ffmpeg",),
        ("ffmpeg-free",),
        conda="ffmpeg",
        brew="ffmpeg",
        winget="Gyan.FFmpeg",
    ),
    "hipcc": _Program("the compiler of ROCm", ("hipcc",), ("hipcc",)),
}
_WINDOWS = ("cl", "cl.exe", "link.exe", "nmake", "NMake Makefiles", "MinGW Makefiles")
_CUDA = ("nvcc", "nvcc.exe", "cicc", "ptxas")
_TOOLS = Recipe(
    title="Install the build tools of Visual Studio for C++",
    use_if=(WINDOWS,),
    note="Then build in the x64 Native Tools Command Prompt, which puts cl.exe on PATH.",
    steps=(
        Action(
            run=(
                *("winget", "install", "--exact", "--id", "Microsoft.VisualStudio.2022.BuildTools"),
                "--override",
                "--passive --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended",
            )
        ),
    ),
)
_MACOS_TOOLS = Recipe(
    title="Install Apple's command-line tools",
    steps=(Action(run=("xcode-select", "--install")),),
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each program that is missing, each once."""
    found: set[str] = set()
    failed = any(
        event.level is Level.FAILURE and not event.general and event.kind not in _MILD
        for event in case.events
    )
    for event in case.of("program-missing", "file-missing"):
        program: str | None
        if event.kind == "program-missing":
            program = _name(event)
        elif failed or is_folder(case, event):
            continue
        else:
            program = missing_program(case, event)
            if program == "":
                yield _nameless(event)
        if program in found or not program:
            continue
        found.add(program)
        yield _explain(case, event, program)
        if len(found) == _MOST:
            return


def is_folder(case: Case, event: Event) -> bool:
    """Return whether what is missing is a folder above one that was to be made."""
    before = " ".join(case.log.lines[max(0, event.at - 3) : event.at])
    return "makedirs" in before or "mkdir" in before


def missing_program(case: Case, event: Event) -> str | None:
    """Return the program that a missing file is; None for a file, empty where nothing names it."""
    file = event.objects.get("file", "")
    before = case.log.lines[max(0, event.at - _NEAR) : event.at]
    if not file:
        if "WinError 2]" not in event.text:
            return None
        if any(_SOUND.search(line[:400]) for line in before):
            return "ffmpeg"
        starts = (_STARTS.search(line[:400]) for line in reversed(before))
        return next((match["program"] for match in starts if match), "")
    name = file.removesuffix(".exe")
    started = any("subprocess" in line or "_execute_child" in line for line in before)
    is_known = name in _PROGRAMS or name in _CUDA or name in _WINDOWS
    return name if is_known or (started and _BARE.fullmatch(name)) else None


def _name(event: Event) -> str:
    objects = event.objects
    if "release" in objects or "script" in objects or "generator" in objects:
        return "cl"
    if language := objects.get("language"):
        return "gcc" if language == "C" else "g++"
    if "CMAKE_C" in event.text and "program" not in objects:
        return "g++"
    if "Rust compiler" in event.text:
        return "cargo"
    return objects.get("program", "")


def _explain(case: Case, event: Event, program: str) -> Explanation:
    if program in _CUDA:
        return _nvcc(case, event, program)
    if program in _WINDOWS:
        return _visual_studio(event, program)
    row = _PROGRAMS.get(program, _Program(program))
    system = system_of(case, event)
    path = event.objects.get("path", "")
    named = f" ({path})" if path and path != program else ""
    is_compiler = row is _COMPILER or program.startswith("clang")
    if is_compiler and system == "windows":
        return _visual_studio(event, program)
    cause = (
        f"{'The program' if program == 'ffmpeg' else 'A build'} calls {program}{named}, and it is "
        "not there. "
        + (
            "Slim images and fresh systems come without compilers. Packages with a wheel for this "
            "Python and system need none, so a missing wheel is often the first cause."
            if is_compiler
            else "It is neither on PATH nor in the environment of the build."
        )
        + (
            " The path comes from CC, CXX, CUDAHOSTCXX or a setting of the build, and leads to "
            "nothing."
            if path.startswith("/")
            else ""
        )
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The program {program} is not found"
            + (f": {row.what}" if row.what != program else ""),
            cause,
            recipes=_recipes(row, system) or _LOOK,
            name="program-missing",
            captures={"program": program},
        ),
    )


def _nameless(event: Event) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            "A program that was to be started is not found",
            "Windows does not say which. The frame above subprocess in the traceback shows the "
            "call: in a build it is git, ninja, nvcc or a compiler.",
            name="program-missing",
        ),
    )


_LOOK = (
    command("See whether it is found", "which", "{log.program}", use_if=(LINUX,), look=True),
    command(
        "See whether it is found, on Windows",
        "where.exe",
        "{log.program}",
        use_if=(WINDOWS,),
        look=True,
    ),
)


def _recipes(row: _Program, system: str) -> tuple[Recipe, ...]:
    recipes = []
    if (row.apt or row.dnf) and system in ("linux", ""):
        recipes.append(
            by_system(
                f"Install {row.what} with the system's package manager",
                apt=row.apt,
                dnf=row.dnf,
                note="In a Dockerfile this stands before the packages; apt-get update comes first.",
            )
        )
    if row.pip:
        recipes.append(
            Recipe(
                title=f"Install {row.pip} into this environment",
                steps=(Action(install=(row.pip,)),),
            )
        )
    if system == "macos":
        if row is _COMPILER:
            recipes.insert(0, _MACOS_TOOLS)
        elif row.brew:
            recipes.append(
                Recipe(
                    title=f"Install {row.what} with Homebrew",
                    steps=(Action(run=("brew", "install", row.brew)),),
                )
            )
    if system == "windows" and row.winget:
        recipes.append(
            command(
                f"Install {row.what}",
                *("winget", "install", "--exact", "--id", row.winget),
                note="Open a new window afterwards, so that PATH is read anew.",
            )
        )
    if row.conda:
        recipes.append(
            Recipe(
                title=f"Install {row.what} from conda-forge",
                use_if=(Condition(fact="python.conda", present=True),),
                steps=(
                    Action(
                        run=(
                            *("conda", "install", "-p", "{python.conda}", "-c", "conda-forge"),
                            row.conda,
                        )
                    ),
                ),
            )
        )
    return tuple(recipes)


def _nvcc(case: Case, event: Event, program: str) -> Explanation:
    cuda = fact_text(case, "torch.cuda_version")
    path = event.objects.get("path", "")
    wanted = f"CUDA {cuda}" if cuda else "the CUDA release that torch was built with"
    part = program in ("cicc", "ptxas")
    cause = (
        f"{program} is a part of the CUDA toolkit that nvcc calls: the toolkit is not whole, or "
        "its nvcc was copied or linked to another folder. "
        if part
        else "The driver, and torch's CUDA wheels, come without a compiler: sources with CUDA need "
        "the CUDA toolkit. "
    )
    if path.startswith("/"):
        cause += f"The build looked at {path}, which comes from CUDA_HOME or CUDACXX. "
    recipes = (
        Recipe(
            title="Name the toolkit that is installed",
            use_if=(f"a toolkit of {wanted} is installed", LINUX),
            steps=(Action(env={"CUDA_HOME": "<toolkit>", "PATH": "<toolkit>/bin:$PATH"}),),
            ask={"toolkit": "its folder, such as /usr/local/cuda-12.8"},
        ),
        *into_environment(path),
        Recipe(
            title="Install nvcc and the headers from conda",
            use_if=(
                Condition(fact="python.conda", present=True),
                Condition(fact="torch.cuda_version", range=Range(introduced="11.3", fixed="13.0")),
            ),
            steps=(
                Action(
                    run=(
                        *("conda", "install", "-p", "{python.conda}"),
                        *("-c", "nvidia/label/cuda-{torch.cuda_version}.0", "cuda-toolkit"),
                    )
                ),
            ),
        ),
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{program} is not found: the build needs the CUDA toolkit ({wanted})",
            cause + "A package with a wheel for this torch needs no toolkit.",
            recipes=recipes,
            name="nvcc-missing",
            captures={"program": program},
        ),
    )


def _visual_studio(event: Event, program: str) -> Explanation:
    what = "cl.exe" if program in ("cl", "cl.exe") else program
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{what} is not found: the C++ compiler of Visual Studio",
            "Sources are compiled on Windows with Visual C++. Either its build tools are not "
            "installed, or the shell is an ordinary one: only the prompt of Visual Studio has "
            "cl.exe on PATH. A wheel for this Python needs no compiler.",
            recipes=(
                _TOOLS,
                Recipe(
                    title="See whether this shell has the compiler",
                    steps=(Action(run=("where", "cl")),),
                    lasting=False,
                ),
            ),
            name="visual-cpp-missing",
            captures={"program": what},
        ),
    )
