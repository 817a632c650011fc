"""The edits of one manifest: each of its lines that names a package of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from packaging.version import Version

from doctor.base.requirements import normalize_name
from doctor.base.toml import TomlError, parse_toml
from doctor.base.versions import parse, public
from doctor.model.plans import Change
from doctor.observe.manifests import Kind
from doctor.observe.manifests.pins import Pin, Syntax
from doctor.planning.edits.files import FileEdit, Replacement, edited
from doctor.planning.edits.indexes import Build, image_tag, pages
from doctor.planning.edits.versions import admits, limited, rewritten

_MOST = 5000
_FROM_PAGE = frozenset({"torch", "torchvision", "torchaudio"})
_KEYED = re.compile(
    r"""\s{0,200}[\w."'-]{1,120}\s{0,20}=\s{0,20}(?:"[^"\\]{0,300}"|'[^']{0,300}'|\{[^{}]{0,500}\})"""
    r"""\s{0,200}(?:#.{0,1000})?"""
)
_LAST_OF_PYTORCH_CHANNEL = Version("2.5.1")
"""Later releases of torch are on conda-forge: https://github.com/pytorch/pytorch/issues/138506."""


class Pinned(NamedTuple):
    """The edit of a manifest, the pins of the plan's packages in it, and what stays open."""

    edit: FileEdit | None
    pins: tuple[Pin, ...]
    notes: tuple[str, ...]


def edit_manifest(
    path: str, text: str, kind: Kind, changes: Mapping[str, Change], build: Build, *, locked: bool
) -> Pinned:
    """Return the edit of a manifest that lets in what a plan installs.

    `changes` are by normalized name. `locked`: a lock beside the manifest keeps a release where it
    is, so that a pin which admits it needs no limit.
    """
    asked = [
        (pin, changes[name])
        for pin in islice(kind.read(text), _MOST)
        if (name := normalize_name(pin.name)) in changes
    ]
    moves = "torch" in changes and changes["torch"].after is not None
    index = list(pages(text, build)) if moves else []
    found = [one for one in index if isinstance(one, Replacement)]
    notes = [f"{path}: {one}" for one in index if isinstance(one, str)]
    undecided = bool(notes)
    for pin, change in asked:
        if undecided and normalize_name(pin.name) in _FROM_PAGE:
            continue  # without its page the new release cannot be installed
        edit = (
            _removal(text, pin)
            if change.after is None
            else _moved(text, pin, change, kind, build, locked=locked)
        )
        if isinstance(edit, str):
            notes.append(f"{path}:{pin.line}: {edit}")
        elif edit is not None:
            found.append(edit)
    edit_ = edited(path, text, found)
    if edit_ and kind.module == "tables" and not _same_table(edit_):
        notes.append(f"{path}: no edit was made, since it is no TOML that doctor can follow")
        edit_ = None
    return Pinned(edit_, tuple(pin for pin, _ in asked), tuple(notes))


def _moved(
    text: str, pin: Pin, change: Change, kind: Kind, build: Build, *, locked: bool
) -> Replacement | str | None:
    """Return the replacement at a pin, None where it admits the release, or why there is none."""
    span, release = pin.span, str(change.after)
    if span is None:
        # Nothing but a name in a table that stands for a path, a git address or a workspace.
        told = f"{pin.name} comes from an address; make it {public(release)} there"
        return told if pin.firm else None
    before = text[span.start : span.end]
    if span.syntax is Syntax.TAG:
        after = image_tag(pin.name, before, release, build)
        if after is None:
            return f"no image of {pin.name} {public(release)} is known for the tag {before}"
    else:
        after = rewritten(span.syntax, before, release)
        if after is None:
            return f"`{before}` excludes {pin.name} {public(release)}, and no small edit admits it"
        if not locked and after == before and _steps_back(change) and _admits_more(pin, before):
            after = limited(span.syntax, before, release) or after
    if why := _wrong_channel(text, pin, release, changed=after != before):
        return why
    if (
        kind.module == "docker"
        and {"<", ">"} & {*after}
        and text[span.end : span.end + 1] not in ('"', "'")
    ):
        return f"put quotes around {pin.name}{after}: a shell redirects at < and >"
    return Replacement(span.start, span.end, after) if after != before else None


def _steps_back(change: Change) -> bool:
    old, new = parse(change.before or ""), parse(change.after or "")
    return (
        old is not None and new is not None and public(str(new)) != public(str(old)) and new < old
    )


def _admits_more(pin: Pin, before: str) -> bool:
    """Say whether an installer may take any newer release."""
    return pin.span is not None and admits(pin.span.syntax, before, "999999") is True


def _wrong_channel(text: str, pin: Pin, release: str, *, changed: bool) -> str:
    if pin.span is None or pin.span.syntax is not Syntax.CONDA or pin.name != "torch":
        return ""
    version = parse(public(release))
    old = "pytorch::" in text or "pytorch-cuda" in text
    if changed and old and version is not None and version > _LAST_OF_PYTORCH_CHANNEL:
        return (
            f"the channel pytorch ends with torch {_LAST_OF_PYTORCH_CHANNEL}; take pytorch "
            f"{public(release)} from conda-forge, without pytorch-cuda"
        )
    return ""


def _removal(text: str, pin: Pin) -> Replacement | str:
    """Return the removal of a whole line; a sentence where the line holds more than the pin."""
    start = 0
    for _ in range(pin.line - 1):
        start = text.index("\n", start) + 1
    end = text.find("\n", start) + 1 or len(text)
    line = text[start:end].rstrip("\r\n")
    nested = pin.table and "/" not in pin.table
    simple = pin.span and pin.span.syntax not in (Syntax.TAG, Syntax.VERSION)
    if simple and (_KEYED.fullmatch(line) if nested else _is_sole(line)):
        return Replacement(start, end, "")
    return f"remove {pin.name} here; the plan removes it"


def _is_sole(line: str) -> bool:
    """Say whether a line of a list holds one item: `- x`, `"x",  # why` or `x`."""
    bare = line.partition(" #")[0].strip().removeprefix("- ").removesuffix(",").strip()
    quote = bare[:1] if bare[:1] in ("'", '"') else ""
    inside = bare[1:-1] if quote and bare.endswith(quote) else bare
    return bool(inside) and not {"{", "}", "\\", quote or '"'} & {*inside}


def _same_table(edit: FileEdit) -> bool:
    """Say whether nothing but the values at the replacements differs, as a parser reads it."""
    try:
        before, after = (
            parse_toml(text.removeprefix("\ufeff")) for text in (edit.before_text, edit.after_text)
        )
    except TomlError:
        return False
    old, new = (list(_values(table)) for table in (before, after))
    if any(not one.text for one in edit.replacements):
        return len(new) < len(old)
    differ = [two for one, two in zip(old, new, strict=False) if one != two]
    return len(old) == len(new) and 0 < len(differ) <= len(edit.replacements)


def _values(table: object) -> Iterator[tuple[str, object]]:
    """Yield every value of a parsed file with its path."""
    waiting: list[tuple[str, object]] = [("", table)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{path}/{key}", each) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}/{number}", each) for number, each in enumerate(value)]
        else:
            yield path, value


def names_of(pins: Sequence[Pin]) -> frozenset[str]:
    """Return the normalized names of pins."""
    return frozenset(normalize_name(pin.name) for pin in pins)
