"""Judge releases by compatibility tables, where no installer is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.base.versions import parse
from doctor.model.catalog import Catalog
from doctor.model.facts import present
from doctor.planning.knowledge import Knowledge, fits_any, specifiers
from doctor.planning.requests_place import Place
from doctor.timelines.requirements import asked_by

_EXACT = re.compile(r"={2,3}\s*([^\s,*]+)")


def exact(specifier: str) -> str:
    """Return the one release that a specifier allows; empty where it allows others."""
    found = _EXACT.fullmatch(specifier.strip())
    return found[1] if found and parse(found[1]) is not None else ""


def torches_by_release(
    name: str, specifier: str, catalog: Catalog, place: Place
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the releases of a package that a table names, and the releases of torch for each.

    The one release of a specifier is looked up itself: a row may stand for a range.
    """
    knowledge = _known(catalog, place)
    pinned = exact(specifier)
    for version in (pinned,) if pinned else knowledge.releases(name):
        if found := knowledge.torches(name, version):
            yield version, found


def apart(pins: Mapping[str, str], catalog: Catalog, place: Place) -> tuple[str, str, str] | None:
    """Return a package, what its release needs, and the other release that is asked for.

    `pins` are releases by package. None where the tables have nothing against them.
    """
    knowledge = _known(catalog, place)
    for name, version in pins.items():
        for other, wanted in _asked(name, version, knowledge, catalog):
            if other in pins and not fits_any(pins[other], wanted):
                needs = " or ".join(one.removeprefix("==") for one in wanted)
                return name, f"{name} {version} needs {other} {needs}", f"{other}=={pins[other]}"
    return None


def _asked(
    name: str, version: str, knowledge: Knowledge, catalog: Catalog
) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from knowledge.asks(name, version)
    for one in asked_by(name, version):
        if not one.marker:
            yield one.name, (one.specifier,)
    table = catalog.tables.get("torch")
    for row in table.rows if table and name == "torch" else ():
        if row["torch"] == version and "triton" in row:
            yield "triton", specifiers(row["triton"])


def _known(catalog: Catalog, place: Place) -> Knowledge:
    return Knowledge(catalog, {"python.version": present(place.python, "python")})
