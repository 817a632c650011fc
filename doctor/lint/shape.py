"""Check the shape of a catalog file.

Each field that is missing, unknown or of the wrong type, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from doctor.catalog.loading import CatalogError, lines_of, parse_yaml

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_T = TypeVar("_T")
_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_MOST = 50


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
            return
        try:
            self.value = msgspec.convert(document, kind, strict=True)
        except msgspec.ValidationError as error:
            self.faults = list(_faults(document, kind, str(error)))[:_MOST]

    def located(self, faults: list[str]) -> list[str]:
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


def _faults(document: Any, kind: type[Any], first: str) -> Iterator[str]:
    """Yield every fault.

    Without `jsonschema`, which authors have, only the one that msgspec names.
    """
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match
    except ImportError:
        found = _PLACE.search(first)
        yield f"{found['place'] or 'file'}: {first[: found.start()]}" if found else f"file: {first}"
        return
    validator = Draft202012Validator(msgspec.json.schema(kind))
    errors = sorted(
        validator.iter_errors(_plain(document)), key=lambda one: list(map(str, one.path))
    )
    for error in errors:
        # Of the branches of a union the one that fits best is meant.
        yield from _said(best_match(iter([error])) or error)
    if not errors:
        yield f"file: {first}"


def _plain(value: Any) -> Any:
    """Return a YAML document as JSON has it: a day is a text."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value


def _said(error: ValidationError) -> Iterator[str]:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    place = place.lstrip(".")
    instance: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "required":
            missing = [name for name in wanted if name not in instance]
            yield from (f"{_joined(place, name)}: it is missing" for name in missing)
        case "additionalProperties":
            known = schema.get("properties", {})
            unknown = [name for name in instance if name not in known]
            yield from (f"{_joined(place, name)}: no such field" for name in unknown)
        case "enum":
            yield f"{place}: {instance!r} is none of {', '.join(map(str, wanted))}"
        case _:
            yield f"{place or 'file'}: {error.message}"


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
