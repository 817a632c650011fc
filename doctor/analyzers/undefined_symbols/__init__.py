"""Explain symbols that a loader or a linker does not find.

| whose symbol | what is said of it |
| --- | --- |
| torch's | which releases export it, so for which torch the file was built; the C++ ABI |
| the package's own | a part of it, mostly its CUDA code, was left out of the build |
| of a CUDA library | which library is too old, and what comes before the right one |
| of Python | the extension is one for another Python |
| of glibc or libstdc++ | the first release with it, the first systems |
| of another library | which one, and that it is there in two releases |
| asked through ctypes | the library and its Python part are of two releases |

The releases come from the symbols of published wheels (docs/timelines.md). Several symbols of one
file narrow them down together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.undefined_symbols.ctypes import of_ctypes
from doctor.analyzers.undefined_symbols.linked import unresolved
from doctor.analyzers.undefined_symbols.loaded import MissingSymbols, explain_symbols
from doctor.analyzers.undefined_symbols.macos import of_macos
from doctor.model.events import Event

_MOST_FILES, _MOST_SYMBOLS = 4, 200
_OPENED = re.compile(r"dlopen\(([^,)]{1,400}), 0x")
"""The file that macOS was asked to load, which it names before the symbol."""
_LISTED = re.compile(r"undefined symbol: \S{1,1000}\s{1,20}\(/")
"""What `ldd -r` lists of a library that gets these symbols from the program that loads it."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the missing symbols of each file, and of those of a linker."""
    files: dict[str, list[Event]] = {}
    for event in case.of("undefined-symbol"):
        if _LISTED.search(event.text) or "lld: error: " in event.text:
            continue
        if (found := of_ctypes(event) or of_macos(case, event)) is not None:
            yield found
            continue
        opened = _OPENED.search(event.text)
        path = event.objects.get("file", "") or (opened[1] if opened else "")
        group = files.setdefault(path, [])
        if len(group) < _MOST_SYMBOLS:
            group.append(event)
    named = {_symbol(event) for path, events in files.items() if path for event in events}
    files[""] = [event for event in files.get("", []) if _symbol(event) not in named]
    for path in [path for path in files if files[path]][:_MOST_FILES]:
        symbols = tuple(dict.fromkeys(_symbol(event) for event in files[path]))
        explained = explain_symbols(case, MissingSymbols(files[path][0], path, symbols))
        if explained is not None:
            yield explained
    yield from unresolved(case)


def _symbol(event: Event) -> str:
    version = event.objects.get("version", "")
    symbol = event.objects["symbol"]
    if event.speaker == "dyld":
        symbol = symbol.removeprefix("_")  # what macOS puts before each name of C
    return f"{symbol}, version {version}" if version else symbol
