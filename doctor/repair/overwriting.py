"""Find packages of a failed program in whose place lie the files of another package.

Several distributions may list one path: the four names of OpenCV, a library and its build for GPUs,
a namespace that two of them fill. The one that came last wins, and no metadata tells. The hashes in
RECORD do:
https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from doctor.base.requirements import normalize_name
from doctor.environments.environment import Environment, interpreter_of
from doctor.host import UnreadableFile
from doctor.model.facts import Fact, Facts, absent, present, value_of
from doctor.observe.descriptions import TargetError
from doctor.observe.installed.distributions import installed, record_of, requirements
from doctor.observe.installed.records import rows
from doctor.observe.probes.files.owners import HASHED_BY, hash_of
from doctor.observe.scene import Distribution

_SOURCE = "RECORD hashes"
_NAMES = ("program.overwritten", "program.overwritten_packages", "program.overwriting_spare")
_MOST, _MOST_HASHED, _LARGEST, _LINES = 20, 400, 512 << 20, 20_000
_FRAME = re.compile(r"(?:site|dist)-packages[/\\](\w{1,100})")
_QUOTED = re.compile(r"['\"`]([A-Za-z_]\w{0,100})(?:\.[\w.]{1,200})?['\"`]")


class Overwritten(NamedTuple):
    """A file in whose place lies that of another distribution."""

    path: str
    owner: Distribution
    by: Distribution

    def __str__(self) -> str:
        """Return whose file lies where."""
        return f"{self.path} of {self.owner.requirement} is that of {self.by.requirement}"


def overwriting(text: str, facts: Facts, environment: Environment) -> dict[str, Fact]:
    """Return facts about packages that a failed program names and whose files are another's."""
    told = {name: absent(_SOURCE) for name in _NAMES}
    tops = _named(text)
    distributions = installed([str(folder) for folder in environment.own_folders])
    found = _overwritten(distributions, tops) if tops else []
    if not found:
        return told
    asked = _asked(distributions, facts, environment)
    losers = {one.owner.name: one.owner for one in found}
    # What the requirements and the project ask for comes first, then what was installed last.
    wanted = max(losers.values(), key=lambda one: (one.name in asked, one.installed_at))
    beside = {one.name for row in found for one in (row.owner, row.by)} - {wanted.name}
    told["program.overwritten"] = present([str(one) for one in found[:_MOST]], _SOURCE)
    told["program.overwritten_packages"] = present([wanted.requirement], _SOURCE)
    if spare := sorted(beside - asked):
        told["program.overwriting_spare"] = present(spare, _SOURCE)
    return told


def _named(text: str) -> frozenset[str]:
    """Return the modules of a traceback's frames, and those that its last line names."""
    lines = [line for line in text.splitlines()[-_LINES:] if line.strip()]
    frames = {name for line in lines for name in _FRAME.findall(line)}
    return frozenset(frames | {*_QUOTED.findall(lines[-1] if lines else "")})


def _overwritten(distributions: Sequence[Distribution], tops: frozenset[str]) -> list[Overwritten]:
    """Return the files below some modules that fit the RECORD of another distribution alone."""
    claims: dict[Path, dict[str, tuple[Distribution, str]]] = {}
    for one in distributions:
        with suppress(UnreadableFile):
            for path, _, digest in rows(record_of(one)):
                top = path.partition("/")[0].partition(".")[0]
                if top in tops and digest.startswith(HASHED_BY):
                    claims.setdefault(one.folder.parent / path, {})[one.name] = (one, digest)
    shared = [
        (place, owners)
        for place, owners in claims.items()
        if len({digest for _, digest in owners.values()}) > 1
    ]
    # Compiled files decide most, and there are few of them.
    shared.sort(key=lambda one: one[0].suffix == ".py")
    return [row for place, owners in shared[:_MOST_HASHED] for row in _lost(place, owners)]


def _lost(place: Path, owners: Mapping[str, tuple[Distribution, str]]) -> Iterable[Overwritten]:
    here = hash_of(place, _LARGEST)
    winner = next((one for one, digest in owners.values() if digest == here), None)
    if winner is not None:
        for one, digest in owners.values():
            if digest != here:
                yield Overwritten(str(place.relative_to(one.folder.parent)), one, winner)


def _asked(
    distributions: Iterable[Distribution], facts: Facts, environment: Environment
) -> frozenset[str]:
    """Return what installed distributions ask for, and what the project pins."""
    pinned = value_of(facts, "project.pinned")
    names = {str(name) for name in pinned} if isinstance(pinned, dict) else set[str]()
    with suppress(TargetError):
        interpreter = interpreter_of(environment)
        for one in distributions:
            with suppress(UnreadableFile):
                names |= {normalize_name(each.name) for each in requirements(one, interpreter)}
    return frozenset(names)
