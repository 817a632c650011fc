"""A line for a terminal: pieces of text, each with its style, measured in cells.

It does what rich's Text does for a report. That one brings a seventh of the static check's imports,
so rich itself draws only where there is colour (doctor.report.terminal.page).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from rich.cells import cell_len, chop_cells, set_cell_size

from doctor.base.lazy_pattern import Pattern

_TAB = 8
_WORD = Pattern(r"\S+\s*")


class Line:
    """Text in pieces, each with a style of rich; an empty one is false."""

    __slots__ = ("pieces",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces: list[tuple[str, str]] = [(text, style)] if text else []

    @property
    def plain(self) -> str:
        """The text without its styles."""
        return "".join(text for text, _ in self.pieces)

    @property
    def cell_len(self) -> int:
        """The width in cells."""
        return cell_len(self.plain)

    def append(self, text: str, style: str = "") -> None:
        """Add a piece."""
        if text:
            self.pieces.append((text, style))

    def pad_right(self, cells: int) -> None:
        """Add spaces without a style."""
        self.append(" " * cells)

    def truncate(self, width: int) -> None:
        """Cut what goes beyond a width in cells; half of a wide character becomes a space."""
        plain = self.plain
        if cell_len(plain) > width:
            fits = set_cell_size(plain, width)
            whole = len(fits) if plain.startswith(fits) else len(fits) - 1
            self.pieces = self[:whole].pieces
            self.append(fits[whole:])

    def rstrip(self) -> None:
        """Remove white space from the end."""
        self.pieces = self[: len(self.plain.rstrip())].pieces

    def wrap(self, width: int) -> list[Line]:
        """Break the line between words, and a word that is too long where the width ends."""
        lines: list[Line] = []
        for row in self.rows():
            for part in row.divide(_breaks(row.plain, width)):
                length, text = len(part), part.plain
                blanks = length - len(text.rstrip())
                kept = part[: length - min(blanks, max(length - width, 0))]
                kept.truncate(width)
                lines.append(kept)
        return lines

    def rows(self) -> list[Line]:
        """Return the lines between line feeds, with spaces in place of tabs."""
        ends = [number for number, sign in enumerate(self.plain) if sign == "\n"]
        starts = [0, *(end + 1 for end in ends)]
        return [
            self[start:end]._without_tabs()  # noqa: SLF001 - of this class
            for start, end in zip(starts, [*ends, len(self)], strict=True)
        ]

    def divide(self, places: Iterable[int]) -> list[Line]:
        """Return the parts between places, counted in characters."""
        return [self[start:end] for start, end in pairwise([0, *places, len(self)])]

    def _without_tabs(self) -> Line:
        if "\t" not in self.plain:
            return self
        line, column = Line(), 0
        for text, style in self.pieces:
            first, *others = text.split("\t")
            column += cell_len(first)
            for other in others:
                room = _TAB - column % _TAB
                first += " " * room + other
                column += room + cell_len(other)
            line.append(first, style)
        return line

    def __add__(self, other: Line) -> Line:
        line = Line()
        line.pieces = self.pieces + other.pieces
        return line

    def __getitem__(self, part: slice) -> Line:
        start, end, _ = part.indices(len(self))
        line, at = Line(), 0
        for text, style in self.pieces:
            line.append(text[max(start - at, 0) : max(end - at, 0)], style)
            at += len(text)
        return line

    def __len__(self) -> int:
        return sum(len(text) for text, _ in self.pieces)


def _breaks(text: str, width: int) -> Iterator[int]:
    """Yield the places at which a text is broken, in characters.

    White space stays with the word before it, and counts only before another word.
    """
    column = end = 0
    for found in _WORD.finditer(text):
        start, end = end, found.end()  # white space at the beginning is that of the first word
        word = text[start:end]
        long = cell_len(word.rstrip())
        if long <= width - column:
            column += cell_len(word)
        elif long > width:
            for part in chop_cells(word, width):
                if start:
                    yield start
                start, column = start + len(part), cell_len(part)
        elif column and start:
            yield start
            column = cell_len(word)
