"""Read which files conda installed into a prefix, and which of them contain that prefix.

conda replaces a placeholder in each such file when it installs: text as it is, binaries padded with
NUL to the length of the placeholder
(https://docs.conda.io/projects/conda-build/en/stable/resources/make-relocatable.html).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from doctor.environments.prefixes import with_prefix
from doctor.environments.tree import Kind, Tree
from doctor.host import read_regular

_LIMIT = 16 << 20
"""Bytes of the metadata of one package; cudatoolkit and boost have some megabytes."""

_LONGEST_PADDING = 1 << 14


class CondaFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that conda installed, relative to the prefix.

    `text` contain the prefix as text, `binary` in binaries, with the length of the placeholder.
    """

    listed: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    binary: Mapping[str, int] = {}


class _Path(msgspec.Struct):
    path: str = msgspec.field(name="_path", default="")
    prefix_placeholder: str = ""
    file_mode: str = ""


class _Paths(msgspec.Struct):
    paths: list[_Path] = []


class _Package(msgspec.Struct):
    files: list[str] = []
    paths_data: _Paths = msgspec.field(default_factory=_Paths)


def conda_files(tree: Tree) -> CondaFiles:
    """Return what the metadata in conda-meta says; metadata that makes no sense is passed over."""
    listed: set[str] = set()
    text: set[str] = set()
    binary: dict[str, int] = {}
    for entry in tree.entries:
        if entry.parent != "conda-meta" or entry.kind is not Kind.FILE:
            continue
        if not entry.name.endswith(".json"):
            continue
        data = read_regular(tree.root / entry.path, _LIMIT) or b""
        try:
            package = msgspec.json.decode(data, type=_Package)
        except (msgspec.DecodeError, RecursionError):
            continue
        listed.update(package.files)
        for each in package.paths_data.paths:
            if each.prefix_placeholder and each.file_mode == "binary":
                binary[each.path] = len(os.fsencode(each.prefix_placeholder))
            elif each.prefix_placeholder:
                text.add(each.path)
    return CondaFiles(listed=frozenset(listed), text=frozenset(text), binary=binary)


def with_binary_prefix(data: bytes, old: Sequence[str], new: str, placeholder: int) -> bytes | None:
    """Replace a prefix in the strings of a binary, whose size stays; None where it is too long.

    `placeholder` is the length of the text that conda replaced by the old prefix.
    """
    for spelling in old:
        before, start = os.fsencode(spelling), 0
        while (found := data.find(before, start)) >= 0:
            end = data.find(b"\0", found)
            end = len(data) if end < 0 else end
            text = data[found:end]
            changed = with_prefix(text, [spelling], new)
            after = data[end : end + _LONGEST_PADDING]
            zeros = len(after) - len(after.lstrip(b"\0")) - 1  # one ends the string
            padding = text.count(before) * (placeholder - len(before))
            if len(changed) - len(text) > max(min(zeros, padding), 0):
                return None
            whole = max(len(text), len(changed))
            data = data[:found] + changed.ljust(whole, b"\0") + data[found + whole :]
            start = found + max(len(changed), 1)
    return data
