"""Foreign text in Markdown as GitHub and GitLab read it: no markup, no mention, no reference, no command to a runner."""

from __future__ import annotations

import re
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


def told(text: str, most: int = 4000) -> str:
    """Write a text as a paragraph in which what stands in backticks is code, as the catalog has it."""
    pieces = _QUOTED.split(flat(text, most))
    if "`" in "".join(pieces):
        return prose(text, most)
    return "".join(
        code(piece, most) if number % 2 else _kept_ends(piece)
        for number, piece in enumerate(pieces)
    )


def _kept_ends(piece: str) -> str:
    """Write a piece of a paragraph, with the blanks at its ends."""
    return (
        " " * piece.startswith(" ")
        + prose(piece)
        + " " * (piece.endswith(" ") and bool(piece.strip()))
    )


def _begun(found: re.Match[str]) -> str:
    return f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}"


def cell(text: str, most: int = 400) -> str:
    """Write a text as a cell of a table."""
    return prose(text, most).replace("\\|", "&#124;")


def code_cell(text: str, most: int = 400) -> str:
    """Write a text as code in a cell of a table; a span in backticks would end at a pipe."""
    return f"<code>{inside}</code>" if (inside := cell(text, most)) else ""


def code(text: str, most: int = 400) -> str:
    """Write a text as a span of code."""
    text = flat(text, most)
    if not text:
        return ""
    fence = "`" * (_longest(text) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def fenced(text: str, language: str) -> str:
    """Write a text as a block of code, with a fence that is longer than any in it."""
    text = sanitize(text).translate({0x2028: " ", 0x2029: " "}).strip("\n")
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(title: str, body: str) -> str:
    """Write a part that opens and closes; the title is HTML already, the body is Markdown."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def link(address: str) -> str:
    """Write an address as a link.

    One into GitHub leads through a door that leaves no trace on the thread it points to.
    """
    if not _ADDRESS.fullmatch(address):
        return code(address)
    shown = re.sub(r"^https?://(?:www\.)?", "", address)
    target = _BACKLINK.sub("https://redirect.github.com/", address)
    return f"[{prose(shown, 200)}](<{escape(target, quote=False)}>)"


def _longest(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)
