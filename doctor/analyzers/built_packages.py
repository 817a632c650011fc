"""Say which package an installer builds at a place of a log."""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from doctor.analyzers.build_tables import FIRST_WHEELS
from doctor.analyzers.case import Case
from doctor.model.events import Event


class Built(NamedTuple):
    """A package that is built: its name and release, the Python and the system, where shown."""

    name: str
    release: str
    python: str
    system: str


_PACKAGE = re.compile(
    r"(?:Collecting |Building wheel for |Building (?=\S{1,80}==|\S{1,80} @ )|Failed to build `"
    r"|Failed to fetch wheel: "
    r"|Failed to download and build:? `|Processing \S{0,200}/)"
    r"([A-Za-z][\w.-]{1,80})"
)

_CLONED = re.compile(
    r"Collecting (?:[\w.-]{1,60} @ )?git\+\w{2,6}://[\w.@-]{1,80}/[\w.-]{1,80}/([A-Za-z][\w.-]{0,60})"
)
"""A repository that is cloned: until its metadata are read, its name is all that pip knows."""
_FOLDER = re.compile(
    r"[/\\]pip-(?:install|wheel)-\w{1,16}[/\\]([A-Za-z][\w.-]{0,60}?)_[0-9a-f]{32}\b"
)
"""Where pip unpacks the sources of a package (pip/_internal/operations/prepare.py)."""
_AROUND = 15


def built(case: Case, event: Event) -> str:
    """Return the package that is built at an event, where the log names it."""
    hint = re.compile(r"indicates that `([A-Za-z][\w.-]{1,80})")
    for line in case.log.lines[event.at : event.at + 12]:
        if match := hint.search(line[:1000]):
            return match[1]
    around = case.log.lines[max(event.at - _AROUND, 0) : event.at + _AROUND]
    if folder := next((one for line in around if (one := _FOLDER.search(line[:2000]))), None):
        return folder[1]
    for line in reversed(case.log.lines[max(event.at - 80, 0) : event.at]):
        # pip indents what it prints of the environment in which it builds.
        if line.startswith("  Collecting "):
            continue
        if cloned := _CLONED.search(line[:1000]):
            return cloned[1].removesuffix(".git")
        if match := _PACKAGE.search(line[:1000]):
            return match[1]
    return ""


_FETCHED = re.compile(
    r"\s{0,12}(?:Collecting|Using cached|Downloading|Building) (?:https?://\S{1,200}/)?"
    r"([A-Za-z][\w.]{0,60})(?:==|-)(\d[\w.]{0,20}?)(?:\.tar\.gz|\.zip|[\s,;)]|$)"
)


def python_with_wheels(case: Case, package: str, python: str) -> str:
    """Return the newest older Python that the release of a package, which is built, has wheels for.

    Where the log does not show the release, it is the one before.
    """
    fetched = (_FETCHED.match(line[:500]) for line in case.log.lines[:5000])
    found = next((one[2] for one in fetched if one and one[1].lower() == package.lower()), "")
    minor = int(python.partition(".")[2]) - 1
    try:
        release = Version(found)
    except InvalidVersion:
        return f"3.{minor}"
    while (first := FIRST_WHEELS.get((package.lower(), f"3.{minor}"))) and release < Version(first):
        minor -= 1
    return f"3.{minor}"
