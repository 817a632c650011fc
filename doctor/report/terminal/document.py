"""The report for a person at a terminal, or reading a log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

import msgspec

from doctor.fixes.lines import command_line
from doctor.fixes.shell import Shell, shell_of
from doctor.model.facts import State, value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Fix
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.terminal.checks import checks, logs, not_checked
from doctor.report.terminal.machine import ended, head, interrupted, machine, wheel_tuple
from doctor.report.terminal.page import (
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    Part,
    TerminalOptions,
    blank,
    glyph,
    look,
    paragraph,
    paragraph_text,
    rendered_lines,
    span,
    verbatim,
)
from doctor.report.view import words
from doctor.report.view.assumptions import assumed
from doctor.report.view.blocks import Finding as Shape
from doctor.report.view.machine import wheel_tuple as wheel_tuple_of
from doctor.report.view.summary import summary
from doctor.report.view.words import count, value_text

_FEW_IDS = 8
_OF_INTEREST = (
    "candle.",
    "cudarc.",
    "crate.",
    "nvidia.",
    "cuda.",
    "compiler.",
    "build.",
    "torch.",
    "triton.",
    "gpu.",
    "env.",
    "libs.",
    "files.",
    "metal.",
    "rust.",
    "cargo.",
    "host.",
)


class Screen(msgspec.Struct, frozen=True):
    """What a terminal shows already: ids of checks, and findings in the form of this terminal."""

    checks: frozenset[str] = frozenset()
    findings: tuple[Shape, ...] = ()


def render(
    report: Report,
    *,
    verbosity: int,
    width: int,
    colour: bool,
    unicode: bool,
    links: bool = False,
    shown: Screen | None = None,
) -> str:
    """Return the report as text: `verbosity` -1 is findings and the last line, 1 is everything.

    `width` counts cells.

    Only commands, code and addresses may be longer than `width`, so that they can be copied whole.
    `shown` is what the terminal shows already.
    """
    how = look(width=width, unicode=unicode, colour=colour, verbosity=verbosity, links=links)
    if shown is not None:
        return rendered_lines(page(report, how, shown=shown), how)
    return rendered_lines(dropwhile(lambda line: not line, page(report, how)), how)


def page(
    report: Report, how: TerminalOptions, *, catalog: bool = True, shown: Screen | None = None
) -> Lines:
    """Yield the lines of a report, in the order in which they are read.

    `catalog` adds what it was judged against. `shown` is what the terminal shows already.
    """
    facts, quiet = report.observation.facts, how.verbosity < 0
    if shown is not None:
        lines = checks(report.observation.outcomes, facts, how, shown=shown.checks)
        yield from dropwhile(lambda line: not line, lines)  # a blank line stands there already
        if report.observation.interrupted:
            yield blank()
            yield from interrupted(how)
    elif not quiet:
        yield from opening(report, how)
        yield from checks(report.observation.outcomes, facts, how)
    if how.wordy:
        yield from logs(report.observation.outcomes, how)
        yield from facts_of_interest(report, how)
    yield from findings(report, how, shown.findings if shown else ())
    if not quiet:
        yield from not_checked(report, how)
    if how.wordy:
        yield from ruled_out(report, how)
    yield from foot(report, how, catalog=catalog)


def opening(report: Report, how: TerminalOptions) -> Lines:
    """Yield what is examined, and the machine; after a command, how that ended."""
    yield from head(report, how)
    if isinstance(told := value_of(report.observation.facts, "run.ended"), dict):
        yield from ended(told, value_of(report.observation.facts, "log.owner"), how)
        if not report.counted:
            return  # the machine explains nothing
        if wheel_tuple_of(report.observation.facts):
            yield blank()
    yield from wheel_tuple(report.observation.facts, how)
    yield from machine(report.observation.facts, how)


def findings(report: Report, how: TerminalOptions, shown: Sequence[Shape] = ()) -> Lines:
    """Yield every finding, or say what it means that there is none.

    Of findings that are `shown` already, yield what has changed.
    """
    if report.counted or shown:
        from doctor.report.terminal.changes import changed

        yield from changed(shapes(report, how), shown, report, how)
    if how.verbosity >= 0 and (not report.counted or report.exit_code == 4):
        yield blank()
        yield from _nothing(report, how)
    if report.findings or report.fixed:
        yield from suppressed(report, how)


def shapes(report: Report, how: TerminalOptions) -> tuple[Shape, ...]:
    """Return the findings that count, as this terminal shows them."""
    # What is healthy does without these imports.
    from doctor.report.view.detail import GLANCE, WHOLE
    from doctor.report.view.findings import findings as of_report

    return of_report(report, WHOLE if how.wordy else GLANCE)


def suppressed(report: Report, how: TerminalOptions) -> Lines:
    """Yield a line each for ignored findings, known findings and fixed ones."""
    given = report.findings
    ignored = [one for one in given if one.suppressed and one.suppressed.by == "ignore"]
    known = [one.id for one in given if one.suppressed and one.suppressed.by != "ignore"]
    groups = (
        (f"{len(ignored)} ignored", [_ignored(found, how) for found in ignored]),
        (f"{len(known)} in the baseline", known),
        (f"{len(report.fixed)} of the baseline gone", list(report.fixed)),
    )
    for what, each in groups:
        if each:
            yield blank()
            listed = each if how.wordy else each[:_FEW_IDS]
            more = f", and {len(each) - len(listed)} more (-v)" if len(each) > len(listed) else ""
            text = f"{what}: {', '.join(paragraph_text(one, how) for one in listed)}{more}"
            yield from paragraph(span(how, (text, QUIET)), how)


def _ignored(found: Finding, how: TerminalOptions) -> str:
    if not found.suppressed:
        return found.id
    why = f", for: {found.suppressed.reason}" if how.wordy else ""
    return f"{found.id} until {found.suppressed.until}{why}"


def _nothing(report: Report, how: TerminalOptions) -> Lines:
    text = words.nothing(report)
    mark, style = ("passed", "green") if text.startswith("Nothing found:") else ("broken", "yellow")
    yield from paragraph(
        span(how, (text, style if mark == "passed" else "")),
        how,
        label=(glyph(mark, how), style),
        column=3,
    )


def facts_of_interest(report: Report, how: TerminalOptions) -> Lines:
    """Yield the facts about the stack that are present, and why others are unknown."""
    known = {
        name: fact
        for name, fact in sorted(report.observation.facts.items())
        if name.startswith(_OF_INTEREST)
    }
    shown = {name: fact for name, fact in known.items() if fact.state is not State.ABSENT}
    packages = value_of(report.observation.facts, "packages")
    if shown or packages:
        yield blank()
        yield from paragraph(span(how, ("Facts", "bold")), how)
    column = min(max((len(name) for name in shown), default=0), 34) + 2
    for name, fact in shown.items():
        value = f"unknown: {fact.why}" if fact.state is State.UNKNOWN else value_text(fact.value)
        yield from paragraph(
            span(how, paragraph_text(value, how, most=400)),
            how,
            label=(paragraph_text(name, how, most=200), QUIET),
            column=column,
        )
    if isinstance(packages, dict):
        listed = ", ".join(f"{name} {version}" for name, version in packages.items())
        yield from paragraph(
            span(how, paragraph_text(listed, how, most=20000)),
            how,
            label=("packages", QUIET),
            column=column,
        )


def ruled_out(report: Report, how: TerminalOptions) -> Lines:
    """Yield the known issues that were dismissed, and by what."""
    if report.ruled_out:
        yield blank()
        yield from paragraph(span(how, ("Ruled out", "bold")), how)
    for issue in report.ruled_out:
        text = span(
            how,
            paragraph_text(issue.title, how),
            (f"  ({paragraph_text(issue.id, how)}: {paragraph_text(issue.why, how)})", QUIET),
        )
        yield from paragraph(text, how, label=(glyph("passed", how), "green"), column=3)


def foot(report: Report, how: TerminalOptions, *, catalog: bool = True) -> Lines:
    """Yield what the judgement leans on, and as the last line the counts."""
    yield blank()
    if how.verbosity >= 0:
        yield from plan(report, how)
        counted = report.counted if report.plan is None else ()
        # What is a note asks for nothing, and its fix is for whoever wants to be tidy.
        if len(counted) > 1 and (first := counted[0]).fixes and first.severity is not Severity.NOTE:
            yield from paragraph(
                span(
                    how,
                    (_condition(first.fixes[0], how), QUIET),
                    (paragraph_text(first.fixes[0].title, how), "bold"),
                    (f" ({paragraph_text(first.id, how)})", QUIET),
                ),
                how,
                indent=0,
                label=("Do first:", "bold"),
                column=10,
            )
            for command in _single_command(first.fixes[0], report):
                yield from verbatim(command, how, indent=10, style=COMMAND)
        if catalog:
            yield from paragraph(
                span(
                    how, (paragraph_text(glyph("dot", how).join(words.catalog(report)), how), QUIET)
                ),
                how,
                indent=0,
            )
    yield from paragraph(span(how, *_counts(report, how)), how, indent=0)


def plan(report: Report, how: TerminalOptions) -> Lines:
    """Yield the plan for all findings, where there is one."""
    if report.plan is None:
        return
    # What is healthy does without these imports.
    from doctor.report.terminal.blocks import block
    from doctor.report.view.check_plan import at_end
    from doctor.report.view.detail import GLANCE, WHOLE

    windows = value_of(report.observation.facts, "host.os") == "windows"
    for each in at_end(report, WHOLE if how.wordy else GLANCE, windows=windows):
        yield from block(each, how)
    yield blank()


def _condition(fix: Fix, how: TerminalOptions) -> str:
    """Return what has to hold before a fix is of use, as the start of a sentence."""
    return f"If {paragraph_text(' and '.join(fix.use_if), how)}: " if fix.use_if else ""


def _single_command(fix: Fix, report: Report) -> list[str]:
    """Return the command of a fix that is nothing but this one."""
    if len(fix.steps) != 1 or fix.use_if or fix.asks or fix.steps[0].command is None:
        return []
    shell = shell_of(windows=value_of(report.observation.facts, "host.os") == "windows")
    return [command_line(fix.steps[0], shell)] if shell is Shell.POSIX else []


def _counts(report: Report, how: TerminalOptions) -> Sequence[Part]:
    total, seen = summary(report), report.observation
    by_severity = [
        (total.error, Severity.ERROR),
        (total.warning, Severity.WARNING),
        (total.note, Severity.NOTE),
    ]
    parts: list[Part] = []
    for number, severity in by_severity:
        parts += [
            ", " if parts else "",
            (count(number, severity.value), STYLES[severity] if number else QUIET),
        ]
    parts.append(
        f"{glyph('dot', how)}{total.checked} checked, "
        f"{total.skipped} skipped, {total.broken} broken"
    )
    if report.exit_code == 4:
        parts.append((f"{glyph('dot', how)}nothing to judge", "bold yellow"))
    if seen.interrupted:
        parts.append((f"{glyph('dot', how)}interrupted", "bold yellow"))
    if seen.recording:
        parts.append((f"{glyph('dot', how)}a recording", "bold magenta"))
    if declared := assumed(seen.facts):
        parts.append(
            (
                glyph("dot", how) + paragraph_text(f"as if {', '.join(declared)}", how),
                "bold magenta",
            )
        )
    return parts


__all__ = ["Screen", "findings", "foot", "opening", "page", "render", "shapes"]
