"""Foreign text as Markdown for Python-Markdown and GitHub: nothing in it becomes markup."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence

from doctor.facts.placeholders import HOLE
from doctor.report.markdown.text import catalog_paragraph, code_block, code_span

_SPECIAL = re.compile(r"([\\`*_{}\[\]|])")
_LEADING = re.compile(r"(?m)^([ \t]*(?:\d+(?=[.)]))?)([#+.)-])")
_FENCE = re.compile(r"(?m)^([ \t]*)~")
_LONGEST = 100_000


def plain(text: str) -> str:
    """Escape a text."""
    bare = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _FENCE.sub(r"\1&#126;", _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", bare)))


def prose(text: str) -> str:
    """Escape a text of the catalog, in which code stands between backticks."""
    return catalog_paragraph(text, _LONGEST, plain)


def closed(title: str) -> str:
    """Close the placeholders of a title that no machine has filled."""
    return HOLE.sub(lambda hole: hole[2] or "…", title)


def code(text: str) -> str:
    """Return a code span."""
    return code_span(" ".join(text.split()))


def block(lines: Iterable[str], kind: str = "text") -> str:
    """Return a block of code."""
    return code_block("\n".join(lines), kind)


def link(text: str, address: str) -> str:
    """Return a link; the text is Markdown already."""
    return f"[{text}](<{address}>)" if re.search(r"[()\s]", address) else f"[{text}]({address})"


def between(page: str, other: str) -> str:
    """Return the address of one page as another one names it."""
    return posixpath.relpath(other, posixpath.dirname(page) or ".")


def bullets(items: Iterable[str]) -> str:
    """Return a list; the items are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |" for line in lines
    )


def page(title: str, parts: Iterable[str], description: str = "") -> str:
    """Return a page with what search engines and readers see first."""
    head = ["---", f"title: {json.dumps(title, ensure_ascii=False)}"]
    head += (
        [f"description: {json.dumps(_short(description), ensure_ascii=False)}"]
        if description
        else []
    )
    return (
        "\n".join([*head, "---", ""])
        + "\n"
        + "\n\n".join(part for part in (f"# {prose(title)}", *parts) if part)
        + "\n"
    )


def _short(text: str, most: int = 155) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0] + "…"
