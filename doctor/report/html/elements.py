"""Pieces of a page: what is no `Markup` yet is text from elsewhere, and is escaped.

Every element is well-formed XML as well.
"""

from __future__ import annotations

import re
from html import escape

from doctor.base.text import sanitize
from doctor.report.view.words import flat

_VOID = frozenset({"meta", "link", "br"})
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]{1,2000}")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def el(tag: str, *inside: str, **attributes: str | None) -> Markup:
    """Make an element.

    `class_` and `aria_label` are the attributes class and aria-label, one that is None is left out.
    """
    given = {
        name.rstrip("_").replace("_", "-"): value
        for name, value in attributes.items()
        if value is not None
    }
    head = tag + "".join(f' {name}="{escape(_clean(value))}"' for name, value in given.items())
    return Markup(f"<{head} />" if tag in _VOID else f"<{head}>{joined(*inside)}</{tag}>")


def joined(*pieces: str) -> Markup:
    """Put pieces one behind the other."""
    return Markup(
        "".join(piece if isinstance(piece, Markup) else escape(_clean(piece)) for piece in pieces)
    )


def _clean(text: str) -> str:
    return _NO_CHARACTERS.sub("", sanitize(text))


def line(text: str, most: int = 4000) -> str:
    """Make foreign text one line; it is still to be escaped."""
    return flat(text, most)


def catalog_paragraph(text: str, most: int = 4000) -> Markup:
    """Write a paragraph in which what stands in backticks is code, as the catalog has it."""
    pieces = flat(text, most).split("`")
    if len(pieces) % 2 == 0:
        return joined(flat(text, most))
    return joined(
        *(el("code", piece) if number % 2 else piece for number, piece in enumerate(pieces))
    )


def link(address: str) -> Markup:
    """Write an address as a link; anything but one of the web stays text."""
    shown = line(re.sub(r"^https?://(?:www\.)?", "", address), 200)
    return (
        el("a", shown, href=address, rel="noreferrer")
        if _ADDRESS.fullmatch(address)
        else el("code", line(address, 400))
    )


def row(*cells: str, class_: str | None = None) -> Markup:
    """Make a row of a table; its first cell names it."""
    return el(
        "tr",
        el("th", cells[0], scope="row"),
        *(el("td", cell) for cell in cells[1:]),
        class_=class_,
    )


def table(caption: str, heads: tuple[str, ...], body: str, class_: str) -> Markup:
    """Make a table with a caption for those who do not see it."""
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in heads)))
    return el("table", el("caption", caption), head, body, class_=class_)


def folded(title: str, *body: str, class_: str | None = None, open_: bool = False) -> Markup:
    """Make a part of the page that opens and closes."""
    return el("details", el("summary", title), *body, class_=class_, open="" if open_ else None)


def section(name: str, title: str, *body: str) -> Markup:
    """Make a section with its heading; the name is where links lead to."""
    return el(
        "section",
        el("h2", title, id=f"{name}-title"),
        *body,
        id=name,
        aria_labelledby=f"{name}-title",
    )
