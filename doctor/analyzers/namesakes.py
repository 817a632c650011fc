"""Explain a package of the index whose name is that of another project.

PyPI: apex 0.9.10dev is a toolkit for web pages, clip 0.2.0 a manager of the clipboard, and fitz
0.0.1.dev2 belongs to another project than PyMuPDF, whose module has that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.machine import is_command
from doctor.analyzers.recipes import code
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Option, Recipe

_ASKED = re.compile(
    r"^Collecting (?P<name>apex|clip|fitz)(?:[=<>~!]\S{1,40})?(?: \(from.{0,200})?$"
)


class _Namesake(msgspec.Struct, frozen=True):
    """What the index has under a name, what is meant, and where that is."""

    there: str
    meant: str
    recipes: tuple[Recipe, ...]


def _install(title: str, name: str, *, note: str = "", isolated: bool = True) -> Recipe:
    options = (Option.HOLD_TORCH,) if isolated else (Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH)
    return Recipe(title=title, note=note, steps=(Action(install=(name,), options=options),))


_NAMESAKES = {
    "apex": _Namesake(
        "an old toolkit for web pages",
        "NVIDIA's Apex",
        (
            code(
                "Take torch's own mixed precision in the place of apex.amp",
                "the program",
                "from torch import amp",
                before="from apex import amp",
                note="torch.autocast and torch.amp.GradScaler do what apex.amp did, and need no "
                "package.",
            ),
            _install(
                "Build NVIDIA's Apex from its repository, with the torch that is here",
                "git+https://github.com/NVIDIA/apex.git",
                note="Its compiled parts (FusedAdam, FusedLayerNorm) need nvcc and the options "
                "that its README names.",
                isolated=False,
            ),
        ),
    ),
    "clip": _Namesake(
        "a manager of the clipboard",
        "OpenAI's CLIP",
        (
            _install(
                "Install OpenAI's CLIP from its repository",
                "git+https://github.com/openai/CLIP.git",
            ),
        ),
    ),
    "fitz": _Namesake(
        "a package of another project", "PyMuPDF", (_install("Install PyMuPDF", "pymupdf"),)
    ),
}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what was installed in the place of what was meant, at each failure of it."""
    for at, line in enumerate(case.log.lines[:20_000]):
        found = _ASKED.match(line[:300]) if line.startswith("Collecting ") else None
        if found is None:
            continue
        name = found["name"]
        yield from (_explanation(event, name) for event in _failures(case, at, name))
        return


def _failures(case: Case, at: int, name: str) -> Iterator[Event]:
    """Yield the failures of the command that fetches a package, and of its import."""
    end = next(
        (row for row in range(at + 1, len(case.log.lines)) if is_command(case.log.lines[row])),
        len(case.log.lines),
    )
    installed = any(f"Successfully installed {name}" in line for line in case.log.lines[at:end])
    for event in case.events:
        module = event.objects.get("module", "").partition(".")[0]
        if event.level is not Level.FAILURE or event.at < at:
            continue
        if (event.at < end and not installed) or module == name:
            yield event


def _explanation(event: Event, name: str) -> Explanation:
    known = _NAMESAKES[name]
    return explanation(
        event,
        f"{name} on the package index is {known.there}, not {known.meant}",
        f"The name belongs to another project there. Mending its build, or an older Python, leads "
        f"nowhere: what the program imports is in {known.meant} alone.",
        known.recipes,
        name="namesake",
        contradicts=("python/package-build-failed", "python/*-build-*"),
    )
