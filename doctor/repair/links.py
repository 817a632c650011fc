"""Take a project's own packages from the folders of wheels that it names, and from nowhere else.

A package of that name on an index may be somebody else's. Folders come from `--find-links` and from
the paths of wheels in the project's lists, and from the wheels that were installed by their path:
https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from doctor.model.fixes import Step
from doctor.model.plans import Plan
from doctor.observe.scene import Distribution
from doctor.repair.merging import combined, install_of, name_in, with_requirements

_MOST_FOLDERS, _MOST_FILES = 8, 5000
_APART = "--no-index"


class Links(NamedTuple):
    """Folders of wheels, and the packages that lie there, by normalized names."""

    folders: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the options of pip and uv for these folders alone."""
        return (_APART, *(word for one in self.folders for word in ("--find-links", one)))


def links_of(named: Iterable[str], here: Mapping[str, Distribution]) -> Links:
    """Return the folders of wheels that are `named`, and those that packages came from."""
    listed = (*named, *(folder for one in here.values() if (folder := _folder_of(one))))
    found: dict[str, frozenset[str]] = {}
    for folder in listed:
        if len(found) < _MOST_FOLDERS and (names := frozenset(_names(Path(folder)))):
            found[folder] = names
    return Links(tuple(found), frozenset(name for names in found.values() for name in names))


def _folder_of(one: Distribution) -> str:
    """Return the folder of the wheel that a package was installed from; empty for any other."""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        told = json.loads(one.direct_url)
        address = urlsplit(str(told["url"]))
        if address.scheme == "file" and address.path.endswith(".whl"):
            return str(Path(unquote(address.path)).parent)
    return ""


def _names(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        if folder.is_absolute():
            for path in sorted(folder.glob("*.whl"))[:_MOST_FILES]:
                with suppress(InvalidWheelFilename):
                    yield str(parse_wheel_filename(path.name)[0])


def by_links(plan: Plan, links: Links) -> Plan:
    """Return a plan that takes the packages of `links` from there, each such step by itself."""
    if not links.names & of_index(plan):
        return plan
    steps: tuple[Step, ...] = ()
    for step in plan.steps:
        made = _apart(step, links)
        steps = combined(Plan(title="", steps=steps), Plan(title="", steps=made)).steps
    return msgspec.structs.replace(plan, steps=steps, changes=(), resolved=False)


def _apart(step: Step, links: Links) -> tuple[Step, ...]:
    install = install_of(step)
    if install is None or _APART in install.head:
        return (step,)
    own = [text for text in install.requirements if name_in(text) in links.names]
    rest = [text for text in install.requirements if text not in own]
    first = [with_requirements(step, install.head, rest)] if rest else []
    last = [with_requirements(step, (*install.head, *links.flags), own)] if own else []
    return (*first, *last)


def of_index(plan: Plan) -> frozenset[str]:
    """Return the packages that the installations of a plan take from an index."""
    installs = [install for step in plan.steps if (install := install_of(step))]
    apart = [one.requirements for one in installs if _APART not in one.head]
    return frozenset(name_in(text) for texts in apart for text in texts)
