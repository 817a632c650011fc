"""Explain locks of uv that fail for a Python or a system which nobody here uses.

uv solves for each Python that `requires-python` allows and for each system, and names the one that
failed (https://docs.astral.sh/uv/concepts/resolution/#universal-resolution).

| uv says | exact |
| --- | --- |
| a package wants a newer Python than the oldest one allowed | the bound that fits |
| no wheel for a Python newer than the active one | the upper bound |
| the failure is for another system | the setting that names the own system |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Recipe

_BELOW = 30
_LONGEST = 1000
_SPLIT = re.compile(r"for split \((?:markers: )?([^:]{1,300})\):")
_REFUSED = re.compile(
    r"requested Python version \((?P<mine>[^)]{1,40})\) does not satisfy Python(?P<wanted>[<>=!~]"
    r"[^ ]{1,60}) and (?P<package>.{1,100}?) depends? on Python"
)
_WIDE = re.compile(
    r"`requires-python` value \((?P<mine>[^)]{1,40})\) includes Python versions that are not "
    r"supported by your dependencies \(e\.g\., (?P<package>.{1,100}?) only supports? "
    r"(?P<wanted>[<>=!~][^)]{1,60})\)"
)
_NEWER = re.compile(r"python_(?:full_)?version >= '(3\.\d{1,2})(?:\.\d{1,3})?'")
_ACTIVE = re.compile(r"active Python version is (3\.\d{1,2})")
_NO_WHEEL = re.compile(r"Because (?P<package>[A-Za-z][\w.-]{0,80})==(?P<release>\S{1,40}) has no ")
_REQUIRES = re.compile(r"requires-python\s?=\s?[\"']([^\"']{1,40})[\"']")
_OTHER = "resolution failed for an environment that is not the current one"
_MARKERS = {"windows": "win32", "linux": "linux", "macos": "darwin"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each lock that fails outside of what is used here."""
    for event in distinct(case, "resolver-conflict", most=3):
        if event.speaker != "uv":
            continue
        below = case.log.lines[event.at : event.at + _BELOW]
        text = " ".join(" ".join(line[:_LONGEST].lstrip(" │|╰─▶`->") for line in below).split())
        found = _too_wide(case, event, text) or _too_new(case, event, text)
        if found is None and _OTHER in text:
            found = _elsewhere(case, event, text)
        if found is not None:
            yield found


def _too_wide(case: Case, event: Event, text: str) -> Explanation | None:
    """Explain a range of Pythons whose oldest one a package refuses."""
    match = _WIDE.search(text) or _REFUSED.search(text)
    if match is None:
        return None
    wanted = match["wanted"].rstrip(",.")
    mine, package = match["mine"], match["package"].removeprefix("all versions of ")
    if not _is_range(mine) or not _is_range(wanted):
        return None
    return explanation(
        event,
        f"The project allows Python {mine}, and {package} takes {wanted}",
        "uv locks for every Python that requires-python allows, also for those that nobody uses. "
        "uv pip install solves for the Python at hand alone, and so it succeeds.",
        (_bound(case, mine, wanted),),
        name="requires-python-too-wide",
    )


def _too_new(case: Case, event: Event, text: str) -> Explanation | None:
    """Explain a package without wheels for a Python after the one that is used."""
    split = _SPLIT.search(text)
    newer = _NEWER.search(split[1]) if split else None
    without = _NO_WHEEL.search(text)
    if newer is None or without is None or "Python version tag" not in text:
        return None
    mine = next((match[1] for line in case.log.lines if (match := _REQUIRES.search(line))), "")
    active = _ACTIVE.search(text)
    low = mine or (f">={active[1]}" if active else "")
    if not _is_range(low):
        return None
    package = f"{without['package']} {without['release']}"
    return explanation(
        event,
        f"The project allows Python {newer[1]}, for which {package} has no wheel",
        "uv locks for every Python that requires-python allows, also for those that nobody uses.",
        (_bound(case, low, f"{low},<{newer[1]}"),),
        name="requires-python-too-wide",
    )


def _elsewhere(case: Case, event: Event, text: str) -> Explanation | None:
    """Explain a conflict that exists only on another system."""
    system = str(value_of(case.facts, "host.os") or case.context.os or "")
    split = _SPLIT.search(text)
    marker = _MARKERS.get(system)
    if split is None or marker is None or f"'{marker}'" in split[1]:
        return None
    if not any(f"'{one}'" in split[1] for one in _MARKERS.values()):
        return None
    return explanation(
        event,
        f"The lock fails for another system than this one: {split[1].strip()[:120]}",
        "uv locks for all systems at once, unless the project names those that it is for.",
        (
            code(
                "Have uv lock for this system alone",
                "pyproject.toml",
                f"[tool.uv]\nenvironments = [\"sys_platform == '{marker}'\"]",
                use_if=("nobody installs the project on another system",),
            ),
        ),
        name="lock-for-another-system",
        exact=False,
    )


def _bound(case: Case, before: str, after: str) -> Recipe:
    del case
    return code(
        "Narrow the Pythons that the project allows, and lock again",
        "pyproject.toml, below [project]",
        f'requires-python = "{after}"',
        before=f'requires-python = "{before}"',
    )


def _is_range(text: str) -> bool:
    try:
        return bool(str(SpecifierSet(text)))
    except InvalidSpecifier:
        return False
