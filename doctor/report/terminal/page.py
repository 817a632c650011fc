"""Lines for a terminal: what may stand there, how it is wrapped, and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any, TypeAlias

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.base.text import command_places, one_line, sanitize
from doctor.facts.placeholders import HOLE
from doctor.model.scales import Severity
from doctor.report.terminal.line import Line

Lines: TypeAlias = Iterator[Line]
Part: TypeAlias = "str | tuple[str, str]"

COLUMN = 9
"""Width of the column of labels."""

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
QUIET = "dim"
COMMAND = "bold green"

_GLYPHS = {
    "passed": ("✓", "ok"),
    "red": ("✗", "!!"),
    "skipped": ("–", "--"),
    "broken": ("?", "??"),
    "error": ("✗", "!!"),
    "warning": ("!", "!"),
    "note": ("i", "i"),
    "dot": (" · ", " | "),
    "bar": ("│", "|"),
    "more": ("…", "..."),
}
_LONGEST = 4000
_ROOM = 24
_SEPARATORS = {0x2028: " ", 0x2029: " "}
"""Line and paragraph separator of Unicode: some programs end a line there."""

_IN_ASCII = {ord("…"): "...", ord("→"): "->"}

_LONG_PATH = Pattern(r"(?<![\w.$/:\\-])(?:\$HOME|~|[A-Za-z]:)?(?:[/\\][^\s/\\:;,'\"()]{1,255}){5,}")


class TerminalOptions(msgspec.Struct, frozen=True):
    """What the terminal can show, and how much is wanted."""

    width: int
    unicode: bool
    colour: bool
    verbosity: int
    links: bool

    @property
    def wordy(self) -> bool:
        """Whether everything is wanted."""
        return self.verbosity > 0


def look(
    *, width: int, unicode: bool, colour: bool = False, verbosity: int = 0, links: bool = False
) -> TerminalOptions:
    """Describe a terminal.

    Nothing is read from this process's own one, nor from its environment.
    """
    return TerminalOptions(max(width, 40), unicode, colour, verbosity, links)


def rendered_lines(lines: Iterable[Line], how: TerminalOptions) -> str:
    """Return lines as text that ends in a line feed."""
    if not how.colour:
        return "".join(f"{row.plain}\n" for line in lines for row in line.rows())
    from rich.console import Console

    file = StringIO()
    console = Console(
        file=file,
        width=how.width,
        height=25,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        highlight=False,
        _environ={},
    )
    for line in lines:
        console.print(as_rich(line), soft_wrap=True)
    return file.getvalue()


def as_rich(line: Line) -> Any:
    """Return a line as a Text of rich, which draws it."""
    from rich.text import Text

    return Text.assemble(*line.pieces)


def glyph(name: str, how: TerminalOptions) -> str:
    """Return a mark that this terminal can show."""
    return _GLYPHS[name][0 if how.unicode else 1]


def paragraph_text(text: str, how: TerminalOptions, *, most: int = _LONGEST) -> str:
    """Make foreign text fit for a paragraph: one line, no control characters, `most` characters."""
    return _spelled(one_line(text, most, glyph("more", how)), how)


def code_line(text: str, how: TerminalOptions, *, most: int = 500) -> str:
    """Make a line of a log or of code fit to be shown, its spaces as they are."""
    flat = sanitize(text[: 4 * most]).replace("\n", " ").expandtabs(8).rstrip()
    return _spelled(flat if len(flat) <= most else flat[:most] + glyph("more", how), how)


def without_placeholders(title: str, how: TerminalOptions) -> str:
    """Close the placeholders of a title that no machine has filled."""
    return HOLE.sub(lambda hole: hole[2] or glyph("more", how), title)


def elided(text: str, how: TerminalOptions) -> str:
    """Keep the last three names of long paths, unless everything is wanted: nobody copies them."""
    if how.wordy:
        return text
    return _LONG_PATH.sub(
        lambda path: glyph("more", how) + "/" + "/".join(re.split(r"[/\\]", path[0])[-3:]), text
    )


def span(how: TerminalOptions, *parts: Part) -> Line:
    """Join pieces of foreign text, each bare or with its style; nothing in them is markup."""
    line = Line()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(_spelled(sanitize(text), how), style)
    return line


def paragraph(
    body: Line | str,
    how: TerminalOptions,
    *,
    indent: int = 2,
    label: Part = "",
    column: int | None = None,
) -> Lines:
    """Wrap a text beside a label, or below it where there is no room.

    Further lines stand under the first.

    A bare string may be foreign: it is flattened to one line first.
    """
    body = span(how, paragraph_text(body, how)) if isinstance(body, str) else body
    column = COLUMN if label and column is None else column or 0
    head = span(how, " " * indent, label)
    head.pad_right(max(indent + column - head.cell_len, 0))
    if column and head.cell_len > indent + column:
        head.append(" ")
    if how.width - head.cell_len < _ROOM < how.width - indent:
        yield _harmless(head)
        head = Line(" " * (indent + 2))
    lines = body.wrap(max(how.width - head.cell_len, 2)) or [Line()]
    for number, line in enumerate(lines):
        yield _harmless((head if number == 0 else Line(" " * head.cell_len)) + line)


def verbatim(
    text: str, how: TerminalOptions, *, indent: int, style: str = "", mark: str = ""
) -> Lines:
    """Yield what is to be copied: never wrapped, never cut. `mark` stands before the first line."""
    for line in _spelled(sanitize(text), how).splitlines() or [""]:
        yield _harmless(span(how, " " * indent, (mark, QUIET), (line, style)))
        indent, mark = indent + len(mark), ""


def url(address: str, how: TerminalOptions, *, indent: int, label: Part = "") -> Lines:
    """Yield an address, whole, and as a link where the terminal knows links."""
    address = paragraph_text(address, how)
    head = span(how, " " * indent, label)
    head.pad_right(max(indent + COLUMN - head.cell_len, 0))
    yield _harmless(
        head
        + Line(address, f"{QUIET} link {address}" if how.links and " " not in address else QUIET)
    )


def blank() -> Line:
    """Return an empty line."""
    return Line()


def _spelled(text: str, how: TerminalOptions) -> str:
    text = text.translate(_SEPARATORS)
    if how.unicode:
        return text
    return text.translate(_IN_ASCII).encode("ascii", "backslashreplace").decode()


def _harmless(line: Line) -> Line:
    """Break with a blank what a runner of continuous integration takes for a command."""
    line.rstrip()
    for place in reversed([*command_places(line.plain)]):
        line = _parted(line, place)
    return line


def _parted(line: Line, place: int) -> Line:
    return line[:place] + Line(" ") + line[place:]
