"""Headers that belong to no known library: the package's own, or of a submodule."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.machine import lines_around
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

SUBMODULES = Recipe(
    title="Fetch the submodules of the checkout",
    use_if=("the package is built from a git checkout",),
    steps=(Action(run=("git", "submodule", "update", "--init", "--recursive")),),
)
_FROM_INDEX = re.compile(r"Building wheel for [\w.-]{1,80} \(|pip-install-\w{6,12}[/\\]|\.tar\.gz")
_REPOSITORY = Recipe(
    title="Install it from its repository, which holds all files",
    note="An archive of sources on an index may lack headers that its builder forgot to list.",
    steps=(Action(install=("git+<repository>",), options=(Option.HOLD_TORCH,)),),
    ask={"repository": "the address of the project's repository, https://…"},
)
_IN_SUBMODULE = re.compile(
    r"(?:third_?party|external|submodules|3rdparty|extern|deps|cutlass)[/\\]"
)


def of_sources(name: str, *, checkout: bool = False) -> tuple[Recipe, ...]:
    """Return what to do about a file of sources that a build names and does not find."""
    newer = Recipe(
        title="Install the newest release, whose archive may have the file",
        use_if=("pip builds the package from its source archive",),
        note="pip takes an archive where no wheel fits. Where the newest lacks the file too, the "
        "repository has it: pip install git+<address>.",
        steps=(Action(install=("<package>",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ask={"package": "the package that is being built"},
    )
    if _IN_SUBMODULE.search(name):
        return (SUBMODULES, newer)
    if name.endswith((".c", ".cpp")) and checkout:
        return (_cythonized(name), SUBMODULES, newer)
    return (newer, SUBMODULES)


def not_compiled(event: Event, name: str) -> Explanation:
    """Explain an object that the linker is handed and that no compiler has written."""
    file = name.rpartition("/")[2]
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The linker is handed {file}, which no compiler has written",
            "The step before compiled nothing there: what an earlier, broken build left behind "
            "counts as done, ninja is missing, or the paths of the sources lead out of the folder.",
            recipes=(
                Recipe(
                    title="Remove what the earlier build left, and build once more with pip and "
                    "ninja",
                    use_if=("the current folder is that of setup.py",),
                    steps=(
                        Action(run=("git", "clean", "-fdX", "build")),
                        Action(install=("ninja",)),
                        Action(install=(".",), options=(Option.NO_BUILD_ISOLATION,)),
                    ),
                    note="The first error of a compiler above the linker's lines, where there is "
                    "one, is the cause.",
                ),
                SUBMODULES,
            ),
            name="object-not-compiled",
        ),
    )


def _cythonized(name: str) -> Recipe:
    """Return the recipe that makes the C file of a Cython source.

    setuptools asks for the C file of a .pyx where it cannot import Cython.
    """
    stem = name.rpartition(".")[0]
    safe = (
        stem if re.fullmatch(r"[\w./-]{1,120}", stem) and not stem.startswith("-") else "<source>"
    )
    cython = ["cython", *(["--cplus"] if name.endswith(".cpp") else []), f"{safe}.pyx"]
    return Recipe(
        title=f"Install Cython for this Python, and let it write {name.rpartition('/')[2]}",
        use_if=(f"{stem.rpartition('/')[2]}.pyx lies in that folder",),
        steps=(
            Action(install=("cython",)),
            Action(run=("{python.executable}", "-m", *cython)),
        ),
        note="Then build again. Without Cython setuptools takes the .pyx for a C file.",
        ask={"source": "the path of the .pyx file"} if safe == "<source>" else {},
    )


def unknown_header(case: Case, event: Event, name: str) -> Explanation:
    """Explain a header that no table holds."""
    inside = "/" in name
    own = event.text.count('"') > 0 or name.endswith((".cuh", ".inl"))
    archive = any(_FROM_INDEX.search(line[:500]) for line in lines_around(case, event, 60, 0))
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} is not found: the compiler stops at the first header that is missing",
            "The header belongs to no library that doctor knows: it is the package's own, of a "
            "submodule, or of a library whose package for developers is not installed. "
            + (
                f"Its first folder, {name.partition('/')[0]}, mostly names the library."
                if inside
                else ""
            ),
            recipes=(_REPOSITORY,) if archive and own else (SUBMODULES,),
            name="header-missing",
            captures={"header": name},
        ),
    )
