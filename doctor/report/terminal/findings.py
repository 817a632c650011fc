"""The findings of a report: what is wrong, what shows it, and what to do."""

from __future__ import annotations

from doctor.fixes.lines import LineKind, fix_lines
from doctor.fixes.shell import line as shell_line
from doctor.fixes.shell import shell_of
from doctor.model.findings import Evidence, Finding
from doctor.model.fixes import Fix
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.terminal.page import (
    COLUMN,
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    Look,
    blank,
    elided,
    glyph,
    paragraph,
    said,
    span,
    url,
    verbatim,
)
from doctor.report.view.words import facts_wanted, flags

_FEW = 3
_FEW_FIXES = 2
_FEW_IDS = 8


_WHAT = {"cargo": "Cargo workspace"}


def finding(
    found: Finding, how: Look, *, windows: bool = False, several_targets: bool = False
) -> Lines:
    """Yield one finding.

    Of a note, only what it is and its first fix, unless everything is wanted.
    """
    style = STYLES[found.severity]
    word = f"{glyph(found.severity.value, how)} {found.severity.value}"
    yield blank()
    yield from paragraph(
        span(how, (said(found.title, how), "bold")),
        how,
        indent=0,
        label=(word, style),
        column=COLUMN + 2,
    )
    where = f", about the {_WHAT.get(found.target, found.target)}" if several_targets else ""
    yield from paragraph(
        span(how, (f"{said(found.id, how)}, {found.confidence.value} confidence{where}", QUIET)),
        how,
        indent=COLUMN + 2,
    )
    if found.severity is Severity.NOTE and not how.wordy:
        yield from _briefly(found, how)
        return
    yield from paragraph(span(how, elided(said(found.message, how), how)), how, indent=2)
    yield from _evidence(found.evidence, how)
    if found.place is not None:
        where = f"{found.place.path}:{found.place.line}"
        yield from paragraph(
            span(how, said(where, how, most=400)), how, label=("at", QUIET), column=COLUMN
        )
    yield from _fixes(found, how, windows=windows)
    yield from _links(found, how)


def suppressed(report: Report, how: Look) -> Lines:
    """Yield a line each for what is ignored, what the baseline knows and what of the baseline is gone."""
    ignored = [
        found
        for found in report.diagnosis.findings
        if found.suppressed and found.suppressed.by == "ignore"
    ]
    known = [
        found.id
        for found in report.diagnosis.findings
        if found.suppressed and found.suppressed.by != "ignore"
    ]
    told = [(f"{len(ignored)} ignored", [_ignored(found, how) for found in ignored])]
    told += [
        (f"{len(known)} in the baseline", known),
        (f"{len(report.gone)} of the baseline gone", list(report.gone)),
    ]
    for what, each in told:
        if each:
            yield blank()
            listed = each if how.wordy else each[:_FEW_IDS]
            more = f", and {len(each) - len(listed)} more (-v)" if len(each) > len(listed) else ""
            yield from paragraph(
                span(how, (f"{what}: {', '.join(said(one, how) for one in listed)}{more}", QUIET)),
                how,
            )


def _ignored(found: Finding, how: Look) -> str:
    why = f", for: {found.suppressed.reason}" if found.suppressed and how.wordy else ""
    return f"{found.id} until {found.suppressed.until}{why}" if found.suppressed else found.id


def _briefly(found: Finding, how: Look) -> Lines:
    if found.fixes:
        more = f" (-v shows {'it' if len(found.fixes) == 1 else f'all {len(found.fixes)}'})"
        yield from paragraph(
            span(how, said(found.fixes[0].title, how), (more, QUIET)), how, label=("fix", "bold")
        )
    elif found.settles:
        yield from _settles(found, how)
    else:
        yield from paragraph(span(how, said(found.message, how, most=240)), how)


def _evidence(evidence: tuple[Evidence, ...], how: Look) -> Lines:
    shown = evidence if how.wordy else evidence[:_FEW]
    for number, piece in enumerate(shown):
        source = piece.source + (f":{piece.line}" if piece.line is not None else "")
        text = elided(said(piece.text, how, most=4000 if how.wordy else 240), how)
        label = "seen" if number == 0 else ""
        body = span(
            how, text, (f"  ({elided(said(source, how, most=400), how)})", QUIET) if source else ""
        )
        yield from paragraph(body, how, label=(label or " ", QUIET), column=COLUMN)
    if len(evidence) > len(shown):
        yield from paragraph(
            span(how, (f"and {len(evidence) - len(shown)} more (-v)", QUIET)),
            how,
            indent=2 + COLUMN,
        )


def _fixes(found: Finding, how: Look, *, windows: bool) -> Lines:
    shown = found.fixes if how.wordy else found.fixes[:_FEW_FIXES]
    for number, fix in enumerate(shown):
        yield blank()
        yield from _fix(fix, how, label="fix" if number == 0 else "or", windows=windows)
    if len(found.fixes) > len(shown):
        yield from paragraph(
            span(how, (f"and {len(found.fixes) - len(shown)} more (-v)", QUIET)),
            how,
            indent=2 + COLUMN,
        )
    yield from _settles(found, how)


def _settles(found: Finding, how: Look) -> Lines:
    if found.settles:
        yield from paragraph(
            f"{facts_wanted(found.settles.split(', '))} would settle it",
            how,
            label=("unsure", "bold"),
        )


_STYLES = {LineKind.REMOVED: "red", LineKind.ADDED: "green", LineKind.TITLE: QUIET}


def _fix(fix: Fix, how: Look, *, label: str, windows: bool) -> Lines:
    when = f"if {said(' and '.join(fix.use_if), how)}: " if fix.use_if else ""
    title = span(
        how,
        (when, QUIET),
        said(fix.title, how),
        (f" ({noted})" if (noted := flags(fix)) else "", "yellow"),
    )
    yield from paragraph(title, how, label=(label, "bold"))
    shell = shell_of(windows=windows)
    for each in fix_lines(fix, shell):
        if each.kind is LineKind.FILE:
            yield from paragraph(
                span(how, ("in ", QUIET), said(each.text, how)), how, indent=2 + COLUMN
            )
        else:
            yield from verbatim(each.marked, how, indent=6, style=_STYLES.get(each.kind, COMMAND))
    if fix.note:
        yield from paragraph(span(how, (said(fix.note, how), QUIET)), how, indent=2 + COLUMN)
    if fix.verify:
        yield from paragraph(span(how, ("check:", QUIET)), how, indent=2 + COLUMN)
        yield from verbatim(shell_line(fix.verify, shell), how, indent=6, style=COMMAND)


def _links(found: Finding, how: Look) -> Lines:
    if found.symptoms or found.references:
        yield blank()
    if found.symptoms:
        yield from paragraph(", ".join(found.symptoms), how, label=("explains", QUIET))
    shown = found.references if how.wordy else found.references[:_FEW]
    for number, reference in enumerate(shown):
        yield from url(reference, how, indent=2, label=("source" if number == 0 else " ", QUIET))
