"""A line is broken, cut and spaced as rich does it, whose Text is the measure."""

from __future__ import annotations

from io import StringIO

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from doctor.report.terminal.line import Line
from doctor.report.terminal.page import as_rich, look, rendered_lines

_SIGNS = st.sampled_from(
    ["a", "bc", " ", "  ", "\t", "\n", "漢", "é", "e\u0301", "🙂", "-", "x" * 9]
)
_TEXTS = st.lists(_SIGNS, max_size=12).map("".join)
_PIECES = st.lists(st.tuples(_TEXTS, st.sampled_from(["", "dim", "bold red"])), max_size=4)
_CONSOLE = Console(file=StringIO(), width=40, color_system=None, legacy_windows=False, _environ={})


def _both(pieces: list[tuple[str, str]]) -> tuple[Line, Text]:
    line = Line()
    for text, style in pieces:
        line.append(text, style)
    return line, Text.assemble(*pieces)


def _shown(lines: list[Line]) -> list[tuple[str, list[str]]]:
    return [(one.plain, [style for text, style in one.pieces for _ in text]) for one in lines]


def _of_rich(lines: list[Text]) -> list[tuple[str, list[str]]]:
    return [
        (
            one.plain,
            [
                next((str(s.style) for s in one.spans if s.start <= at < s.end), "")
                for at in range(len(one.plain))
            ],
        )
        for one in lines
    ]


@given(_PIECES, st.integers(2, 20))
@example([("漢漢漢漢", "dim"), (" ab", "")], 3)
@example([("word   ", ""), ("next", "dim")], 4)
def test_it_wraps_as_rich_does(pieces: list[tuple[str, str]], width: int) -> None:
    line, text = _both(pieces)
    wrapped = [*text.wrap(_CONSOLE, width, overflow="fold")]
    assert [one.plain for one in line.wrap(width)] == [one.plain for one in wrapped]
    if "\t" not in text.plain:
        assert _shown(line.wrap(width)) == _of_rich(wrapped)


@given(_PIECES, st.integers(1, 20))
def test_it_is_cut_as_rich_does(pieces: list[tuple[str, str]], width: int) -> None:
    line, text = _both(pieces)
    line.truncate(width)
    text.truncate(width)
    assert line.plain == text.plain
    assert line.cell_len == text.cell_len


@given(_PIECES)
def test_without_colour_it_is_what_rich_prints(pieces: list[tuple[str, str]]) -> None:
    line, text = _both(pieces)
    file = StringIO()
    _CONSOLE.file = file
    _CONSOLE.print(text, soft_wrap=True)
    assert rendered_lines([line], look(width=40, unicode=True)) == file.getvalue()
    assert as_rich(line) == text
