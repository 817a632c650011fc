"""Real failures out of public threads (fixtures/cases), to test and to measure with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import msgspec
import yaml

ROOT = Path(__file__).resolve().parents[1] / "fixtures" / "cases"
ASIDE = ("held", "held-late")
"""What is kept aside: whoever writes a signature does not look at it."""
SETS = ("open", *ASIDE)
"""The failures: first what may be used to write signatures."""
QUIET = "quiet"
ENVIRONMENTS = "environments"
HEALTHY = "healthy"
"""The family of the environments about which there is nothing to tell."""


class Settled(Enum):
    """Who confirmed the cause."""

    MAINTAINER = "maintainer"
    REPORTER = "reporter"
    UNSETTLED = "unsettled"


class Quiet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log about which there is nothing to tell; `why` says so in a sentence."""

    source: str
    read: date
    log: str
    why: str
    family: str


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure as it was pasted.

    Any of `issues` is the right answer, and none of them where the catalog has none yet.
    """

    source: str
    read: date
    log: str
    cause: str
    fix: str
    settled: Settled
    issues: tuple[str, ...]
    family: str


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text of collect_env as it was pasted.

    Any of `issues` is the right answer, and none for a healthy environment.
    """

    source: str
    read: date
    log: str
    why: str
    issues: tuple[str, ...]
    family: str


AnyCase: TypeAlias = Case | Quiet | Environment


def paths(*names: str) -> list[Path]:
    """Return the files of these sets, in order."""
    return [path for name in names for path in sorted((ROOT / name).glob("*.yaml"))]


def read(path: Path) -> AnyCase:
    """Read one file.

    Raises msgspec.ValidationError for fields that are missing, unknown or of the wrong kind.
    """
    kinds: dict[str, type[AnyCase]] = {QUIET: Quiet, ENVIRONMENTS: Environment}
    kind = kinds.get(path.parent.name, Case)
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), kind)


def failures(name: str) -> Iterator[tuple[str, Case]]:
    """Yield the cases of a set by their names."""
    for path in paths(name):
        case = read(path)
        assert isinstance(case, Case), path
        yield f"{name}/{path.stem}", case


def environments() -> Iterator[tuple[str, Environment]]:
    """Yield the pasted environments by their names."""
    for path in paths(ENVIRONMENTS):
        case = read(path)
        assert isinstance(case, Environment), path
        yield f"{ENVIRONMENTS}/{path.stem}", case


def quiet() -> Iterator[tuple[str, Quiet]]:
    """Yield the logs on which doctor has to be quiet, by their names."""
    for path in paths(QUIET):
        case = read(path)
        assert isinstance(case, Quiet), path
        yield f"{QUIET}/{path.stem}", case
