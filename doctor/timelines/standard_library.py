"""Look up which releases of Python have a module or a name of the standard library.

The data are made by `python -m doctor.timelines.build.standard_library` from interpreters.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

FILE = Path(__file__).resolve().parent / "data" / "standard-library.json"


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """The modules, and the names that some releases lack, each with a bit set of releases."""

    pythons: tuple[str, ...]
    read: tuple[str, ...]
    made: str
    modules: dict[str, int]
    names: dict[str, int]
    classes: dict[str, int]

    def encoded(self) -> bytes:
        """Return the file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """The minor releases of Python that have something; `pythons` are those that were read."""

    first: str
    last: str
    pythons: tuple[str, ...]

    @property
    def without(self) -> str | None:
        """The first release that no longer has it."""
        at = self.pythons.index(self.last) + 1
        return self.pythons[at] if at < len(self.pythons) else None

    @property
    def new(self) -> bool:
        """Whether an older release that was read lacks it."""
        return self.first != self.pythons[0]


def standard_module(name: str) -> Since | None:
    """Return the releases that have a module; None if it is none of the standard library."""
    library = _library()
    return _since(library, library.modules.get(name, 0)) if library else None


def standard_name(module: str, name: str) -> Since | None:
    """Return the releases in which a module has a name that other releases lack."""
    library = _library()
    return _since(library, library.names.get(f"{module}.{name}", 0)) if library else None


def standard_attribute(owner: str, name: str) -> Since | None:
    """Return the releases in which a class has an attribute that other releases lack."""
    library = _library()
    return _since(library, library.classes.get(f"{owner}.{name}", 0)) if library else None


def _since(library: Library, bits: int) -> Since | None:
    if not bits:
        return None
    first, last = (bits & -bits).bit_length() - 1, bits.bit_length() - 1
    return Since(first=library.pythons[first], last=library.pythons[last], pythons=library.pythons)


@lru_cache(maxsize=1)
def _library() -> Library | None:
    try:
        return msgspec.json.decode(FILE.read_bytes(), type=Library)
    except (OSError, msgspec.MsgspecError):
        return None
