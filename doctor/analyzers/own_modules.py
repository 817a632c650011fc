"""Explain a module that no known distribution brings: mostly a folder of the program itself."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.inventory import frames, is_library
from doctor.analyzers.recipes import variables
from doctor.analyzers.setup_scripts import beside_setup
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Confidence, Severity

_OWN = frozenset(
    {"utils", "models", "model", "src", "lib", "modules", "tools", "config", "configs", "data"}
    | {"train", "common", "core", "scripts", "networks", "ldm", "options", "dataset", "nodes"}
)
"""Folders of programs, which are found only from the folder above them."""
_ADDON = re.compile(r"[/\\](?:custom_nodes|extensions)[/\\][\w.-]{1,80}(?=[/\\])")
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[\w.\\/ -]{1,250}")


def addon_folder(case: Case, event: Event) -> str:
    """Return the folder of the add-on whose frame is the last one of a traceback."""
    for line in reversed(case.log.lines[max(event.at - 12, 0) : event.at + 1]):
        _, found, after = line[:400].partition('File "')
        place = _ADDON.search(path := after.partition('"')[0]) if found else None
        if place is not None and _PATH.fullmatch(folder := path[: place.end()]):
            return folder
    return ""


def _is_above(case: Case, event: Event, package: str) -> bool:
    """Say whether a file of the traceback lies in a folder of that name: the program's own."""
    folder = re.compile(rf"[/\\]{re.escape(package)}[/\\]")
    return any(folder.search(path) and not is_library(path) for path in frames(case, event))


def unknown_module(case: Case, event: Event, package: str) -> Explanation:
    """Explain a module that no known distribution brings."""
    own = package in _OWN or _is_above(case, event, package)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"This Python has no module {package}",
            f"{package} is mostly a folder of the program itself, which is found when the program "
            f"is started in the folder that holds it."
            if own
            else f"It is not installed for the Python that runs the program, or it is a module of "
            f"the program that lies in another folder. The distribution that brings it may have "
            f"another name than {package}.",
            recipes=beside_setup(case, event)
            or _look_for(package, own=own, addon=addon_folder(case, event)),
            # Mostly it is a module of the program, which no installation brings.
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
            name="module-not-installed",
        ),
    )


def _look_for(package: str, *, own: bool, addon: str) -> tuple[Recipe, ...]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", package):
        return ()
    if own:
        return (
            variables(
                f"Let Python search the folder that holds {package}",
                {"PYTHONPATH": "<folder>"},
                ask={"folder": f"the folder of the program in which {package} lies"},
                note="Start the program from there too: python -m with dots in the place of the "
                "slashes finds its own modules without the variable. Where no such folder lies in "
                "the program, a step of its README that fetches it was left out.",
            ),
        )
    if addon:
        file = addon + ("\\" if "\\" in addon else "/") + "requirements.txt"
        return (
            Recipe(
                title="Install what the add-on lists, into the Python of the program",
                steps=(Action(run=("{python.executable}", "-m", "pip", "install", "-r", file)),),
                note="pip in a console of its own mostly belongs to another Python.",
            ),
        )
    return (
        Recipe(
            title="Install what the program lists as its requirements",
            use_if=("the program has a requirements.txt",),
            steps=(Action(run=("{python.executable}", "-m", "pip", "install", "-r", "<file>")),),
            ask={"file": "the path of requirements.txt in the program's folder"},
        ),
    )
