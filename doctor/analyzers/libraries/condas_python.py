"""A compiled module of conda's Python on Windows that does not find its own library."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Recipe

_FRAMES = 24
_OF_CONDA = re.compile(r"site-packages[/\\]conda[/\\]")
_OF_PYTHON = {
    "_ctypes": "libffi (ffi-8.dll, ffi-7.dll or ffi.dll)",
    "_ssl": "OpenSSL (libssl and libcrypto)",
    "_hashlib": "OpenSSL (libcrypto)",
    "_sqlite3": "SQLite (sqlite3.dll)",
    "_bz2": "bzip2 (libbz2.dll)",
    "_lzma": "xz (liblzma.dll)",
    "pyexpat": "expat (libexpat.dll)",
}
"""Compiled modules of Python itself, and the library of conda that each of them loads."""


_FILES = {
    "libffi": "ffi",
    "openssl": "ssl",
    "sqlite": "sqlite3",
    "bzip2": "bz2",
    "xz": "lzma",
    "expat": "expat",
}
"""What the names of the files of each library hold."""


def of_condas_python(case: Case, event: Event, module: str) -> Explanation | None:
    """Explain a module of conda's Python whose library an update took away or exchanged.

    None for other modules, and where no conda shows.
    """
    library = _OF_PYTHON.get(module)
    shown = value_of(case.facts, "python.conda")
    if library is None or not case.context.conda:
        return None
    lines = case.log.lines[max(event.at - _FRAMES, 0) : event.at + 1]
    is_conda = any(_OF_CONDA.search(line) for line in lines)
    prefix = str(shown) if isinstance(shown, str) and ":\\" in shown else "<prefix>"
    package = library.partition(" (")[0].lower()
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The Python of conda does not find the library that {module} needs: {library}",
            "An update of the environment took the library away, or put one of another release or "
            "channel in its place. It lies in the folder Library\\bin of the environment. The "
            "Visual C++ runtime does not bring it, and conda cannot mend it where conda itself "
            "runs on this Python.",
            recipes=_recipes(prefix, package, is_conda=is_conda),
            name="dll-not-found",
            captures={"module": module},
        ),
    )


def _recipes(prefix: str, package: str, *, is_conda: bool) -> tuple[Recipe, ...]:
    """Return what mends the environment; conda's own one has to be mended from outside."""
    again = Recipe(
        title="Install Python and this library again, from outside of the broken environment",
        steps=(
            Action(
                run=(
                    *("micromamba", "install", "-y", "--prefix", prefix, "--force-reinstall"),
                    *("python", package),
                )
            ),
        ),
        ask={} if prefix != "<prefix>" else {"prefix": "the folder of Anaconda or Miniconda"},
        note="micromamba is one file and needs no Python: mamba.readthedocs.io has it. Take the "
        "channel that the environment has, and do not mix defaults with conda-forge.",
    )
    anew = Recipe(
        title="Install Miniforge anew, and leave its base environment as it is",
        use_if=("this is the base environment, and conda itself no longer starts",),
        steps=(Action(run=("winget", "install", "--exact", "--id", "CondaForge.Miniforge3")),),
        note="The environments below envs can be kept: copy that folder before.",
    )
    look = Recipe(
        title="See which copies of the library are there",
        steps=(
            Action(
                run=(
                    *("cmd", "/c", "dir", "/s", "/b"),
                    *(
                        f"{prefix}\\Library\\bin\\*{_FILES[package]}*.dll",
                        f"{prefix}\\DLLs\\*{_FILES[package]}*.dll",
                    ),
                )
            ),
        ),
        ask={} if prefix != "<prefix>" else {"prefix": "the folder of Anaconda or Miniconda"},
        lasting=False,
    )
    return (again, anew if is_conda else look)
