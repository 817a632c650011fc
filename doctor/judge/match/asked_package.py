"""Fill in the package that a fix asks for, where the log names its file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from doctor.analyzers.inventory import NAME, is_library, package_of
from doctor.model.findings import Detection, Evidence
from doctor.model.issues import Recipe
from doctor.model.observation import Log
from doctor.timelines import names

_BEFORE, _AFTER = 40, 40
"""Lines around a message in which the traceback that belongs to it is looked for."""
_LONGEST = 1000
_ASKED = re.compile(
    r"^the package (?:of (?:the|this) (?:file|module)|whose (?:file|import)|that asks|of the "
    r"extension)"
)
_PATH = re.compile(
    r"(?:[A-Za-z]:)?[/\\~][^\s\"'():,]{0,300}[/\\](?:site|dist)-packages[/\\][^\s\"'():,]{1,300}"
)
_FRAME = re.compile(r"File \"([^\"]{1,500})\", line \d{1,7}")
_SHELLS = frozenset(
    {"IPython", "traitlets", "ipykernel", "jupyter_client", "jupyter_core", "notebook"}
    | {"jupyterlab", "tornado", "ptpython", "bpython", "streamlit", "debugpy", "pluggy"}
)
"""Packages that run the code of others."""
_IMPORTED = re.compile(r"(?:>>> ?|In \[\d{1,5}\]: ?)?(?:import|from) (?P<name>[A-Za-z_]\w{0,60})")
_WITH_NUMPY = {
    "bottleneck": "bottleneck",
    "cartopy": "Cartopy",
    "cftime": "cftime",
    "fastparquet": "fastparquet",
    "healpy": "healpy",
    "netCDF4": "netCDF4",
    "pywt": "PyWavelets",
    "rasterio": "rasterio",
}
"""Modules that are compiled with numpy and no timeline holds, and their distributions."""
_SCRIPT = re.compile(
    r"[/\\](?:bin|Scripts)[/\\](?:ipython|jupyter|bpython|ptpython)\d?[\w.-]{0,20}$"
)
_TYPED = 12
"""Lines above a message in which the statement stands that a user typed."""
_CALLER = "the package whose file"
NEVER = frozenset({"torch", "numpy", "pip", "setuptools", "wheel", "_pytest", "importlib"})
"""Whose frames stand in the traceback of another package's failure."""


def with_package(found: Detection, log: Log) -> Detection:
    """Return a finding whose fixes name the package, where they ask for it and the log shows it."""
    asking = [one for one in found.recipes if _ASKED.match(one.ask.get("package", ""))]
    if not asking:
        return found
    if not (name := _package(found, log)):
        return _own_code_first(found, log)
    recipes = [_filled(one, name) if one in asking else one for one in found.recipes]
    if any(_calls(evidence, log) for evidence in found.evidence):
        # What lies in a package is not the user's to change: its newer release comes first.
        filled = [one for one, old in zip(recipes, found.recipes, strict=True) if old in asking]
        others = [one for one in recipes if one not in filled]
        if others and all(one.snippet is not None for one in others):
            recipes = [*filled, *others]
    return msgspec.structs.replace(found, recipes=tuple(recipes))


def _own_code_first(found: Detection, log: Log) -> Detection:
    """Return a finding with the fixes of a package last, where the program's own file calls."""
    last = [one for one in found.recipes if one.ask.get("package", "").startswith(_CALLER)]
    if not last or not any(_calls_itself(evidence, log) for evidence in found.evidence):
        return found
    others = [one for one in found.recipes if one not in last]
    return msgspec.structs.replace(found, recipes=(*others, *last))


def _calls_itself(evidence: Evidence, log: Log) -> bool:
    """Say whether the innermost frame outside torch and Python is no installed package's."""
    return _innermost(evidence, log) == ""


def _calls(evidence: Evidence, log: Log) -> bool:
    """Say whether the innermost frame outside torch and Python is an installed package's."""
    return bool(_innermost(evidence, log))


def _innermost(evidence: Evidence, log: Log) -> str | None:
    """Return the package of the innermost frame outside torch and Python; "" is other code."""
    if evidence.source != log.source:
        return None
    for text in _texts("", evidence.line, log):
        frame = _FRAME.search(text[:_LONGEST])
        if frame and package_of(frame[1]) is None and is_library(frame[1]):
            continue
        if frame and package_of(frame[1]) not in NEVER:
            return package_of(frame[1]) or ""
    return None


def _package(found: Detection, log: Log) -> str:
    """Return the distribution whose file a finding speaks of; empty where that is open."""
    for evidence in found.evidence:
        if evidence.source != log.source:
            continue
        for text in _texts(evidence.text, evidence.line, log):
            paths = _PATH.findall(text[:_LONGEST])
            for path in reversed(paths):
                name = package_of(path)
                if name and name not in NEVER | _SHELLS:
                    return _distribution(name, log)
            frame = None if paths else _FRAME.search(text[:_LONGEST])
            if frame and not is_library(frame[1]) and not _SCRIPT.search(frame[1]):
                return ""  # the program's own file is the innermost
        if typed := _typed(evidence.line, log):
            return _WITH_NUMPY.get(typed) or _distribution(typed, log)
    return ""


def _typed(line: int | None, log: Log) -> str:
    """Return the module that a user imported in a shell, in one of the lines above a message."""
    if line is None:
        return ""
    at = bisect_left(log.numbers, line) if log.numbers else line - 1
    above = log.lines[max(at - _TYPED, 0) : max(at, 0)]
    found = (_IMPORTED.match(one[:_LONGEST].lstrip()) for one in reversed(above))
    return next((one["name"] for one in found if one and one["name"] not in NEVER), "")


def _distribution(name: str, log: Log) -> str:
    """Return the distribution of a module; of several that bring it, the only one in the log."""
    several = [one for one in names.distributions_of(name) if NAME.fullmatch(one)]
    shown = [one for one in several if any(one in line for line in log.lines)]
    if len(shown) == 1:
        return shown[0]
    known = names.distribution_of(name)
    return known if known and NAME.fullmatch(known) else ""


def _texts(text: str, line: int | None, log: Log) -> Iterator[str]:
    """Yield the message, then the lines of its traceback, the innermost first."""
    yield text
    if line is None:
        return
    at = bisect_left(log.numbers, line) if log.numbers else line - 1
    if not 0 <= at < len(log.lines):
        return
    yield log.lines[at]
    if any('File "' in one for one in log.lines[max(at - 3, 0) : at]):
        yield from reversed(log.lines[max(at - _BEFORE, 0) : at])
        return
    below = log.lines[at + 1 : at + 1 + _AFTER]
    if any("Traceback (most recent call last)" in one for one in below[:12]):
        yield from reversed(below)


def _filled(recipe: Recipe, name: str) -> Recipe:
    """Return a recipe with a package; its release is still asked for where that belongs to it."""
    wants_release = "release" in recipe.ask["package"]
    ask = {key: text for key, text in recipe.ask.items() if key != "package"}
    text = name
    if wants_release:
        text = f"{name}==<release>"
        ask["release"] = "the release that was built for the torch that is installed"
    steps = tuple(
        msgspec.structs.replace(
            step, install=tuple(one.replace("<package>", text) for one in step.install)
        )
        for step in recipe.steps
    )
    if any("<package>" in part for step in steps for part in (*step.run, step.title)):
        return recipe
    return msgspec.structs.replace(recipe, steps=steps, ask=ask)
