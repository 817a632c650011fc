"""Rank the packages that may be to blame for the failure of a program, by its traceback.

The message comes first, then the packages that the traceback passes through, from the inside out,
then those that define a class of the message, and last what these packages ask for. What was
installed after most of the environment comes before what came with it: so does what the packages
of the traceback stand on at some distance, or ask for in an extra.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from doctor.base.requirements import normalize_name
from doctor.environments.environment import Environment, interpreter_of
from doctor.host import UnreadableFile, read_regular
from doctor.observe.installed.distributions import requirements
from doctor.observe.scene import Distribution
from doctor.repair.failures import Failure
from doctor.repair.reading import every_line, tops

_MOST, _FILES, _BYTES, _CLASSES, _DEEPEST = 6, 600, 1 << 18, 4, 200
_BESIDE = 40
"""Imports of the program's file that may be modules beside it."""
_QUOTED = re.compile(r"['\"`]([A-Za-z0-9][\w.-]{0,100})['\"`]")
_NAMED = re.compile(r"\b[A-Za-z][\w.-]{2,100}")
"""What may be the name of a package or a module."""
_WORD = re.compile(r"\b[A-Z][A-Za-z0-9]{3,60}\b")
_CALLED = re.compile(r"\b([A-Z]\w{2,60})\.\w{1,60}\(\)|'([A-Z]\w{2,60})' object")
"""A class of which a method is called, or an object is spoken of."""
_PLAIN = re.compile(r"\w{2,100}")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w[\w., \t]{0,300})", re.MULTILINE)
_HEAVY = ("torch", "torchvision", "torchaudio", "triton", "pip", "setuptools", "uv")
_TOGETHER = 1.0
"""Seconds between two packages of one installation."""


class Suspect(NamedTuple):
    """A package that may be to blame; `up` says that a newer release is tried first."""

    name: str
    up: bool


def suspects(
    failure: Failure, here: Mapping[str, Distribution], environment: Environment
) -> tuple[Suspect, ...]:
    """Return the packages that may be to blame, the likeliest first."""
    owners = {top: one.name for one in here.values() for top in tops(one)}
    ranked: dict[str, tuple[int, bool]] = {}

    def add(name: str, rank: int, *, up: bool) -> None:
        if name in here and not _is_heavy(name) and name not in ranked:
            ranked[name] = (rank, up)

    for rank, name in _spoken(failure, owners):
        add(name, rank, up=True)
    passed = [owners[frame.top] for frame in reversed(failure.every) if frame.top in owners]
    for rank, name in enumerate(dict.fromkeys(passed), 1):
        add(name, rank, up=True)
    near = [name for name in dict.fromkeys(passed) if name in here][:2]
    # What the innermost file imports may be called without a frame of its own: a class that it
    # inherits from. Where that file is the program's, its object may be of a package below.
    used = [one for top in _imported(failure) if (one := owners.get(top, "")) in here]
    own = [] if near else [*dict.fromkeys(used), *_asked_by(used, here, environment)]
    asked = (*_asked_by(near, here, environment), *own)
    called = [one for pair in _CALLED.findall(failure.error) for one in pair if one]
    found = [one for one in _WORD.findall(failure.error) if _may_be(one)]
    words = list(dict.fromkeys((*called, *found)))
    for name in dict.fromkeys((*asked, *used)):
        if words and any(_defines(here[name], word) for word in words[:_CLASSES]):
            add(name, 1, up=False)
    late = came_late(here)
    every = _beneath(list(dict.fromkeys(passed)), here, environment)
    below = [one for one in every if one in late and one not in ranked]
    for name in below:
        if words and any(_defines(here[name], word) for word in words[:_CLASSES]):
            add(name, 1, up=False)
    below.sort(key=lambda one: -here[one].installed_at)
    for name in (*asked, *below):
        add(name, len(here), up=False)
    order = sorted(ranked, key=lambda name: (name not in late, ranked[name][0]))
    far = {name for name, (rank, _) in ranked.items() if rank == len(here) and name not in late}
    return tuple(Suspect(name, ranked[name][1]) for name in order if name not in far)[:_MOST]


def _imported(failure: Failure) -> tuple[str, ...]:
    """Return the modules that the innermost file of a traceback imports, or modules beside it."""
    found = dict[str, None]()
    for frame in failure.frames[-1:]:
        found = dict.fromkeys(_imports_of(Path(frame.path)))
        folder = Path(frame.path).parent
        for top in tuple(found)[:_BESIDE] if not frame.top else ():
            for path in (folder / f"{top}.py", folder / top / "__init__.py"):
                found |= dict.fromkeys(_imports_of(path))
    return tuple(found)


def _imports_of(path: Path) -> Iterator[str]:
    text = read_regular(path, _BYTES) or b""
    for found in _IMPORT.finditer(text.decode("utf-8", "replace")):
        yield from (one.split()[0].partition(".")[0] for one in found[1].split(",") if one.split())


def _spoken(failure: Failure, owners: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the names in a message, with their ranks: those in quotes first.

    Others count where a program ends with a message of its own, without a traceback.
    """
    for word in _QUOTED.findall(failure.error):
        top = word.partition(".")[0]
        yield 0, owners.get(top, normalize_name(top))
    words = [one.rstrip(".-") for one in _NAMED.findall(failure.error)]
    for word in words if not failure.frames else ():
        yield (1 if re.search(r"[._-]", word) else 2), owners.get(word, normalize_name(word))


def beneath(
    failure: Failure, here: Mapping[str, Distribution], environment: Environment
) -> tuple[str, ...]:
    """Return the packages that a failure names or passes through, and what they stand on."""
    owners = {top: one.name for one in here.values() for top in tops(one)}
    words = {frame.top for frame in failure.every} | {*_PLAIN.findall(failure.error[:2000])}
    named = sorted({owners[one] for one in words if one in owners} - {"pip", "setuptools", "uv"})
    return (*named, *_beneath(named, here, environment))


def _is_heavy(name: str) -> bool:
    return name in _HEAVY or name.startswith("nvidia-")


def _may_be(word: str) -> bool:
    """Say whether a word may name a class: it has a capital further on, and is no exception."""
    return any(one.isupper() for one in word[1:]) and not word.endswith(
        ("Error", "Exception", "Warning")
    )


def _asked_by(
    names: list[str], here: Mapping[str, Distribution], environment: Environment
) -> tuple[str, ...]:
    """Return the installed packages that packages ask for."""
    interpreter = interpreter_of(environment)
    found: dict[str, None] = {}
    for name in names:
        try:
            asked = requirements(here[name], interpreter) if name in here else ()
        except UnreadableFile:
            continue
        for one in asked:
            other = normalize_name(one.name)
            if other in here:
                found[other] = None
    return tuple(found)


def _beneath(
    names: list[str], here: Mapping[str, Distribution], environment: Environment
) -> tuple[str, ...]:
    """Return what packages stand on: all that they ask for, by others as well, and their extras."""
    found = dict[str, None]()
    for name in names:
        for line in every_line(here[name]) if name in here else ():
            if (other := normalize_name(line.name)) in here:
                found[other] = None
    waiting, known = [*names, *found], {*names, *found}
    while waiting and len(known) < _DEEPEST:
        more = _asked_by([waiting.pop(0)], here, environment)
        waiting += [one for one in more if one not in known]
        known |= {*more}
        found |= dict.fromkeys(more)
    return tuple(one for one in found if one not in names)


def came_late(here: Mapping[str, Distribution]) -> frozenset[str]:
    """Return the packages that came after most of the others."""
    times = [one.installed_at for one in here.values()]
    limit = median(times) + _TOGETHER if times else 0.0
    return frozenset(name for name, one in here.items() if one.installed_at > limit)


def _defines(one: Distribution, word: str) -> bool:
    """Say whether a package defines a class."""
    pattern = re.compile(rf"^class {re.escape(word)}\b", re.MULTILINE)
    return any(
        pattern.search((read_regular(path, _BYTES) or b"").decode("utf-8", "replace"))
        for path in _sources(one)
    )


def _sources(one: Distribution) -> Iterator[Path]:
    site, number = one.folder.parent, 0
    for top in sorted(tops(one)):
        folder = site / top
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else ()
        for path in paths:
            number += 1
            if number > _FILES:
                return
            yield path
