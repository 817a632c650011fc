"""A report as a picture of a terminal, for a page that shows one."""

from __future__ import annotations

import re
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from doctor.model.report import Report
from doctor.report.terminal.document import page
from doctor.report.terminal.page import look

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


def render(report: Report, title: str) -> str:
    """Return the report as SVG, 80 columns wide, the same at every call.

    It loads nothing from elsewhere.
    """
    how = look(width=_WIDTH, unicode=True, colour=True)
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
    for line in page(report, how, catalog=False):
        for piece in _broken(line):
            console.print(piece, soft_wrap=True)
    form = _FONT.sub("", CONSOLE_SVG_FORMAT).replace(
        "Fira Code", "DejaVu Sans Mono, Menlo, Consolas"
    )
    svg = console.export_svg(title=title, theme=_THEME, code_format=form, unique_id="doctor")
    return "\n".join(line.rstrip() for line in svg.splitlines()).strip() + "\n"


def _broken(line: Text) -> list[Text]:
    """Break a line where a terminal would."""
    if line.cell_len <= _WIDTH:
        return [line]
    places = range(_WIDTH, len(line.plain), _WIDTH)
    return list(line.divide(places))


def words(svg: str) -> str:
    """Return what stands in a picture, to compare two of them whatever drew them."""
    return "".join(re.findall(r"<text[^<>]*>([^<]*)</text>", svg))
