"""The checks on a terminal: a line for each way in which one ended, and what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from doctor.model.facts import Facts
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.report import Report
from doctor.report.terminal.line import Line
from doctor.report.terminal.page import (
    QUIET,
    Lines,
    TerminalOptions,
    blank,
    code_line,
    elided,
    glyph,
    paragraph,
    paragraph_text,
    span,
    verbatim,
)
from doctor.report.view.deselected import deselected, each_deselected
from doctor.report.view.newer_tables import beyond
from doctor.report.view.outcomes import (
    WORDS,
    cached,
    devices,
    grouped,
    innermost,
    partly,
    remarks,
)
from doctor.report.view.phrases import first_sentence
from doctor.report.view.unreached import unreached
from doctor.report.view.words import count, facts_wanted

_LOG_LINES = 30
_ROOM = 20
_MANY = 3
_MOST_LINES = 8
_DEVICES = 4
"""Width of the column of devices while it is not known which will follow."""
_COLOURS = {Verdict.PASSED: "green", Verdict.SKIPPED: QUIET, Verdict.BROKEN: "yellow"}


def checks(
    outcomes: Sequence[Outcome], facts: Facts, how: TerminalOptions, *, shown: Collection[str] = ()
) -> Lines:
    """Yield the checks; devices on which one ended alike share a line.

    `shown` are the ids of those that the terminal shows already.
    """
    outcomes = [outcome for outcome in outcomes if outcome.id not in shown]
    if not outcomes:
        return
    if not shown:
        yield blank()
    groups = grouped(outcomes, facts)
    likewise = Counter(filter(None, map(_shared, groups))) if not how.wordy else Counter()
    first = {
        why: next(alike for alike in groups if _shared(alike) == why)
        for why, times in likewise.items()
        if times >= _MANY
    }
    groups = [alike for alike in groups if first.get(_shared(alike), alike) is alike]
    quiet = (
        [alike for alike in groups if _is_quiet(alike)]
        if not how.wordy and len(groups) + len(shown) > _MOST_LINES
        else []
    )
    yield from _together([alike for alike in quiet if alike[0].verdict is Verdict.PASSED], how)
    groups = [alike for alike in groups if alike not in quiet]
    names = max((len(paragraph_text(alike[0].id, how, most=60)) for alike in groups), default=0)
    wide = max((len(_devices(alike, how)) for alike in groups), default=0)
    for alike in groups:
        name = (
            f"{paragraph_text(alike[0].id, how, most=60):<{names}}  {_devices(alike, how):<{wide}}"
        )
        yield from _check(
            alike, name, how, more=likewise[_shared(alike)] - 1 if _shared(alike) in first else 0
        )
    if left := [_named(alike, how) for alike in quiet if alike[0].verdict is Verdict.SKIPPED]:
        yield from paragraph(
            f"skipped: {', '.join(left)} (why: -v)",
            how,
            label=(glyph("skipped", how), QUIET),
            column=3,
        )


def check_line(
    outcomes: Sequence[Outcome], facts: Facts, names: int, how: TerminalOptions
) -> Lines:
    """Yield one check that has ended, a line for each way in which it ended on its devices.

    `names` is the width of the column of names.
    """
    for alike in grouped(outcomes, facts):
        name = f"{paragraph_text(alike[0].id, how, most=60):<{names}}  "
        name += f"{_devices(alike, how):<{_DEVICES}}"
        yield from _check(alike, name, how)


def _is_quiet(alike: Sequence[Outcome]) -> bool:
    """Return whether a check passed or was skipped, and tells nothing beside."""
    first = alike[0]
    return first.verdict in (Verdict.PASSED, Verdict.SKIPPED) and not remarks(alike)


def _named(alike: Sequence[Outcome], how: TerminalOptions) -> str:
    where = _devices(alike, how)
    return paragraph_text(alike[0].id, how, most=60) + (f" on {where}" if where else "")


def _together(quiet: Sequence[Sequence[Outcome]], how: TerminalOptions) -> Lines:
    """Yield the checks that passed: a paragraph for those of the same devices."""
    for where in dict.fromkeys(_devices(alike, how) for alike in quiet):
        same = [alike for alike in quiet if _devices(alike, how) == where]
        seconds = f"{sum(outcome.seconds for alike in same for outcome in alike):.1f} s"
        text = ", ".join(paragraph_text(alike[0].id, how, most=60) for alike in same)
        text += f"; {where}, {seconds}" if where else f"; {seconds}"
        yield from paragraph(text, how, label=(glyph("passed", how), "green"), column=3)


def _shared(alike: Sequence[Outcome]) -> str:
    """Return why a check about no device was skipped: many checks share one reason.

    Empty for all others.
    """
    return (
        alike[0].reason if alike[0].verdict is Verdict.SKIPPED and alike[0].device is None else ""
    )


def _check(alike: Sequence[Outcome], name: str, how: TerminalOptions, *, more: int = 0) -> Lines:
    first = alike[0]
    style = "bold red" if first.verdict in RED else _COLOURS[first.verdict]
    seconds = (
        ""
        if first.verdict is Verdict.SKIPPED
        else f"{sum(outcome.seconds for outcome in alike):.1f} s"
    )
    mark = glyph("red" if first.verdict in RED else first.verdict.value, how)
    why = (f"and {count(more, 'more check')}: " if more else "") + _why(first, how)
    lines = [paragraph_text(line, how, most=200) for line in remarks(alike)]
    if first.verdict is Verdict.PASSED and not why and len(lines) == 1:
        why, lines = lines[0], []
    head = span(
        how,
        (f"{mark:<2} ", style),
        (f"{name} {seconds:>7}  ", "" if first.verdict is Verdict.PASSED else style),
    )
    because = span(how, (why, QUIET if first.verdict in _COLOURS else ""))
    yield from _beside(head, because, how, brief=first.verdict is Verdict.SKIPPED and not how.wordy)
    for line in lines:
        yield from paragraph(span(how, (line, QUIET)), how, indent=5)
    for case_name, case in first.cases.items() if how.wordy else ():
        reason = paragraph_text(case.reason, how)
        if case.verdict is not Verdict.PASSED and not (reason and reason in why):
            yield from paragraph(
                span(
                    how,
                    (f"{paragraph_text(case_name, how)} {WORDS[case.verdict]}: {reason}", QUIET),
                ),
                how,
                indent=5,
            )


def _beside(head: Line, why: Line, how: TerminalOptions, *, brief: bool) -> Lines:
    """Yield a check with its reason: beside it where there is room, else below it.

    A brief reason is cut to stay on the line.
    """
    room = how.width - 2 - head.cell_len
    if brief and why.cell_len > room >= _ROOM:
        more = glyph("more", how)
        why.truncate(room - len(more))
        why.append(more, QUIET)
    if why.cell_len <= room:
        yield from paragraph(head + why, how)
    else:
        yield from paragraph(head, how)
        yield from paragraph(why, how, indent=5)


def _why(outcome: Outcome, how: TerminalOptions) -> str:
    if outcome.verdict is Verdict.PASSED:
        return partly(outcome)
    ended = WORDS[outcome.verdict] + (
        f" by {paragraph_text(outcome.signal, how)}" if outcome.signal else ""
    )
    reason = innermost(outcome)
    if outcome.verdict is Verdict.SKIPPED and not how.wordy:
        ended, reason = "", first_sentence(reason)
    reason = elided(paragraph_text(reason, how, most=2000 if how.wordy else 240), how)
    return ": ".join(part for part in (ended, reason) if part)


def _devices(alike: Sequence[Outcome], how: TerminalOptions) -> str:
    return paragraph_text(devices(alike), how, most=40)


def not_checked(report: Report, how: TerminalOptions) -> Lines:
    """Yield what was not looked at, and why."""
    seen = report.observation
    less = each_deselected(seen) if how.wordy else deselected(seen)
    rows = [
        *cached(seen),
        *unreached(seen.facts, seen.outcomes),
        *(paragraph_text(row, how) for row in beyond(seen.facts)),
        *less,
    ]
    if how.wordy:
        rows += [
            f"{issue.id} is undecided: {facts_wanted(issue.missing_facts)} is not known"
            for issue in report.undecided
        ]
    elif report.undecided:
        rows.append(
            f"{count(len(report.undecided), 'known issue')} undecided: "
            "some facts are not known (-v names them)"
        )
    if rows and report.findings:
        yield blank()
    for row in rows:
        yield from paragraph(row, how, label=(glyph("skipped", how), QUIET), column=3)


def logs(outcomes: Sequence[Outcome], how: TerminalOptions) -> Lines:
    """Yield the last lines of what red and broken checks printed."""
    for outcome in outcomes:
        if outcome.log.strip() and (outcome.verdict in RED or outcome.verdict is Verdict.BROKEN):
            yield blank()
            where = f"{outcome.id} on {outcome.device}" if outcome.device else outcome.id
            yield from paragraph(span(how, ("Log of " + paragraph_text(where, how), "bold")), how)
            lines = [code_line(line, how) for line in outcome.log.splitlines() if line.strip()]
            if len(lines) > _LOG_LINES:
                yield from verbatim(
                    f"{glyph('bar', how)} {glyph('more', how)} "
                    f"{len(lines) - _LOG_LINES} lines before",
                    how,
                    indent=2,
                    style=QUIET,
                )
            for line in lines[-_LOG_LINES:]:
                yield from paragraph(
                    span(how, line), how, label=(glyph("bar", how), QUIET), column=2
                )
