"""Read the files that matter in a RECORD: modules, libraries, headers, programs.

Also a script, which says of RECORDs whether every such file is there in its size: `python -I -S
records.py RECORD…`. It is started for each look at a large environment, so it imports next to
nothing.

RECORD is a CSV file of path, hash and size
(https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file).
Paths are relative to the folder that holds the dist-info folder.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The rest (tests, type stubs, static libraries, licences) is what people delete on purpose to make
# an image smaller.
_ENDINGS = {".py": "module", ".so": "library", ".h": "header", ".hpp": "header", ".cuh": "header"}
_SUFFIXES = tuple(_ENDINGS)
_FIELDS = 3
_LARGEST = 8 << 20
"""Bytes of a RECORD, as doctor.host.reading names them."""
_MOST_DIGITS = 20


def rows(text: str) -> Iterator[tuple[str, int | None, str]]:
    """Yield path, size and hash of what a RECORD lists and what matters.

    The size is None where RECORD does not say, or says what no file has. RECORD of torch has 12,000
    lines, hence no csv module but for quoted ones.
    """
    for line in filter(None, text.split("\n")):
        parts = line.split(",")
        if len(parts) != _FIELDS or line[0] == '"':
            parts = _quoted(line)
        path, size = parts[0], parts[2]
        if not path.endswith(_SUFFIXES) and not kind_of(path):
            continue
        if path[0] not in "./" and ("/test" not in path or not _is_test(path)):
            yield (
                path,
                int(size) if len(size) <= _MOST_DIGITS and size.rstrip().isdecimal() else None,
                parts[1],
            )


def _quoted(line: str) -> list[str]:
    """Return the fields of a line that the csv module has to read.

    Empty ones for a line that it refuses.
    """
    import csv

    try:
        return [*next(csv.reader([line]), ()), "", "", ""]
    except csv.Error:
        return ["", "", ""]


def _is_test(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return "/test/" in f"{folder}/" or "/tests/" in f"{folder}/" or name.startswith("test_")


def kind_of(path: str) -> str:
    """Say what a file is for; an empty text where its absence harms nobody."""
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :] if "." in name else ""
    return _ENDINGS.get(ending) or (
        "library" if ".so." in name else "program" if "/bin/" in path and not ending else ""
    )


def is_intact(record: str, site: str | None = None) -> bool:
    """Say whether each file that a RECORD lists and that matters is there in its size.

    False wherever that cannot be told.

    `site` is the folder that its paths start from, with a slash; empty where that is the current
    one.
    """
    start = f"{_site_of(record)}/" if site is None else site
    try:
        return all(_fits(start + path, wanted) for path, wanted, _ in rows(_text(record)))
    except (OSError, ValueError):
        return False


def _site_of(record: str) -> str:
    return os.path.dirname(os.path.dirname(record))  # noqa: PTH120 - the script imports no pathlib


def _fits(path: str, wanted: int | None) -> bool:
    try:
        return wanted in (None, os.stat(path).st_size)  # noqa: PTH116 - 12,000 times, and a Path costs more than the call
    except (FileNotFoundError, NotADirectoryError):
        return wanted == 0 and path.endswith("__init__.py")


def _text(record: str) -> str:
    """Read a regular file of no more than the limit; raises OSError or ValueError for any other."""
    if not stat.S_ISREG(os.stat(record).st_mode):  # noqa: PTH116 - as above
        raise ValueError
    descriptor = os.open(
        record, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError
    return data.decode("utf-8", "replace")


def main(records: Sequence[str]) -> None:
    """Print the numbers of the RECORDs that are intact, counted from 0, a line each."""
    for number, record in enumerate(records):
        try:
            os.chdir(_site_of(record))  # from there the kernel has a fifth less to do for each file
        except OSError:
            continue
        if is_intact(record, ""):
            os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
