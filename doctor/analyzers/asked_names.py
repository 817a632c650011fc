"""Explain what was handed to an installer in the place of a package that an index has."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import command
from doctor.analyzers.wheel_recipes import see_python
from doctor.events.normal import normal
from doctor.logs.package_names import KNOWN
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import wheels

_WORDS = frozenset({"install", "pip", "pip3", "python", "sudo", "upgrade"})
_OF_CONDA = {
    "cudatoolkit": "the CUDA runtime; torch's wheels bring their own",
    "cudatoolkit-dev": "the CUDA toolkit with nvcc",
    "pytorch-cuda": "a marker that chooses torch's CUDA in conda; wheels have it in their index",
    "pytorch-mutex": "a marker of conda's pytorch",
    "pytorch-gpu": "conda-forge's torch for CUDA; the wheel is called torch",
    "libstdcxx-ng": "the C++ library",
    "libgcc-ng": "the library of gcc",
    "cudatoolkit-feature": "a marker of conda",
    "gxx-linux-64": "the C++ compiler",
    "blas": "a marker that chooses the library of linear algebra",
    "mkl-fft": "a part of NumPy for MKL",
    "mkl-random": "a part of NumPy for MKL",
}
_INDEX = re.compile(r"(?:--index-url|--extra-index-url|-i)[ =]|Looking in indexes|--no-index")


def mistaken_name(event: Event, text: str, name: str) -> Explanation | None:
    """Explain a name that nobody would find on an index, whatever index it is."""
    asked = normal(text).text.strip()
    if _is_list(asked):
        return explanation(
            event,
            f"{asked} is a list of requirements: -r is missing before it",
            "Without -r the installer looks for a package of that name, and no index has one.",
            (
                command(
                    "Hand it over as a list",
                    *("{python.executable}", "-m", "pip", "install", "-r", asked),
                    note="Run it in the folder that holds the file.",
                ),
            ),
            name="list-without-option",
        )
    if name in _WORDS:
        return explanation(
            event,
            f"The installer takes the word {name} of the command for a package",
            "The command holds it twice, or a second command was pasted behind the first one "
            "without a new line.",
            (
                Recipe(
                    title="Run it again with the names of the packages alone",
                    steps=(Action(install=("<package>",)),),
                    ask={"package": "the packages that are wanted, with blanks between them"},
                ),
            ),
            name="word-taken-for-a-package",
        )
    if name in _OF_CONDA:
        return explanation(
            event,
            f"{name} is a package of conda, and PyPI has none of that name",
            f"It is {_OF_CONDA[name]}. Take it out of what pip installs.",
            (
                command(
                    "Install it with conda, where the program needs it",
                    *("conda", "install", "-c", "conda-forge", name),
                    use_if=("this is a conda environment",),
                ),
            ),
            name="package-of-conda",
        )
    return None


def _is_list(text: str) -> bool:
    """Say whether a text is the name of a file with requirements."""
    file = text.replace("\\", "/").rpartition("/")[2].lower()
    if " " in text or not file[:-4].strip("."):
        return False
    named = "requirement" in file or "constraint" in file
    return file.endswith(".txt") or (named and file.endswith((".pip", ".in", ".lock")))


def known_package(case: Case, event: Event, text: str, name: str) -> Explanation | None:
    """Explain a package that PyPI has, and of which the installer saw no file at all."""
    if name not in KNOWN and not wheels.is_covered(name):
        return None
    if any(_INDEX.search(line[:1000]) for line in case.log.lines[:2000]):
        return None  # an index was chosen, and may lack it
    requirement = text.partition(" ")[0]
    plain = re.fullmatch(
        r"[A-Za-z][\w.-]{0,79}(?:\[[\w,-]{1,40}\])?(?:[=<>~!]=?[\w.*+!,<>=~]{1,60})?",
        requirement,
    )
    wanted = requirement if plain else name
    return explanation(
        event,
        f"The installer saw no release of {name}, which PyPI has",
        "Either the index that pip is configured for is a mirror that lacks it, or does not "
        "answer; or every release was left out because none fits this Python: it is newer or "
        "older than the wheels, or of 32 bits.",
        (
            Recipe(
                title="Ask PyPI itself, with a pip of today",
                steps=(
                    Action(install=("pip",), options=(Option.UPGRADE,)),
                    # Without the settings that name another index.
                    Action(
                        run=("{python.executable}", "-m", "pip", "--isolated", "install", wanted)
                    ),
                ),
            ),
            see_python(),
        ),
        name="package-not-seen",
        exact=False,
    )
