"""The plan of `doctor fix` for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from types import MappingProxyType

from doctor.model.facts import value_of
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.report.terminal.blocks import block as written_block
from doctor.report.terminal.machine import head, wheel_tuple
from doctor.report.terminal.page import (
    Lines,
    TerminalOptions,
    blank,
    look,
    paragraph,
    rendered_lines,
    span,
)
from doctor.report.view.detail import GLANCE, WHOLE
from doctor.report.view.plan import plan as blocks_of


def render(
    report: Report,
    plan: Plan,
    *,
    remarks: Sequence[str] = (),
    told: Mapping[str, str] = MappingProxyType({}),
    verbosity: int,
    width: int,
    colour: bool,
    unicode: bool,
) -> str:
    """Return a plan as text of a width in cells; commands may be longer.

    `told` are titles of findings that the report does not have any more, by id.
    """
    how = look(width=width, unicode=unicode, colour=colour, verbosity=verbosity)
    return rendered_lines(
        dropwhile(lambda line: not line, _page(report, plan, remarks, told, how)), how
    )


def _page(
    report: Report,
    plan: Plan,
    remarks: Sequence[str],
    told: Mapping[str, str],
    how: TerminalOptions,
) -> Lines:
    facts = report.observation.facts
    if how.verbosity >= 0:
        yield from head(report, how)
        yield from wheel_tuple(facts, how)
        yield blank()
    windows = value_of(facts, "host.os") == "windows"
    detail = WHOLE if how.wordy else GLANCE
    for block in blocks_of(plan, report.findings, detail, windows=windows, told=told):
        yield from written_block(block, how)
    if remarks:
        yield blank()
    for remark in remarks:
        yield from paragraph(span(how, remark), how, indent=0)
