"""Install what asks for a CUDA library in a build for the CUDA of torch."""

from __future__ import annotations

import re
from itertools import pairwise

from doctor.analyzers.case import Case
from doctor.model.issues import Action, Option, Recipe

_PACKAGE = re.compile(r"[A-Za-z][\w.-]{1,60}(?:==[\w.+-]{1,30})?")
_LINKS = ("-f", "--find-links", "--index-url", "--extra-index-url")
_HOSTS = tuple(
    f"https://{one}/"
    for one in (
        *("download.pytorch.org", "download.openmmlab.com", "data.pyg.org", "data.dgl.ai"),
        "flashinfer.ai",
    )
)
"""Whose pages have a folder for each CUDA release; a command names no other address of a log."""
_TAG = re.compile(r"/(cu\d{2,3})(?=/)")
_TORCH_TAG = re.compile(r"\btorch\b[^+]{0,40}\+(cu\d{2,3})\b")


def _asked_for_another(case: Case) -> tuple[Recipe, ...]:
    """Return the command of the log with the index of torch's own CUDA, where it named another."""
    lines = [line[:600] for line in case.log.lines[:2000]]
    tags = {one[1] for line in lines if (one := _TORCH_TAG.search(line)) and "install" not in line}
    asked = next((found for line in lines if (found := _asked(line)) is not None), None)
    if asked is None or len(tags) != 1:
        return ()
    requirement, option, url = asked
    here, named = tags.pop(), _TAG.search(url)
    package = requirement.partition("==")[0]
    if named is None or named[1] == here or package == "torch":
        return ()
    return (
        Recipe(
            title=f"Install {package} from the index for torch's CUDA: {here} in the place of "
            f"{named[1]}",
            steps=(
                Action(
                    run=(
                        *("{python.executable|python}", "-m", "pip", "install", "--no-cache-dir"),
                        *(
                            "--force-reinstall",
                            "--no-deps",
                            requirement,
                            option,
                            url.replace(f"/{named[1]}/", f"/{here}/"),
                        ),
                    )
                ),
            ),
        ),
    )


def _asked(line: str) -> tuple[str, str, str] | None:
    """Return the first package of an install command, and the index that it names."""
    words = line.replace("=https://", " https://").split()
    if "install" not in words:
        return None
    after = words[words.index("install") + 1 :]
    package = next((one for one in after if _PACKAGE.fullmatch(one)), "")
    for option, url in pairwise(after):
        if option in _LINKS and url.startswith(_HOSTS) and package:
            return package, option, url
    return None


def other_build(case: Case) -> tuple[Recipe, ...]:
    """Return how to install what asks for a library in a build for torch's CUDA."""
    if known := _asked_for_another(case):
        return known
    return (
        Recipe(
            title="Install the package that asks for it again, in a build for the CUDA of torch",
            note="Where it offers builds for several CUDA releases, its page names them.",
            steps=(Action(install=("<package>",), options=(Option.REINSTALL, Option.NO_DEPS)),),
            ask={"package": "the package whose file the traceback names last, with its release"},
        ),
    )
