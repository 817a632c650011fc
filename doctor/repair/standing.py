"""What is installed in an environment, what its project asks for, and the order of releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from packaging.version import Version

from doctor.base.requirements import normalize_name
from doctor.base.versions import parse, public
from doctor.environments.environment import Environment
from doctor.model.facts import Facts, value_of
from doctor.observe.installed import distributions


class InstalledReleases(NamedTuple):
    """What is installed: releases and times by name, and what no index need know.

    `sourced` came from an address or a folder (PEP 610), so that no index may move it.
    """

    here: Mapping[str, str]
    times: Mapping[str, float]
    own: frozenset[str]
    sourced: frozenset[str]


def standing_of(environment: Environment) -> InstalledReleases:
    """Return what is installed in an environment; reads files alone."""
    found = distributions.installed([str(folder) for folder in environment.folders])
    return InstalledReleases(
        here={one.name: one.version for one in found},
        times={one.name: one.installed_at for one in found},
        own=frozenset(one.name for one in found if one.direct_url or "+" in one.version),
        sourced=frozenset(one.name for one in found if one.direct_url),
    )


def both(one: str, other: str) -> str:
    """Return the specifier that holds where two hold."""
    return ",".join(dict.fromkeys(text for text in (one, other) if text))


def is_later(release: str, here: str) -> bool:
    """Say whether a release is later than what is installed."""
    first, second = parse(release), parse(public(here))
    return first is not None and second is not None and first > second


def apart(one: str, other: str) -> tuple[int, int]:
    """Return how many major and minor releases lie between two."""
    first, second = parse(public(one)), parse(public(other))
    if first is None or second is None:
        return (0, 0)
    if first.major != second.major:
        return abs(first.major - second.major), 0
    return 0, abs(first.minor - second.minor)


def is_nearer(here: str, release: str, than: tuple[int, int]) -> bool:
    """Say whether a release is no farther from what is installed than a distance."""
    return apart(here, release) <= than


def line_of(release: str) -> str:
    """Return the range from a release to the end of its line: `>=4.25.1,<4.26`."""
    version: Version | None = parse(release)
    if version is None:
        return f"=={release}"
    return f">={release},<{version.major}.{version.minor + 1}"


def is_same_release(release: str, other: str) -> bool:
    """Say whether two releases are one, but for their local parts."""
    return parse(public(release)) == parse(public(other))


def asked_by_project(facts: Facts, here: Mapping[str, str]) -> dict[str, str]:
    """Return the releases that the project asks for, of packages in another one or in none.

    Of a package that an interrupted installer set aside, it is the release that was there.
    """
    listed = value_of(facts, "python.interrupted")
    gone = [str(one).partition("==") for one in listed] if isinstance(listed, list | tuple) else []
    aside = {normalize_name(name): one for name, _, one in gone if one}
    aside = {name: one for name, one in aside.items() if name not in here}
    asked = {name: one for name, one in asked_releases(facts).items() if here.get(name) != one}
    return aside | asked


def asked_releases(facts: Facts) -> dict[str, str]:
    """Return the one release of each package that the project asks for, locks or pins."""
    asked: dict[str, str] = {}
    for name in ("project.asked", "project.locked", "project.pinned"):
        listed = value_of(facts, name)
        asked |= (
            {str(key): str(one) for key, one in listed.items()} if isinstance(listed, dict) else {}
        )
    return asked
