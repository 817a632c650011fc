"""Write catalog files in one key order and one wrapping; comments and quotes stay as they are."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from doctor.base.errors import DoctorError
from doctor.catalog.loading import parse_yaml
from doctor.model.issues import Recipe

_WIDTH = 130
"""Columns that a folded text may fill; rows of tables and logs are never wrapped."""
_ISSUE = (
    *("title", "severity", "certain", "conclusive", "general", "gathers", "cause", "affected"),
    *("signatures", "proofs", "fixes", "references", "verified", "related", "symptoms", "milder"),
    "examples",
)
_ACTS = (
    "install",
    "companions",
    "index",
    "find_links",
    "options",
    "build",
    "uninstall",
    "system",
    "run",
    "edit",
)
_ACTION = ("title", *_ACTS, "env", "source", "sudo", "reboot")
_RECIPE = tuple(field.name for field in msgspec.structs.fields(Recipe))
_TABLE = ("title", "product", "newest", "applies", "columns", "sources", "rows")
_SINGLE_PAIR = re.compile(r"\[((?:introduced|fixed): \"[^\"\]]*\")(?=[],])")
_FOLDED = ("title", "cause", "note", "what")


def formatted(text: str, *, table: bool = False) -> str:
    """Return the text of a catalog file in its one form.

    Raises DoctorError where `ruamel.yaml` is not installed; authors have it by the extra `dev`.

    Raises ValueError where it is no YAML.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError as error:
        raise DoctorError(
            "doctor fmt needs ruamel.yaml: python -m pip install ruamel.yaml"
        ) from error
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        document = yaml.load(text)
    except YAMLError as error:
        raise ValueError(str(error)) from None
    _order(document, _TABLE if table else _ISSUE)
    for recipe in _recipes(document, table=table):
        _order(recipe, _RECIPE)
        _fold(recipe, 6 if not table else 10)
        for action in recipe.get("steps", ()):
            _order(action, _ACTION)
    _fold(document, 2)
    written = io.StringIO()
    yaml.dump(document, written)
    lines = (_SINGLE_PAIR.sub(r"[{\1}", line.rstrip()) for line in written.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def unformatted(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each catalog file below a folder that is not in its one form, with that form.

    Raises DoctorError for one that cannot be read, or is no known issue and no table.
    """
    for path in sorted(folder.rglob("*.yaml")):
        parse_yaml(path)
        try:
            text = path.read_text(encoding="utf-8")
            form = formatted(text, table="compat" in path.parent.parts)
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            raise DoctorError(
                f"{path}: no catalog file ({error!r:.200}); doctor lint says what is wrong"
            ) from None
        if form != text:
            yield path, form


def _recipes(document: Mapping[str, Any], *, table: bool) -> Iterator[Any]:
    if not table:
        yield from document.get("fixes", ())
        return
    for column in document.get("columns", {}).values():
        yield from column.get("fixes", ())


def _order(mapping: Any, names: tuple[str, ...]) -> None:
    """Move the keys of a mapping into the order of `names`; unknown keys come last."""
    known = [name for name in names if name in mapping]
    if [name for name in mapping if name in known] == known and list(mapping)[
        : len(known)
    ] == known:
        return
    for name in [*known, *(name for name in list(mapping) if name not in known)]:
        mapping.move_to_end(name)


def _fold(mapping: Any, indent: int) -> None:
    """Fold the long texts of a mapping, and unfold the short ones."""
    from ruamel.yaml.scalarstring import FoldedScalarString

    for name in _FOLDED:
        text = mapping.get(name)
        if (
            not isinstance(text, str)
            or "\n" in text.strip()
            or type(text).__name__.endswith("QuotedScalarString")
        ):
            continue
        plain = " ".join(text.split())
        if indent + len(name) + 2 + len(plain) <= _WIDTH and not isinstance(
            text, FoldedScalarString
        ):
            continue
        lines = textwrap.wrap(
            plain, _WIDTH - indent, break_long_words=False, break_on_hyphens=False
        )
        if len(lines) < 2:
            continue
        folded = FoldedScalarString(" ".join(lines))
        ends, at = [], 0
        for line in lines[:-1]:
            at += len(line)
            ends.append(at)
            at += 1
        folded.fold_pos = ends
        mapping[name] = folded
