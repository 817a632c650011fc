"""Whether torch's CUDA libraries, as the loader would put them together, have the symbols that they ask of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from doctor.elf import ElfError, opened
from doctor.linking import Resolved, search_of
from doctor.model.facts import absent, present
from doctor.modules import folder_of
from doctor.probes.contract import Scene, Seen
from doctor.probes.extension_symbols import Scope
from doctor.probes.libraries import resolve

BOUND = 10.0

_MOST_TOLD = 20


def probe(scene: Scene) -> Seen:
    """Give libs.undefined_symbols; its source is the first library that asks in vain."""
    interpreter = scene.interpreter
    torch = folder_of(interpreter, "torch") if interpreter else None
    if interpreter is None or torch is None or interpreter.platform != "linux":
        yield "libs.undefined_symbols", absent("sys.path")
        return
    found = resolve(search_of(scene.host, interpreter.executable, interpreter.machine), torch)
    asked = list(_in_vain(found))
    names = list(dict.fromkeys(name for name, _ in asked))[:_MOST_TOLD]
    yield "libs.undefined_symbols", present(names, str(asked[0][1])) if asked else absent(str(torch / "lib"))


def _in_vain(found: Mapping[str, Resolved]) -> Iterator[tuple[str, Path]]:
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
