"""Foreign text in Markdown as GitHub and GitLab read it.

Nothing in it becomes markup, a mention, a reference or a command to a runner. The documentation
site uses the same fences and spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from doctor.base.text import sanitize
from doctor.report.view.words import flat

_GAP = "\u200b"
"""Stands, until the end, where a mention, a reference or an address is parted.

`flat` lets none through.
"""

_PARTED = (
    (re.compile(r"@(?=[\w-])"), "@" + _GAP),
    (re.compile(r"([#!])(?=\d)"), r"\1" + _GAP),
    (re.compile(r"\b(GH-)(?=\d)", re.IGNORECASE), r"\1" + _GAP),
    (re.compile(r":(?=[\w+-]+:)"), ":" + _GAP),
    (re.compile(r":(?=//)"), ":" + _GAP),
    (re.compile(r"\b(www)\.", re.IGNORECASE), r"\1" + _GAP + "."),
)
_MARKS = re.compile(r"([\\`*\[\]~|]|(?<![^\W_])_|_(?![^\W_]))")
_BEGINS = re.compile(r"^([#+=-]|\d{1,9}(?=[.)](?:\s|$)))")
_QUOTED = re.compile(r"`([^`]+)`")
_RUN = re.compile(r"`+")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`\\]{1,2000}")
_BACKLINK = re.compile(r"^https?://(?:www\.)?github\.com/")


def in_html(text: str, most: int = 4000) -> str:
    """Write a text for a place where HTML is read and Markdown is not, as in `<summary>`."""
    text = flat(text, most)
    for pattern, parted in _PARTED:
        text = pattern.sub(parted, text)
    # Formulas begin with a dollar sign, and this is how GitHub says to write a plain one.
    return escape(text, quote=False).replace("$", "<span>$</span>").replace(_GAP, "&#8203;")


def prose(text: str, most: int = 4000) -> str:
    """Write a text as a paragraph or a part of one."""
    return _BEGINS.sub(_begun, _MARKS.sub(r"\\\1", in_html(text, most)))


def catalog_paragraph(
    text: str, most: int = 4000, write: Callable[[str], str] | None = None
) -> str:
    """Write a paragraph of the catalog: what stands between backticks is code.

    `write` escapes the rest, as `prose` does where it is left out.
    """
    write = write or prose
    pieces = _QUOTED.split(flat(text, most))
    if "`" in "".join(pieces):
        return write(flat(text, most))
    return "".join(
        code(piece, most) if number % 2 else _kept_ends(piece, write)
        for number, piece in enumerate(pieces)
    )


def _kept_ends(piece: str, write: Callable[[str], str]) -> str:
    """Write a piece of a paragraph, with the blanks at its ends."""
    inside = piece.strip()
    before, after = " " * piece.startswith(" "), " " * piece.endswith(" ")
    return f"{before}{write(inside)}{after}" if inside else before


def _begun(found: re.Match[str]) -> str:
    return f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}"


def cell(text: str, most: int = 400) -> str:
    """Write a text as a cell of a table."""
    return prose(text, most).replace("\\|", "&#124;")


def code_cell(text: str, most: int = 400) -> str:
    """Write a text as code in a cell of a table; a span in backticks would end at a pipe."""
    return f"<code>{inside}</code>" if (inside := cell(text, most)) else ""


def code(text: str, most: int = 400) -> str:
    """Write foreign text as a span of code."""
    return code_span(flat(text, most))


def code_span(line: str) -> str:
    """Write a line as a span of code, its backticks kept.

    https://spec.commonmark.org/0.31.2/#code-spans
    """
    if not line:
        return ""
    fence = "`" * (_longest(line) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def fenced(text: str, language: str) -> str:
    """Write foreign text as a block of code."""
    return code_block(sanitize(text).translate({0x2028: " ", 0x2029: " "}).strip("\n"), language)


def code_block(text: str, language: str) -> str:
    """Write a text as a block of code, with a fence that is longer than any in it.

    https://spec.commonmark.org/0.31.2/#fenced-code-blocks
    """
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(title: str, body: str) -> str:
    """Write a part that opens and closes; the title is HTML already, the body is Markdown."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def link(address: str) -> str:
    """Write an address as a link.

    One into GitHub goes through redirect.github.com, so that the thread shows no back-reference.
    """
    if not _ADDRESS.fullmatch(address):
        return code(address)
    shown = re.sub(r"^https?://(?:www\.)?", "", address)
    target = _BACKLINK.sub("https://redirect.github.com/", address)
    return f"[{prose(shown, 200)}](<{escape(target, quote=False)}>)"


def _longest(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)
