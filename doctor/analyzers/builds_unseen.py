"""Explain builds by the step that failed, where the log lacks their own message."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers import offers
from doctor.analyzers.built_packages import Built
from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import by_system, command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "clang++")
_SCRIPT = re.compile(
    r"Getting requirements to build|egg_info|get_requires_for_build|metadata-generation-failed"
    r"|Preparing metadata"
)
_COMPILED = re.compile(r"[Ff]ailed building wheel|Building wheel for|[Cc]ould not build wheels")


def unknown_package(case: Case, event: Event, one: Built) -> Explanation:
    """Explain a package of which nothing is known, by the step of the build that failed."""
    near = case.log.lines[max(event.at - 4, 0) : event.at + 4]
    of_script = any(_SCRIPT.search(line[:1000]) for line in near) and not any(
        _COMPILED.search(line[:1000]) for line in near
    )
    own = f"{one.name}=={one.release}" if one.release else one.name
    ready = command(
        f"Take the newest release of {one.name} that has a wheel for this Python",
        *("{python.executable}", "-m", "pip", "install", "--only-binary", one.name, one.name),
        use_if=(f"{one.name} is on PyPI, and nothing needs {own}",),
        note="If pip then finds nothing, there is no wheel for this Python and system.",
    )
    unisolated = Recipe(
        title=f"Build {one.name} in the environment itself, which has what its script imports",
        use_if=("it builds on a package that is installed, such as torch or numpy",),
        steps=(
            Action(install=("setuptools<81", "wheel", "packaging", "ninja")),
            Action(
                install=("<source>",),
                options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH),
            ),
        ),
        ask={"source": f"what was to be installed: {own}, or its address or folder"},
    )
    older = offers.new_environment("3.11", use_if=("Python is newer than the package",))
    see = command(
        "See the build's own message",
        *("{python.executable}", "-m", "pip", "install", "-v", "<source>"),
        ask={"source": f"what was to be installed: {own}, or its address or folder"},
        note="The first line with error, or the last line of a traceback, names the reason.",
        look=True,
    )
    if of_script:
        title = f"The build script of {one.name} failed before anything was compiled"
        cause = (
            "pip runs it in a fresh environment. Mostly it imports a package that is not there, "
            "or one whose newest release lacks what it wants (setuptools), or it is older than "
            "this Python. Its own message is not in this log."
        )
        recipes: tuple[Recipe, ...] = (unisolated, ready, older, see)
    else:
        title = f"{one.name} has no wheel for this Python and system, and its build failed"
        cause = (
            "The installer compiled its sources: a compiler, a header or a library is missing, or "
            "they are older than this Python. The compiler's own message is not in this log."
        )
        recipes = (ready, older, see)
    found = explanation(event, title, cause, recipes, name="build-failed-unseen", exact=False)
    return msgspec.structs.replace(found, precision=Precision.GUESS)


def compiler(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of a C compiler that stopped, where the log lacks its message."""
    for event in case.of("exit-code", "exit-status", "command-failed"):
        name = _stopped(event.text[:1000])
        if not name or any(line.startswith("cc1") for line in case.log.lines[:5000]):
            continue
        yield explanation(
            event,
            f"{name} stopped while a package was compiled, and its message is not in the log",
            "Mostly a header is missing: Python's own, or that of a library which the package "
            "wraps. Otherwise the sources are older than this Python, which a newer release of "
            "the package, or a wheel, mends.",
            (
                by_system(
                    "Install the compiler's usual companions, then build again",
                    apt=("build-essential", "python3-dev"),
                    dnf=("gcc-c++", "python3-devel"),
                    note="For another Python than the system's its release stands in the name: "
                    "python3.11-dev. conda's Python has its headers.",
                ),
                command(
                    "See the compiler's message",
                    *("{python.executable}", "-m", "pip", "install", "-v", "<package>"),
                    ask={"package": "what was installed, or . in the folder of its setup.py"},
                    note="The first line with error: names the header or the line.",
                    look=True,
                ),
            ),
            name="compiler-stopped",
            exact=False,
        )
        return


def _stopped(text: str) -> str:
    """Return the compiler of `command '/usr/bin/gcc' failed with exit status 1`."""
    _, found, rest = text.partition("command ")
    program, _, end = rest.partition(" ")
    name = program.strip("'\"").rpartition("/")[2]
    bare = name.rstrip("0123456789.").rstrip("-")
    known = bare in _COMPILERS or bare.endswith(("-gcc", "-g++", "-cc", "-c++"))
    return name if found and known and end.startswith("failed with exit ") else ""
