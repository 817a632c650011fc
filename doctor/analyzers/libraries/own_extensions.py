"""A compiled module of the program itself that asks for a CUDA library of another release.

The last frame of the traceback imports it, from a file that no installer wrote: whoever cloned the
program compiled the module, or got it compiled with the rest.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.analyzers.libraries.frameworks import for_installed_cuda
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_ABOVE = 12
_FRAME = re.compile(r"^\s{0,8}File \"(?P<path>[^\"]{1,400})\", line \d{1,7}, in ")
_IMPORT = re.compile(
    r"^\s{0,12}(?:from (?P<from>[\w.]{1,120}) import (?P<names>[\w, *]{1,120})"
    r"|import (?P<module>[\w.]{1,120}))"
)
_INSTALLED = re.compile(r"(?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|<frozen|[/\\]Lib[/\\]")
_CUDA_HERE = re.compile(
    r"(?i)\bcuda(?: toolkit| version)?[ :=]{1,3}(?:is )?v?(?P<release>\d{1,2}\.\d)\b"
)


def compiled_here(case: Case, event: Event, generation: str) -> tuple[Recipe, ...]:
    """Return how to compile the module that was imported last, or what TensorFlow's user needs."""
    lines = [line[:600] for line in case.log.lines[max(event.at - _ABOVE, 0) : event.at]]
    path, module = "", ""
    for line in lines:
        if frame := _FRAME.match(line):
            path, module = frame["path"], ""
        elif path and (found := _IMPORT.match(line)):
            module = found["module"] or found["from"] or ""
    if module and path and not _INSTALLED.search(path):
        return (_again(module, path),)
    if path or any("Traceback" in line for line in lines):
        return ()
    return for_installed_cuda(generation, _stated(case))


def _stated(case: Case) -> str:
    """Return the CUDA release that the writer of a log says to have."""
    for line in case.log.lines[:400]:
        if "cannot open" not in line and (found := _CUDA_HERE.search(line[:400])):
            return found["release"]
    return ""


def _again(module: str, path: str) -> Recipe:
    name = module.rpartition(".")[2]
    setup = ("{python.executable|python}", "setup.py")
    folder = re.split(r"[/\\]", path)[-2:-1]
    return Recipe(
        title=f"Compile {name} again on this machine, where it was compiled for that CUDA",
        use_if=(
            f"{name} is a part of the program, compiled by its setup.py",
            "the CUDA toolkit is of torch's release",
        ),
        steps=(
            Action(run=(*setup, "clean", "--all")),
            Action(run=(*setup, "build_ext", "--inplace", "--force")),
        ),
        note=f"Run it in the folder with the setup.py of {name}"
        + (f", in or near {folder[0]}" if folder and folder[0] else "")
        + ". A project with make.sh or a Makefile: remove the old .so files and its folder build, "
        "then start that. A module that its setup.py installed gets install or develop in the "
        "place of build_ext.",
    )
