"""What the RECORD of a distribution lists of files that matter: modules, libraries, headers and programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The rest (tests, type stubs, static libraries, licences) is what people delete on purpose to make an image smaller.
_ENDINGS = {".py": "module", ".so": "library", ".h": "header", ".hpp": "header", ".cuh": "header"}
_SUFFIXES = tuple(_ENDINGS)
_FIELDS = 3
_ON_PURPOSE = re.compile(r"/tests?/|/test_[^/]*$")


def rows(text: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield path, size and hash of what a RECORD lists and what matters.

    The size is None where RECORD does not say. RECORD of torch has 12,000 lines, hence no csv module but for quoted ones.
    """
    for line in filter(None, text.split("\n")):
        parts = line.split(",")
        if len(parts) != _FIELDS or line[0] == '"':
            import csv

            parts = [*next(csv.reader([line]), ()), "", "", ""]
        path, size = parts[0], parts[2]
        if not path.endswith(_SUFFIXES) and not kind_of(path):
            continue
        if path[0] not in "./" and ("/test" not in path or not _ON_PURPOSE.search(path)):
            yield path, int(size) if size.rstrip().isdecimal() else None, parts[1]


def kind_of(path: str) -> str:
    """Say what a file is for; an empty text where its absence harms nobody."""
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :] if "." in name else ""
    return _ENDINGS.get(ending) or ("library" if ".so." in name else "program" if "/bin/" in path and not ending else "")
