"""Explain a CUDA library that torch for R does not find: pip and its packages are no help there.

torch for R keeps its libraries in torch/lib of the R library; some bear a hash in their name
(https://github.com/mlverse/torch).
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_LANTERN = re.compile(r"((?:/[\w.@+-]{1,80}){1,20}/lib)/lib(?:lantern|torch\w{0,12})\.so")
_OF_R = re.compile(
    r"liblantern\.so|\binstall_torch\(\)|lazy loading failed for package|-library/\d\.\d/torch/"
)
_LIBRARY = re.compile(r"lib(?P<stem>cu\w{2,20}|nv\w{2,20})\.so\.(?P<number>\d{1,2})")
_LINES, _LONGEST = 2000, 600


def of_r(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain a CUDA library that torch for R asks for; None where no R speaks."""
    found = _LIBRARY.match(name)
    lines = [line[:_LONGEST] for line in case.log.lines[:_LINES]]
    if found is None or not any(_OF_R.search(line) for line in lines):
        return None
    stem, number = f"lib{found['stem']}", found["number"]
    hashed = re.compile(rf"\b{stem}-[0-9a-f]{{6,10}}\.so\.{number}")
    is_there = any(hashed.search(line) for line in lines)
    folder = next((one[1] for line in lines if (one := _LANTERN.search(line))), "")
    return explanation(
        event,
        f"torch for R does not find {name}"
        + (", which lies beside it under a name with a hash" if is_there else ""),
        "The libraries of CUDA are in torch/lib of the R library, some with a hash in their name, "
        "and R CMD check starts R without what loads them first. install_torch() once more brings "
        "the same files, and packages of pip are not looked at.",
        (
            _link(stem, number, folder, is_there=is_there),
            Recipe(
                title="Let the loader search the toolkit's folder, before R starts",
                use_if=(LINUX, f"CUDA {number} is installed in /usr/local/cuda-{number}"),
                steps=(
                    Action(
                        env={"LD_LIBRARY_PATH": f"/usr/local/cuda-{number}/lib64:$LD_LIBRARY_PATH"}
                    ),
                ),
            ),
            Recipe(
                title="Take the newest torch for R",
                steps=(
                    Action(run=("Rscript", "-e", 'install.packages("torch")')),
                    Action(run=("Rscript", "-e", "torch::install_torch(reinstall = TRUE)")),
                ),
            ),
        ),
        name="library-of-torch-for-r",
        contradicts=("cuda/library-not-found",),
    )


def _link(stem: str, number: str, folder: str, *, is_there: bool) -> Recipe:
    return Recipe(
        title=f"Give the file the name {stem}.so.{number} by a link",
        use_if=() if is_there else (LINUX, f"ls lists {stem}-….so.{number} in torch/lib"),
        note="Other libraries with a hash (ls *-????????.so*) want a link as well, if they are "
        "missed next.",
        steps=(
            Action(
                run=(
                    *("sh", "-c"),
                    f'cd "$1" && ln -s "$(ls {stem}-*.so.{number} | head -n 1)" {stem}.so.{number}',
                    *("sh", folder or "<folder>"),
                )
            ),
        ),
        ask={} if folder else {"folder": "the folder torch/lib in the R library (.libPaths())"},
    )
