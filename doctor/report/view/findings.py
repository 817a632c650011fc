"""The findings of a report in blocks, the most important first.

A consequence stands under its cause in one line; a format with room for it shows it whole as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.base.own_name import own
from doctor.model.facts import value_of
from doctor.model.findings import Evidence as ModelEvidence
from doctor.model.findings import EvidenceKind, Suppression
from doctor.model.findings import Finding as ModelFinding
from doctor.model.fixes import Fix as ModelFix
from doctor.model.report import Report
from doctor.model.scales import Confidence, Severity
from doctor.planning.line_edits import line_edits
from doctor.report.view.blocks import (
    Block,
    Commands,
    Consequence,
    Consequences,
    Evidence,
    Finding,
    Links,
    Observed,
    Paragraph,
    Piece,
    Style,
    Suppressed,
)
from doctor.report.view.causes import causes
from doctor.report.view.check_plan import covered
from doctor.report.view.detail import ID, PLACE, TITLE, Detail
from doctor.report.view.fixes import fix
from doctor.report.view.phrases import first_sentence
from doctor.report.view.words import count, facts_wanted, flat

_TARGETS = {"cargo": "Cargo workspace"}
_FACTS = 2
"""Missing facts that a brief finding names."""


def findings(report: Report, detail: Detail) -> tuple[Finding, ...]:
    """Return the findings that count; a brief report leaves out the consequences of others."""
    counted = report.counted
    followers = causes(counted)
    planned = covered(report) if not detail.own_fixes else frozenset()
    return tuple(
        finding(
            found,
            detail._replace(fixes=0) if found.id in planned else detail,
            windows=on_windows(report),
            about=_about(found, report),
            consequences=tuple(
                counted[other] for other, cause in followers.items() if cause == place
            ),
            folded=place in followers,
            suggestions=tuple(_suggestions(found, report)) if detail.suggest else (),
        )
        for place, found in enumerate(counted)
        if place not in followers or not detail.brief
    )


def _suggestions(found: ModelFinding, report: Report) -> Iterator[Commands]:
    """Yield the lines of the project that would say what the plan says, as GitHub suggests them.

    In a comment on that line of a pull request, one click takes them over.
    """
    for edit in line_edits(found, report.observation.facts, report.plan):
        if edit.line_after:
            label = flat(f"Suggestion for {edit.place}", PLACE)
            yield Commands((edit.line_after,), "suggestion", label)


def suppressed(report: Report) -> tuple[Suppressed, ...]:
    """Return the findings that do not count."""
    return tuple(
        Suppressed(
            found.severity, flat(found.title, TITLE), flat(found.id, ID), _why(found.suppressed)
        )
        for found in report.findings
        if found.suppressed is not None
    )


def _why(suppression: Suppression) -> str:
    until = f"until {suppression.until}" if suppression.until else ""
    return flat(", ".join(filter(None, (suppression.by, suppression.reason, until))), PLACE)


def on_windows(report: Report) -> bool:
    """Return whether commands are for Windows."""
    return bool(value_of(report.observation.facts, "host.os") == "windows")


def finding(
    found: ModelFinding,
    detail: Detail,
    *,
    windows: bool = False,
    about: str = "",
    consequences: tuple[ModelFinding, ...] = (),
    folded: bool = False,
    suggestions: tuple[Commands, ...] = (),
) -> Finding:
    """Return one finding. A note is folded, and its brief form is its fix alone."""
    is_note = found.severity is Severity.NOTE and bool(detail.fixes)
    parts = _note if detail.brief and is_note else _parts
    return Finding(
        severity=found.severity,
        title=flat(found.title, TITLE),
        id=flat(found.id, ID),
        confidence=found.confidence.value,
        about=about,
        place=flat(f"{found.place.path}:{found.place.line}", PLACE) if found.place else "",
        folded=folded or found.severity is Severity.NOTE,
        blocks=(
            *parts(found, detail, consequences, windows=windows),
            *suggestions,
            *([_more(found, detail, about)] if detail.brief else []),
        ),
    )


def _about(found: ModelFinding, report: Report) -> str:
    if len(report.observation.targets) < 2:
        return ""
    return flat(_TARGETS.get(found.target, found.target), ID)


def _parts(
    found: ModelFinding,
    detail: Detail,
    consequences: tuple[ModelFinding, ...],
    *,
    windows: bool,
) -> Iterator[Block]:
    yield from _cause(found, detail)
    seen = list(_seen(found, detail))
    if shown := tuple(seen[: detail.evidence]):
        yield Evidence(shown, 0 if detail.brief else len(seen) - len(shown))
    shown_fixes = _fixes_shown(found, detail)
    for number, each in enumerate(found.fixes[:shown_fixes]):
        yield fix(each, detail, label="or" if number else "fix", windows=windows)
    if (more := len(found.fixes) - shown_fixes) > 0 and detail.fixes > 1:
        yield Paragraph((Piece(f"and {count(more, 'other fix')}", Style.QUIET),))
    yield from _unsure(found, detail)
    if consequences:
        yield Consequences(tuple(map(_consequence, consequences)))
    yield from _links(found, detail, {other.id for other in consequences})


def _note(
    found: ModelFinding,
    detail: Detail,
    consequences: tuple[ModelFinding, ...],
    *,
    windows: bool,
) -> Iterator[Block]:
    if found.fixes:
        for number, each in enumerate(found.fixes[: _fixes_shown(found, detail)]):
            yield fix(each, detail, label="or" if number else "fix", windows=windows)
    elif found.missing_facts:
        yield from _unsure(found, detail)
    else:
        yield from _cause(found, detail)
    if consequences:
        yield Consequences(tuple(map(_consequence, consequences)))


def _fixes_shown(found: ModelFinding, detail: Detail) -> int:
    """Return how many fixes are shown: a second one where nobody knows whether the first applies.

    A reader who finds that its condition does not hold, or that it only looks, would have nothing
    else. Where the second one has a condition as well, a third without any is shown. A text alone
    never shows the whole machine, so that a finding of one always has two.
    """
    if not detail.brief or not found.fixes[: detail.fixes]:
        return detail.fixes
    shown = detail.fixes
    if _is_open(found.fixes[0]) or _is_of_text(found):
        shown += 1
        if all(one.use_if for one in found.fixes[:shown]) and not any(
            map(_is_open, found.fixes[shown : shown + 1])
        ):
            shown += 1
    return min(shown, len(found.fixes))


def _is_of_text(found: ModelFinding) -> bool:
    """Say whether a finding that blames something rests on the lines of a log alone."""
    return found.severity is not Severity.NOTE and all(
        piece.kind is EvidenceKind.LOG for piece in found.evidence
    )


def _is_open(fix: ModelFix) -> bool:
    return bool(fix.use_if) or not fix.lasting


def _cause(found: ModelFinding, detail: Detail) -> Iterator[Paragraph]:
    """Yield the cause; in a brief finding its first sentence, unless it is all that there is."""
    text = flat(found.message, detail.text)
    if detail.brief and (found.fixes or not detail.fixes):
        text = flat(_ended(first_sentence(text)), detail.line)
    if text.rstrip(".").casefold() != flat(found.title).rstrip(".").casefold():
        yield Paragraph((Piece(text, Style.PROSE),))


def _ended(sentence: str) -> str:
    return sentence if not sentence or sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def _seen(found: ModelFinding, detail: Detail) -> Iterator[Observed]:
    """Yield each line once; a brief finding leaves out what its title says."""
    known = {""}
    title = flat(found.title).casefold()
    for piece in found.evidence:
        text = flat(piece.text, detail.line)
        key = text.casefold()
        if key in known or (detail.brief and key in title):
            continue
        known.add(key)
        yield Observed(text, _source(piece, detail))


def _source(piece: ModelEvidence, detail: Detail) -> str:
    if detail.brief and piece.kind not in (EvidenceKind.LOG, EvidenceKind.OUTCOME):
        return ""
    line = f":{piece.line}" if piece.line is not None else ""
    return flat(piece.source, PLACE) + line


def _unsure(found: ModelFinding, detail: Detail) -> Iterator[Paragraph]:
    if names := found.missing_facts:
        shown = names[:_FACTS] if detail.brief else names
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        text = flat(f"not known here: {facts_wanted(shown)}{more}", detail.text)
        yield Paragraph((Piece(text),), "unsure")


def _consequence(found: ModelFinding) -> Consequence:
    return Consequence(found.severity, flat(found.title, TITLE), flat(found.id, ID))


def _links(found: ModelFinding, detail: Detail, shown: Iterable[str]) -> Iterator[Block]:
    if detail.brief:
        return
    if others := [flat(name, ID) for name in found.symptoms if name not in shown][
        : detail.explains
    ]:
        yield Paragraph(tuple(Piece(name, Style.CODE) for name in others), "explains", ", ")
    if found.references and detail.links:
        yield Links("sources", found.references[: detail.links])


def _more(found: ModelFinding, detail: Detail, about: str) -> Paragraph:
    """Return where the story stands: `doctor explain` for what the catalog knows, else the id."""
    seen = len(list(_seen(found, detail)))
    hidden = seen if found.severity is Severity.NOTE else seen - detail.evidence
    fixes = len(found.fixes) - _fixes_shown(found, detail)
    what = "other fix" if detail.fixes else "fix"
    more = [count(fixes, what)] if fixes > 0 else []
    more += ["evidence"] if hidden > 0 else []
    rest = [f"about the {about}"] if about else []
    if found.confidence is not Confidence.HIGH:
        rest.append(f"{found.confidence.value} confidence")
    rest += [f"-v: {', '.join(more)}"] if more else []
    id_ = flat(found.id, ID)
    pieces = [Piece(own(f"explain {id_}") if found.references else id_, Style.CODE)]
    pieces += [Piece(f"({'; '.join(rest)})", Style.QUIET)] if rest else []
    return Paragraph(tuple(pieces), "more" if found.references else "id")
