"""The findings of a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.fixes.lines import command_line
from doctor.fixes.shell import line, shell_of
from doctor.model.findings import Evidence, Finding
from doctor.model.fixes import Fix
from doctor.model.scales import Severity
from doctor.report.markdown.text import code, fenced, in_html, link, prose, told
from doctor.report.view.words import changes, facts_wanted, flags, flat

_MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}
_MOST_EVIDENCE = 10
_MOST_FIXES = 4
_MOST_LINKS = 5


def finding(found: Finding, *, windows: bool) -> str:
    """Return one finding; a note is folded."""
    mark = _MARKS[found.severity]
    body = "\n\n".join(_body(found, windows=windows))
    if found.severity is Severity.NOTE:
        return f"<details><summary>{mark} note: {in_html(found.title, 300)}</summary>\n\n{body}\n\n</details>"
    return f"### {mark} {found.severity.value}: {prose(found.title, 300)}\n\n{body}"


def suppressed(found: Sequence[Finding]) -> str:
    """Return the findings that do not count, each in a line, with the reason."""
    return "\n".join(
        f"- {_MARKS[one.severity]} {code(one.id, 120)}: {prose(one.title, 300)}{_reason(one)}"
        for one in found
    )


def _reason(found: Finding) -> str:
    why = found.suppressed
    if why is None:
        return ""
    parts = (why.by, prose(why.reason, 300), f"until {prose(why.until, 40)}" if why.until else "")
    return f" ({', '.join(filter(None, parts))})"


def _body(found: Finding, *, windows: bool) -> Iterator[str]:
    place = f", in {code(f'{found.place.path}:{found.place.line}')}" if found.place else ""
    yield f"{code(found.id, 120)}, {found.confidence.value} confidence{place}"
    yield told(found.message)
    if found.evidence:
        yield "**Seen**"
        yield fenced("\n".join(_evidence(found.evidence)), "text")
    for number, fix in enumerate(found.fixes[:_MOST_FIXES]):
        yield from _fix(fix, "Fix" if number == 0 else "Or", windows=windows)
    if (more := len(found.fixes) - _MOST_FIXES) > 0:
        yield f"and {more} more"
    if found.settles:
        yield f"**Unsure**: {prose(facts_wanted(found.settles.split(', ')))} would settle it"
    if found.symptoms:
        yield "Explains " + ", ".join(code(symptom, 120) for symptom in found.symptoms[:12])
    if found.references:
        yield "Sources: " + " · ".join(
            link(reference) for reference in found.references[:_MOST_LINKS]
        )


def _evidence(pieces: Sequence[Evidence]) -> Iterator[str]:
    for piece in pieces[:_MOST_EVIDENCE]:
        source = flat(piece.source, 300) + (f":{piece.line}" if piece.line is not None else "")
        yield flat(piece.text, 600) + (f"  ({source})" if source else "")
    if (more := len(pieces) - _MOST_EVIDENCE) > 0:
        yield f"and {more} more"


def _fix(fix: Fix, label: str, *, windows: bool) -> Iterator[str]:
    kind = shell_of(windows=windows)
    shell = kind.value
    when = f", if {prose(' and '.join(fix.use_if), 300)}" if fix.use_if else ""
    noted = f" *({prose(warned, 300)})*" if (warned := flags(fix)) else ""
    yield f"**{label}**{when}: {prose(fix.title, 400)}{noted}"
    if typed := [command_line(step, kind) for step in fix.steps if step.command]:
        yield fenced("\n".join(typed), shell)
    for where, changed in changes(fix):
        yield f"in {code(where, 300)}"
        yield fenced("\n".join(changed), "diff")
    if fix.note:
        yield prose(fix.note, 600)
    if fix.verify:
        yield "check:"
        yield fenced(line(fix.verify, kind), shell)
