"""For which Pythons and systems a release of a well-known compiled package has wheels.

The data are runs of releases with the same wheels, read from the names of the files in the package
index by `python -m doctor.timelines.build.wheel_tags`.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path

from packaging.version import Version

from doctor.base.requirements import normalize_name
from doctor.base.versions import parse

FILE = Path(__file__).parent / "data" / "wheels.json"
SYSTEMS = ("linux-x86_64", "linux-arm64", "windows-x86_64", "macos-arm64", "macos-x86_64")
NEWEST = 15
"""The minor release of Python up to which a wheel of the stable ABI is counted."""


@cache
def _packages() -> dict[str, list[tuple[str, dict[str, list[int]]]]]:
    packages: dict[str, list[tuple[str, dict[str, list[int]]]]] = json.loads(
        FILE.read_text(encoding="utf-8")
    )["packages"]
    return packages


@lru_cache(maxsize=64)
def _releases(package: str) -> dict[Version, dict[str, list[int]]]:
    runs = _packages().get(normalize_name(package), [])
    return {Version(one): systems for releases, systems in runs for one in releases.split()}


def is_covered(package: str) -> bool:
    """Say whether the wheels of a package are recorded."""
    return normalize_name(package) in _packages()


def pythons_with_wheel(package: str, release: str, system: str = "") -> tuple[str, ...]:
    """Return the Pythons that a release has wheels for, on a system or on any.

    Empty for a package or a release that is not recorded, and for one without wheels.
    """
    version = parse(release)
    found = _releases(package).get(version, {}) if version else {}
    minors = {one for name, each in found.items() if not system or name == system for one in each}
    return tuple(f"3.{one}" for one in sorted(minors))


def releases_with_wheel(package: str, python: str, system: str = "") -> tuple[Version, ...]:
    """Return the releases that have wheels for a Python, on a system or on any, oldest first."""
    minor = int(python.partition(".")[2] or 0)
    return tuple(
        version
        for version, systems in sorted(_releases(package).items())
        if any(minor in each for name, each in systems.items() if not system or name == system)
    )


def systems_with_wheel(package: str, release: str) -> tuple[str, ...]:
    """Return the systems that a release has wheels for."""
    version = parse(release)
    return tuple(_releases(package).get(version, {})) if version else ()
