"""Whether a file has the shape of an entry: every field that is missing, unknown or of the wrong kind, and where each place stands."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from doctor.catalog.loading import CatalogError, lines_of, parse_yaml

_T = TypeVar("_T")
_MOST = 50
_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_FIELD = re.compile(r"^Object (?P<fault>contains unknown|missing required) field `(?P<name>[^`]+)`")
_STEP = re.compile(r"[^.\[\]]+")
_TEXTS = ("title", "cause", "name", "expect", "url", "what", "pattern", "fact", "check")
_LISTS = (
    "references",
    "examples",
    "affected",
    "signatures",
    "proofs",
    "fixes",
    "related",
    "symptoms",
    "milder",
    "rows",
)
_PARTS = ("install", "uninstall", "options", "when", "also", "unless", "run", "devices")
_DAY = date(2000, 1, 1)
_STAND_IN: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, "?"),
    **{name: [] for name in (*_LISTS, *_PARTS)},
    **{name: {} for name in ("columns", "sources", "packages", "env", "edit", "system")},
    **dict.fromkeys(("opened", "checked", "read"), _DAY),
    "severity": "error",
    "kind": "edit",
    "how": "thread",
    "verified": {"how": "thread", "checked": _DAY},
}
"""Values that let the reading go on behind a fault, so that the next one is found as well."""


class Entry(Generic[_T]):
    """A file of the catalog: the entry, or none, and its faults as `place: sentence`."""

    def __init__(self, path: Path, kind: type[_T]) -> None:
        """Read the file; raises nothing."""
        self.path = path
        self.value: _T | None = None
        self.faults: list[str] = []
        self._unreadable = ""
        try:
            document = parse_yaml(path)
        except CatalogError as error:
            self._unreadable = str(error)
        else:
            self.value, self.faults = _converted(document, kind)

    def told(self, faults: list[str]) -> list[str]:
        """Return faults as `file:line: place: sentence`."""
        if self._unreadable:
            return [self._unreadable]
        lines = lines_of(self.path) if faults else {}
        return [
            f"{self.path}:{_line(fault.partition(': ')[0], lines)}: {fault}" for fault in faults
        ]


def _line(place: str, lines: dict[str, int]) -> int:
    """Return the line of a place, or of what it is part of."""
    steps = re.split(r"(?=[.\[])", place)
    return next(
        (
            lines[part]
            for end in range(len(steps), 0, -1)
            if (part := "".join(steps[:end])) in lines
        ),
        1,
    )


def _converted(document: Any, kind: type[_T]) -> tuple[_T | None, list[str]]:
    faults: list[str] = []
    while len(faults) < _MOST:
        try:
            value = msgspec.convert(document, kind, strict=True)
        except msgspec.ValidationError as error:
            fault, mended = _mended(document, str(error))
            faults.append(fault)
            if not mended:
                break
        else:
            return (None if faults else value), faults
    return None, faults


def _mended(document: Any, said: str) -> tuple[str, bool]:
    """Turn what msgspec says into `place: sentence`, and mend the document at that place.

    The second value says whether it could.
    """
    found = _PLACE.search(said)
    place, sentence = (found["place"], said[: found.start()]) if found else ("", said)
    steps: list[Any] = [int(step) if step.isdigit() else step for step in _STEP.findall(place)]
    if field := _FIELD.match(sentence):
        steps.append(field["name"])
        place = f"{place}.{field['name']}" if place else field["name"]
        sentence = "no such field" if "unknown" in field["fault"] else "it is missing"
    return f"{place or 'file'}: {sentence}", _mend(
        document, steps, unknown=sentence == "no such field"
    )


def _mend(document: Any, steps: list[Any], *, unknown: bool) -> bool:
    parent, last = document, steps[-1] if steps else None
    try:
        for step in steps[:-1]:
            parent = parent[step]
        if unknown:
            del parent[last]
            return True
        if last not in _STAND_IN or (
            isinstance(parent, dict) and parent.get(last) == _STAND_IN[last]
        ):
            return False
        parent[last] = _STAND_IN[last]
    except (KeyError, IndexError, TypeError):
        return False
    return True
