"""What to do about a finding, in the words that formats for machines share: plain, or as Markdown."""

from __future__ import annotations

import html
import re

from doctor.base.text import sanitize
from doctor.fixes.lines import LineKind, fix_lines
from doctor.fixes.shell import line, shell_of
from doctor.model.findings import Evidence, Finding
from doctor.model.fixes import Fix
from doctor.report.view.words import flags

_MARKUP = re.compile(r"([\\`*_\[\]|~#])")
_LONGEST_COMMAND = 4000
_FEW, _MOST_FIXES, _MOST_LINES = 3, 20, 60


def short(text: str, most: int) -> str:
    """Return foreign text without control characters, cut where it is longer than `most` characters, and then it says so."""
    whole = sanitize(text[: 2 * most])
    return whole if len(whole) <= most and len(text) <= 2 * most else whole[: most - 2] + " …"


def one_line(text: str, most: int) -> str:
    """Return foreign text as one line."""
    return " ".join(short(text, most).split())


def commands(fix: Fix, *, windows: bool = False) -> tuple[str, ...]:
    """Return what to type, or the change in the user's own source as lines with `-` and `+`."""
    lines = [
        one for one in fix_lines(fix, shell_of(windows=windows)) if one.kind is not LineKind.FILE
    ]
    return tuple(short(each.marked, _LONGEST_COMMAND) for each in lines[:_MOST_LINES])


def heading(fix: Fix) -> str:
    """Return what a fix does, when it is the right one, and what to know before following it."""
    when = f"If {' and '.join(fix.use_if)}: " if fix.use_if else ""
    noted = f" ({told})" if (told := flags(fix)) else ""
    where = f", in {fix.snippet.where}" if fix.snippet else ""
    return one_line(f"{when}{fix.title}{noted}{where}", 600)


def first_fix(found: Finding, *, windows: bool = False) -> str:
    """Return the first fix of a finding as lines of plain text; empty where it has none."""
    if not found.fixes:
        return ""
    fix = found.fixes[0]
    return "\n".join(
        (f"Fix: {heading(fix)}", *(f"  {each}" for each in commands(fix, windows=windows)))
    )


def seen(evidence: Evidence) -> str:
    """Return a piece of evidence as one line, with where it was seen."""
    source = evidence.source + (f":{evidence.line}" if evidence.line is not None else "")
    return one_line(evidence.text, 400) + (f" ({one_line(source, 200)})" if source else "")


def evidence(found: Finding) -> str:
    """Return the first pieces of evidence as lines of plain text."""
    return "\n".join(f"Seen: {seen(each)}" for each in found.evidence[:_FEW])


def in_markdown(text: str) -> str:
    """Return foreign text so that Markdown shows it as it is: no markup, and no HTML."""
    return _MARKUP.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))


def fenced(text: str, language: str = "sh") -> str:
    """Return text as a block of code whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def fixes_in_markdown(found: Finding, *, windows: bool = False) -> list[str]:
    """Return the fixes of a finding, each with what to type, as Markdown."""
    return [_fix(fix, windows=windows) for fix in found.fixes[:_MOST_FIXES]]


def _fix(fix: Fix, *, windows: bool) -> str:
    lines = commands(fix, windows=windows)
    changed = fix.snippet or any(step.edit for step in fix.steps)
    language = "diff" if changed else "powershell" if windows else "sh"
    verify = (
        f"\n\nThen see that it took:\n\n{fenced(short(line(fix.verify, shell_of(windows=windows)), _LONGEST_COMMAND))}"
        if fix.verify
        else ""
    )
    return (
        f"**{in_markdown(heading(fix))}**"
        + (f"\n\n{fenced(chr(10).join(lines), language)}" if lines else "")
        + verify
    )
