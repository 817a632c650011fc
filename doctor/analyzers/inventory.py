"""Read what a log shows of packages: releases, the interpreter, and who asked for a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from doctor.analyzers.case import Case
from doctor.base.patterns import PatternMatch, compile_pattern
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.observation import Log

NAME = re.compile(r"[A-Za-z][\w.-]{0,79}")
"""What a distribution may be called, by the rules of doctor's own commands."""
_LONGEST = 1000
_FURTHEST = 400
_MATCHES = 200
_VERSION = r"\d{1,4}(?:\.\d{1,6}){1,3}[\w.+]{0,24}"
_LISTED = re.compile(rf"^\s{{0,8}}([A-Za-z][\w.-]{{1,60}})\s{{1,60}}({_VERSION})(?:\s|$)")
_TABLE = re.compile(r"^\s{0,8}(?:Package\s{1,60}Version|# Name\s{1,60}Version)|^-{3,60} -{3,60}")
_NAMED = r"(?P<name>[A-Za-z][\w.-]{1,60})"
_RELEASE = rf"(?P<version>{_VERSION})"
_PATTERNS = (
    rf"[/\\](?P<name>[A-Za-z]\w{{1,60}})-{_RELEASE}?\.dist-info\b",
    rf"[/\\](?P<name>[A-Za-z]\w{{1,60}})-{_RELEASE}-py\d\.\d{{1,2}}(?:-[\w-]{{1,30}})?\.egg",
    rf"^\s{{0,8}}{_NAMED}==={{0,1}}{_RELEASE}\s*$",
    rf"\b(?P<name>[A-Za-z]\w{{1,60}})\.__version__['\"]?\s{{0,4}}(?:==|[=:])?\s{{0,4}}['\"]?{_RELEASE}",
    rf"^\s{{0,4}}[-*]?\s{{0,4}}`?{_NAMED}`? version\s?[:=]\s?v?{_RELEASE}",
    rf"^\s{{0,4}}[-*] {{0,4}}`?{_NAMED}`? ?[:=]{{1,2}} ?v?{_RELEASE}\s*$",
    rf"Requirement already satisfied: {_NAMED}\b.{{0,300}}\({_RELEASE}\)\s*$",
    rf"Found existing installation: {_NAMED} {_RELEASE}",
    rf"but you have {_NAMED} {_RELEASE}",
)
_INSTALLED = re.compile(r"Successfully installed ([\w.+ -]{3,900})")
_ONE_INSTALLED = re.compile(r"([A-Za-z][\w.-]{0,60}?)-(\d[\w.+]{0,30})(?= |$)")
_SHOW = re.compile(r"^\s{0,8}Name: ([A-Za-z][\w.-]{1,60})\s*$")
_SHOW_VERSION = re.compile(rf"^\s{{0,8}}Version: ({_VERSION})")
_FRAMES = (
    re.compile(r"File \"([^\"]{1,500})\", line \d{1,7}"),
    # IPython prints frames in forms of its own (IPython/core/ultratb.py).
    re.compile(r"^\s{0,4}File ([^\s:\"][^:\"]{0,2}[^\s:\"]{1,400}):\d{1,7}(?:, in |$)"),
    re.compile(r"^\s{0,4}([/~][^\s:]{1,400}\.pyx?) in [\w<]"),
    re.compile(r"^\s{0,4}(<ipython-input-[^>]{1,60}>) in "),
    re.compile(r"^\s{0,4}(Cell In\s?\[\d{1,6}\]), line \d"),
    # A paste that begins in the middle of a frame.
    re.compile(r"^\s{0,4}([/\\.~][^\"\s]{1,400}\.pyx?)\", line \d{1,7}, in "),
    # Colab makes a link of each: [/usr/lib/…/trainer.py](https://localhost:8080/#) in train(self)
    re.compile(r"^\s{0,4}\[([/~<][^\]\s]{1,400})\]\(https?://[^)]{1,60}\) in "),
)
_STACK = "Traceback (most recent call last)"
_SITE = re.compile(r"[/\\](?:site|dist)-packages[/\\](.{1,400})$")
_REMOTE = re.compile(r"[/\\]transformers_modules[/\\]")
_PROJECT = re.compile(
    r"[/\\](?:custom_nodes|extensions|extensions-builtin|repositories)[/\\]([^/\\]{1,100})[/\\]"
)
_LIBRARY = re.compile(
    r"[/\\](?:python3?(?:\.\d{1,2})?t?|Python3?\d{1,3}|[Ll]ib)[/\\][\w/\\.]{1,200}$"
)
_PYTHONS = (
    re.compile(r"[/\\]python(3\.\d{1,2})t?[/\\]"),
    re.compile(r"\bPython (?:version: )?(3\.\d{1,2})(?:\.\d{1,3})?\b(?! or\b|\+)"),
    re.compile(r"[/\\]Python(3)(\d{1,2})(?:-32)?[/\\]", re.IGNORECASE),
    re.compile(r"\bpython-(3\.\d{1,2})\.\d{1,3}\b"),
    # The folders that setuptools builds in.
    re.compile(r"\bbuild[/\\](?:lib|temp|bdist)\.[\w.-]{3,60}-c(?:python|p)-?(3)(\d{1,2})\b"),
    re.compile(r"-cp(3)(\d{1,2})-cp3\d{1,2}t?-[\w.]{3,100}\.whl(?:\.metadata)? \(\d"),
)


_DECORATOR = re.compile(
    r"(?:[/\\](?:deprecation|_?decorators?|_validators|_typeguard)\.py"
    r"|[/\\]torch[/\\]utils[/\\]_contextlib\.py)\", line \d{1,7}, in "
    r"(?:wrapped_func|wrapper|_?inner\w{0,10}|decorate_context|wrapped|new_func)\b"
)
"""The frame of a decorator, which calls what it was put around and asks for nothing itself."""


class Caller(NamedTuple):
    """Who asked for a name: `package`, `model` (its own code), `addon`, `project` or `python`.

    `name` is the import name of a package, or the folder of an add-on.
    """

    kind: str
    name: str
    path: str


class Inventory:
    """What a log shows; each part is read when it is asked for."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._releases: dict[str, set[str]] | None = None

    def release(self, distribution: str) -> str | None:
        """Return the only release of a distribution that the log or the facts show."""
        name = canonicalize_name(distribution)
        known = value_of(self._case.facts, f"package.{name}.version")
        if name == "torch":
            known = known or value_of(self._case.facts, "torch.version")
        if isinstance(known, str) and is_version(known):
            return known
        if self._releases is None:
            self._releases = _releases(self._case.log)
        found = self._releases.get(name, set())
        return next(iter(found)) if len(found) == 1 else None

    def python(self) -> str | None:
        """Return the minor release of Python that the log or the facts show, as "3.11"."""
        for name in ("python.minor", "python.version"):
            known = value_of(self._case.facts, name)
            if isinstance(known, str) and known.count(".") >= 1:
                return ".".join(known.split(".")[:2])
        for pattern in _PYTHONS:
            found = {
                ".".join(match.groups())
                for line in self._case.log.lines
                for match in pattern.finditer(line[:_LONGEST])
            }
            if len(found) == 1:
                return found.pop()
        return None


def each_match(pattern: str, text: str) -> Iterator[tuple[int, PatternMatch]]:
    """Yield the matches of a pattern with their places, by the engine that never goes back."""
    searcher, at = compile_pattern(pattern), 0
    for _ in range(_MATCHES):
        match = searcher.search(text[at:])
        if match is None or not match.text:
            return
        yield at + match.start, match
        at += match.start + len(match.text)


def is_version(text: str) -> bool:
    """Say whether a text is a version."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _releases(log: Log) -> dict[str, set[str]]:
    """Return the releases of each distribution that a log shows."""
    found: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for name, version in _named(log, last):
        if is_version(version):
            found.setdefault(canonicalize_name(name), set()).add(version)
    # What was installed last is what is there, whatever the log showed before.
    found.update((name, {version}) for name, version in last.items() if is_version(version))
    return found


def _named(log: Log, last: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield distributions with releases; those that were just installed go into `last`."""
    table, named = False, ""
    for full in log.lines:
        line = full[:_LONGEST]
        table = bool(_TABLE.search(line)) or (table and bool(line.strip()))
        if table and (row := _LISTED.match(line)):
            yield row[1], row[2]
        if any(sign in line for sign in _SIGNS):
            yield from _stated(line)
        if match := _SHOW.match(line):
            named = match[1]
        elif named and (match := _SHOW_VERSION.match(line)):
            yield named, match[1]
            named = ""
        if match := _INSTALLED.search(line):
            last.update(
                (canonicalize_name(one[1]), one[2]) for one in _ONE_INSTALLED.finditer(match[1])
            )


def _stated(line: str) -> Iterator[tuple[str, str]]:
    for pattern in _PATTERNS:
        for _, match in each_match(pattern, line):
            if "version" in match.groups:
                yield match.groups["name"], match.groups["version"]


_SIGNS = (
    "-info",
    ".egg",
    "==",
    "__version__",
    "ersion",
    "- ",
    "* ",
    "atisfied",
    "xisting",
    "you h",
)


def frames(case: Case, event: Event) -> Iterator[str]:
    """Yield the files of the traceback that ends at an event, the innermost first."""
    for line in reversed(case.log.lines[max(event.at - _FURTHEST, 0) : event.at]):
        if (file := frame_of(line)) and not _DECORATOR.search(line[:_LONGEST]):
            yield file
        if _STACK in line:
            return


def frame_of(line: str) -> str:
    """Return the file of a line of a traceback; empty for any other line."""
    for pattern in _FRAMES if "ile " in line or " in" in line or "Cell In" in line else ():
        if match := pattern.search(line[:_LONGEST]):
            return match[1]
    return ""


def distinct(case: Case, *kinds: str, most: int = 12) -> list[Event]:
    """Return one event of each kind with the same objects, one below a traceback if there is."""
    found: dict[tuple[str, ...], Event] = {}
    for event in case.of(*kinds):
        named = (value for name, value in sorted(event.objects.items()) if name != "path")
        key = (event.kind, *named)
        before = found.get(key)
        if before is None and len(found) >= most:
            continue
        if before is None or (any(frames(case, event)) and not any(frames(case, before))):
            found[key] = event
    return list(found.values())


def package_of(path: str) -> str | None:
    """Return the import name of the installed package that a file belongs to."""
    inside = _SITE.search(path)
    if inside is None:
        return None
    parts = re.split(r"[/\\]", inside[1])
    if parts[0].endswith(".egg") and len(parts) > 1:
        parts = parts[1:]
    name = parts[0].partition(".")[0]
    return name if NAME.fullmatch(name) or name.startswith("_") else None


def is_library(path: str) -> bool:
    """Say whether a file belongs to Python itself or to an installed package."""
    return path.startswith("<frozen") or bool(_SITE.search(path)) or bool(_LIBRARY.search(path))


def owners_of(case: Case, event: Event) -> list[str]:
    """Return the packages of a traceback, the innermost first, each once; "" is other code."""
    found: list[str] = []
    for path in frames(case, event):
        name = package_of(path)
        if name is None and (is_library(path) or path.startswith("<")):
            continue
        if not found or found[-1] != (name or ""):
            found.append(name or "")
    return found


def caller_of(case: Case, event: Event, package: str) -> Caller | None:
    """Return the innermost code of the traceback outside a package, which asked it for a name."""
    for path in frames(case, event):
        if path.startswith("<frozen"):
            continue
        if path.startswith(("<", "Cell In")):
            return Caller("project", "", path)
        name = package_of(path)
        if name == package or (name is None and _LIBRARY.search(path) and not _REMOTE.search(path)):
            continue
        if _REMOTE.search(path):
            return Caller("model", re.split(r"[/\\]", path)[-1], path)
        if name is not None:
            return Caller("package", name, path)
        if addon := _PROJECT.search(path):
            return Caller("addon", addon[1], path)
        return Caller("project", re.split(r"[/\\]", path)[-1], path)
    return None


def versions(texts: Mapping[str, str]) -> dict[str, Version]:
    """Return the texts that are versions, as versions."""
    return {name: Version(text) for name, text in texts.items() if is_version(text)}
