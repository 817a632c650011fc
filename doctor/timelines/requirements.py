"""What a release of a well-known package asks of others, without its files.

The data are runs of releases that ask for the same, read from the METADATA of the wheels by
`python -m doctor.timelines.build.requirements`.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

from doctor.base.requirements import normalize_name
from doctor.base.versions import parse

FILE = Path(__file__).parent / "data" / "requirements.json"


class RecordedRequirement(NamedTuple):
    """A requirement: a normalized name, clauses with commas, and a marker or nothing (PEP 508)."""

    name: str
    specifier: str
    marker: str


@cache
def _packages() -> dict[str, list[tuple[str, list[str]]]]:
    packages: dict[str, list[tuple[str, list[str]]]] = json.loads(FILE.read_text(encoding="utf-8"))[
        "packages"
    ]
    return packages


@lru_cache(maxsize=512)
def _releases(package: str) -> dict[Version, list[str]]:
    runs = _packages().get(package, [])
    return {Version(one): lines for releases, lines in runs for one in releases.split()}


def asked_by(package: str, release: str) -> tuple[RecordedRequirement, ...]:
    """Return what a release asks of other packages, as its METADATA for Linux says.

    Empty for a package that is not covered, and for a release that was not read.
    """
    version = parse(release.partition("+")[0])
    lines = _releases(normalize_name(package)).get(version, []) if version else []
    return tuple(map(_asked, lines))


def _asked(line: str) -> RecordedRequirement:
    requirement, _, marker = line.partition(";")
    end = next(place for place, sign in enumerate(requirement) if sign in "<>=!~")
    return RecordedRequirement(requirement[:end], requirement[end:], marker)
