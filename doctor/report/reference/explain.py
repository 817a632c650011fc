"""One known issue, or one check, for a person at a terminal."""

from __future__ import annotations

from doctor.fixes.circumstances import circumstance
from doctor.fixes.lines import LineKind, recipe_lines
from doctor.model.checks import Check, Reach
from doctor.model.issues import KnownIssue, Recipe
from doctor.model.observation import TargetKind
from doctor.report.reference.conditions import VERIFIED, condition_text, row_text
from doctor.report.terminal.page import (
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    TerminalOptions,
    blank,
    code_line,
    glyph,
    look,
    paragraph,
    paragraph_text,
    rendered_lines,
    span,
    url,
    verbatim,
    without_placeholders,
)
from doctor.report.view.words import flags


def render(id_: str, issue: KnownIssue, *, width: int, colour: bool, unicode: bool) -> str:
    """Return what is known about one issue; placeholders such as `{torch.version}` stay open."""
    how = look(width=width, unicode=unicode, colour=colour, verbosity=1)
    return rendered_lines(_issue(id_, issue, how), how)


def render_check(check: Check, *, width: int, colour: bool, unicode: bool) -> str:
    """Return what one check does, what it needs and what its failure means."""
    how = look(width=width, unicode=unicode, colour=colour, verbosity=1)
    return rendered_lines(_check(check, how), how)


def _issue(id_: str, issue: KnownIssue, how: TerminalOptions) -> Lines:
    word = f"{glyph(issue.severity.value, how)} {issue.severity.value}"
    yield from paragraph(
        span(how, (paragraph_text(without_placeholders(issue.title, how), how), "bold")),
        how,
        indent=0,
        label=(word, STYLES[issue.severity]),
        column=11,
    )
    yield from paragraph(span(how, (paragraph_text(id_, how), QUIET)), how, indent=11)
    yield blank()
    yield from paragraph(issue.cause, how)
    yield from _recognised(issue, how)
    for number, recipe in enumerate(issue.fixes):
        yield blank()
        yield from _recipe(recipe, how, label="or" if number else "fix")
    yield from _background(issue, how)


def _recognised(issue: KnownIssue, how: TerminalOptions) -> Lines:
    yield blank()
    for number, row in enumerate(issue.affected):
        told = (f" ({row.predicts.value} by itself)", QUIET) if row.predicts else ""
        yield from paragraph(
            span(how, row_text(row), told), how, label=("or" if number else "applies", QUIET)
        )
    if issue.certain:
        yield from paragraph("these facts alone prove it", how, label=(" ", QUIET))
    for number, signature in enumerate(issue.signatures):
        also = f" with {' and '.join(signature.also)}" if signature.also else ""
        unless = f" but not with {' or '.join(signature.unless)}" if signature.unless else ""
        text = span(
            how,
            paragraph_text(signature.pattern, how),
            (" " + paragraph_text(also + unless, how), QUIET),
        )
        yield from paragraph(text, how, label=(" " if number else "in a log", QUIET))
    for number, proof in enumerate(issue.proofs):
        devices = f" on {', '.join(proof.devices)}" if proof.devices else ""
        case = f", case {proof.case}" if proof.case else ""
        yield from paragraph(
            f"{proof.check}{case}{devices}", how, label=(" " if number else "shown by", QUIET)
        )


def _recipe(recipe: Recipe, how: TerminalOptions, *, label: str) -> Lines:
    conditions = [
        one if isinstance(one, str) else circumstance(one) or condition_text(one)
        for one in recipe.use_if
    ]
    when = f"if {paragraph_text(' and '.join(conditions), how)}: " if conditions else ""
    title = span(
        how,
        (when, QUIET),
        paragraph_text(recipe.title, how),
        (f" ({noted})" if (noted := flags(recipe)) else "", "yellow"),
    )
    yield from paragraph(title, how, label=(label, "bold"))
    for each in recipe_lines(recipe):
        shown = f"in {each.text}:" if each.kind is LineKind.FILE else each.marked
        yield from verbatim(code_line(shown, how), how, indent=6, style=COMMAND)
    for name, meaning in recipe.ask.items():
        yield from paragraph(paragraph_text(f"<{name}> is {meaning}", how), how, indent=6)
    if recipe.note:
        yield from paragraph(paragraph_text(recipe.note, how), how, indent=6)
    for effect, patterns in (("comes first with", recipe.shown), ("not with", recipe.unless)):
        if patterns:
            text = paragraph_text(f"{effect} {' or '.join(patterns)} in the log", how)
            yield from paragraph(span(how, (text, QUIET)), how, indent=6)


def _background(issue: KnownIssue, how: TerminalOptions) -> Lines:
    yield blank()
    how_known = VERIFIED.get(issue.verified.how, issue.verified.how)
    told = f"{how_known}, {issue.verified.checked.isoformat()}"
    told += f": {issue.verified.note}" if issue.verified.note else ""
    yield from paragraph(told, how, label=("verified", QUIET))
    for label, ids in (("explains", issue.symptoms), ("related", issue.related)):
        if ids:
            yield from paragraph(", ".join(ids), how, label=(label, QUIET))
    for reference in issue.references:
        yield from paragraph(
            span(
                how,
                paragraph_text(reference.what, how),
                (f" (opened {reference.opened.isoformat()})", QUIET),
            ),
            how,
            label=("source", QUIET),
        )
        yield from url(reference.url, how, indent=2, label=" ")


_TARGETS = {TargetKind.INTERPRETER: "interpreter", TargetKind.CARGO: "Cargo workspace"}
_DEVICES = {
    Reach.EACH: "every device that answers, each in a process of its own",
    Reach.HOST: "none: it looks at the machine",
}


def _check(check: Check, how: TerminalOptions) -> Lines:
    header = check.header
    yield from paragraph(
        span(
            how,
            (paragraph_text(check.id, how), "bold"),
            (f"  {header.kind.value}, {header.tier.value}", QUIET),
        ),
        how,
        indent=0,
    )
    yield from paragraph(header.summary, how)
    for part in check.explanation.split("\n\n"):
        yield blank()
        yield from paragraph(part, how)
    yield blank()
    rows = {
        "needs": ", ".join(header.needs) or f"nothing but the {_TARGETS[header.target]}",
        "devices": _DEVICES[header.devices],
        "cases": ", ".join(header.cases),
        "bound": f"{header.timeout:.0f} s for the whole check",
        "python": check.requires_python,
    }
    for label, text in rows.items():
        if text:
            yield from paragraph(text, how, label=(label, QUIET))
    yield from paragraph("by hand, with the interpreter in question:", how, label=("run", QUIET))
    yield from verbatim(f"python {check.path}", how, indent=6, style=COMMAND)
