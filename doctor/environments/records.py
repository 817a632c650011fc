"""Read which files the RECORDs of an environment list, and keep them true after a change.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from doctor.environments.tree import Entry, Kind, Tree
from doctor.host import read_regular
from doctor.host.reading import RECORD


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """A file whose content in a copy differs from the original."""

    before: bytes
    after: bytes


def is_metadata(folder: str) -> bool:
    """Say whether a folder holds the metadata of a distribution."""
    return folder.endswith((".dist-info", ".egg-info"))


def is_record(entry: Entry) -> bool:
    """Say whether an entry is the RECORD of a distribution."""
    return entry.kind is Kind.FILE and entry.name == "RECORD" and is_metadata(entry.parent)


def listed(tree: Tree) -> frozenset[str]:
    """Return the relative paths that some RECORD of a tree lists."""
    found: set[str] = set()
    for entry in filter(is_record, tree.entries):
        site = posixpath.dirname(entry.parent)
        data = read_regular(tree.root / entry.path, RECORD + 1) or b""
        if len(data) <= RECORD:
            found.update(_within(path, site, tree.root) for path in _paths(data))
    return frozenset(found)


def _paths(data: bytes) -> Iterator[str]:
    for line in os.fsdecode(data).split("\n"):
        if line.startswith('"'):
            yield _first_field(line)
        elif line:
            yield line.partition(",")[0]


def _first_field(line: str) -> str:
    try:
        return next(csv.reader([line]), [""])[0]
    except csv.Error:
        return ""


def _within(path: str, site: str, root: Path) -> str:
    """Return the path relative to the prefix of what a RECORD lists."""
    if path.startswith("/"):
        return os.path.relpath(path, root).replace(os.sep, "/") if "\0" not in path else path
    whole = f"{site}/{path}" if site else path
    return posixpath.normpath(whole) if "./" in path else whole


def corrected(data: bytes, site: str, rewrites: Mapping[str, Rewrite]) -> bytes:
    """Return a RECORD with new hashes and sizes for rewritten files.

    `site` is the folder of the RECORD's dist-info, `rewrites` are keyed by path, both relative to
    the prefix. A row that did not fit the file before stays: damage is part of a copy.
    """
    rows = {}
    for path, rewrite in rewrites.items():
        relative = posixpath.relpath(path, site or ".")
        rows[_row(relative, rewrite.before)] = _row(relative, rewrite.after)
    lines = data.split(b"\n")
    ends = [line[len(line.rstrip(b"\r")) :] for line in lines]
    return b"\n".join(
        rows.get(line.rstrip(b"\r"), line.rstrip(b"\r")) + end
        for line, end in zip(lines, ends, strict=True)
    )


def _row(path: str, content: bytes) -> bytes:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return b"%b,sha256=%b,%d" % (os.fsencode(path), digest, len(content))
