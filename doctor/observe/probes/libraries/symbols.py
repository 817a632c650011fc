"""Check that torch's CUDA libraries define the symbols that they need of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from doctor.observe.binaries.elf import ElfError, opened
from doctor.observe.binaries.linking import Resolved
from doctor.observe.binaries.undefined_symbols import Scope


def in_vain(found: Mapping[str, Resolved]) -> Iterator[tuple[str, Path]]:
    """Yield the symbols that none of these libraries defines, with the library that needs each."""
    scope = Scope({})
    try:
        for path in [one.path for one in found.values() if one.path is not None]:
            try:
                with opened(path) as elf:
                    yield from ((symbol.name, path) for symbol in scope.undefined(elf, found))
            except ElfError:
                continue
    finally:
        scope.close()
