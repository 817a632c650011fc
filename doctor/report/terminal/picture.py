"""A report as a picture of a terminal, for a page that shows one."""

from __future__ import annotations

import re
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from doctor.model.report import Report
from doctor.report.terminal import document
from doctor.report.terminal.blocks import finding as block
from doctor.report.terminal.checks import check_line
from doctor.report.terminal.document import page
from doctor.report.terminal.line import Line
from doctor.report.terminal.page import Lines, TerminalOptions, as_rich, blank, look

_WIDTH = 80
_THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (13, 17, 23),
        (255, 123, 114),
        (126, 231, 135),
        (242, 204, 96),
        (121, 192, 255),
        (210, 168, 255),
        (118, 227, 234),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 161, 152),
        (156, 243, 160),
        (255, 223, 128),
        (165, 214, 255),
        (226, 197, 255),
        (160, 240, 245),
        (255, 255, 255),
    ],
)
_FONT = re.compile(r"@font-face \{\{.*?\n\s*\}\}\n", re.DOTALL)


_CLIP = re.compile(r'clip-path="url\(#doctor-line-(\d+)\)"')


def render(report: Report, title: str) -> str:
    """Return the report as SVG, 80 columns wide, the same at every call.

    It loads nothing from elsewhere.
    """
    return _drawn(page(report, _how(), catalog=False), title)


def render_live(first: Report, report: Report, title: str, *, seconds: float) -> str:
    """Return a check as SVG that shows each line when it appears, as `render` does.

    `first` is what files and tools gave. The run takes `seconds`, shared out as its checks took
    theirs. Who wants no motion sees all lines at once.
    """
    how = _how()
    found = document.shapes(first, how)
    pieces: list[tuple[float, list[Line]]] = [
        (0.0, [*document.opening(first, how), *(line for one in found for line in block(one, how))])
    ]
    facts, ran = (
        first.observation.facts,
        [one for one in report.observation.outcomes if one.seconds],
    )
    names = max((len(one.id) for one in ran), default=0)
    whole = sum(one.seconds for one in ran) or 1.0
    pieces.append((0.0, [blank()]))
    done = 0.0
    for one in ran:
        done += one.seconds / whole * seconds
        pieces.append((done, list(check_line((one,), facts, names, how))))
    shown = document.Screen(checks=frozenset(one.id for one in ran), findings=found)
    pieces.append((done, list(page(report, how, catalog=False, shown=shown))))
    times = [begun for begun, lines in pieces for line in lines for _ in _broken(line)]
    svg = _drawn((line for _, lines in pieces for line in lines), title)
    svg = _CLIP.sub(lambda line: f'{line[0]} style="--at: {times[int(line[1])]:.1f}s"', svg)
    return svg.replace("</style>", _MOTION + "</style>", 1)


_MOTION = """
    @media (prefers-reduced-motion: no-preference) {
        .doctor-matrix text { animation: doctor-line 0.1s var(--at, 0s) both; }
        @keyframes doctor-line { from { opacity: 0; } }
    }
    """


def _how() -> TerminalOptions:
    return look(width=_WIDTH, unicode=True, colour=True)


def _drawn(lines: Lines, title: str) -> str:
    console = Console(
        file=StringIO(),
        width=_WIDTH,
        height=25,
        record=True,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    for line in lines:
        for piece in _broken(line):
            console.print(as_rich(piece), soft_wrap=True)
    form = _FONT.sub("", CONSOLE_SVG_FORMAT).replace(
        "Fira Code", "DejaVu Sans Mono, Menlo, Consolas"
    )
    svg = console.export_svg(title=title, theme=_THEME, code_format=form, unique_id="doctor")
    return "\n".join(line.rstrip() for line in svg.splitlines()).strip() + "\n"


def _broken(line: Line) -> list[Line]:
    """Break a line where a terminal would."""
    if line.cell_len <= _WIDTH:
        return [line]
    places = range(_WIDTH, len(line.plain), _WIDTH)
    return line.divide(places)


def words(svg: str) -> str:
    """Return what stands in a picture, to compare two of them whatever drew them."""
    return "".join(re.findall(r"<text[^<>]*>([^<]*)</text>", svg))
