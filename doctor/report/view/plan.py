"""A plan in blocks: what to do, what it changes and costs, what was proved, and the other ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from doctor.model.findings import Finding
from doctor.model.fixes import Fix as ModelFix
from doctor.model.plans import Change, Cost, Plan, Proof, ProofVerdict
from doctor.report.view import fixes
from doctor.report.view.blocks import Block, Commands, Fix, Paragraph, Piece, Steps, Style
from doctor.report.view.blocks import Change as Lines
from doctor.report.view.detail import PLACE, TITLE, Detail
from doctor.report.view.words import count, flat

_MOST = 12
_MIB = 1 << 20
_MINUTE = 60
_COPY = "in a copy of this environment"


class Group(NamedTuple):
    """A part of a plan: a label, and the blocks beside it."""

    label: str
    blocks: tuple[Block, ...]


def plan(
    found: Plan,
    findings: Sequence[Finding],
    detail: Detail,
    *,
    windows: bool,
    told: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Block]:
    """Yield the blocks of a plan, its alternatives last.

    `told` are titles of findings that are gone, by id; they come before those of `findings`.
    """
    titles = {**{one.id: one.title for one in findings}, **told}
    if not found.steps:
        yield Paragraph((Piece(flat(found.title, TITLE), Style.STRONG),), "plan")
        yield from _stays(found, titles)
        if found.proof is not None:
            yield from proof(found.proof)
        return
    yield _steps(found, detail, label="plan", windows=windows)
    yield from _moves(found.changes, detail)
    if cost := costs(found.cost):
        yield Paragraph((Piece(cost),), "cost")
    yield from _ends(found, titles)
    yield from _stays(found, titles)
    for number, note in enumerate(found.notes[:_MOST]):
        # Without a label of its own a note reads as if it were part of what the plan solves.
        yield Paragraph((Piece(flat(note, detail.line), Style.QUIET),), "" if number else "notes")
    if found.proof is not None:
        yield from proof(found.proof, _place(found))
    for other in found.alternatives[: detail.fixes]:
        yield _steps(other, detail, label="or", windows=windows)
        yield from _moves(other.changes, detail)
        if other.proof is not None:
            yield from proof(other.proof, _place(other))
        elif found.proof is not None:
            yield Paragraph((Piece("not tried", Style.QUIET),), "open")
    hidden = len(found.alternatives) - detail.fixes
    if hidden > 0:
        text = f"{count(hidden, 'other plan')} (-v)"
        yield Paragraph((Piece(text, Style.QUIET),), "more")


def _steps(found: Plan, detail: Detail, *, label: str, windows: bool) -> Fix:
    """Return the steps of a plan, which are written like those of a fix."""
    as_fix = ModelFix(kind="plan", title=found.title, steps=found.steps)
    block = fixes.fix(as_fix, detail, label=label, windows=windows)
    blocks: list[Paragraph | Steps | Lines | Commands] = list(block.blocks)
    return msgspec.structs.replace(block, blocks=tuple(blocks))


def _moves(changes: Sequence[Change], detail: Detail) -> Iterator[Paragraph]:
    """Yield what moves: packages of the stack by name, libraries that come along as a number."""
    companions = [one for one in changes if one.name.startswith("nvidia-")]
    shown = [one for one in changes if one not in companions] if len(changes) > _MOST else changes
    most = len(shown) if detail.evidence > _MOST else _MOST
    words = [moved(one) for one in shown[:most]]
    if (more := len(changes) - len(words)) > 0:
        words.append(f"{count(more, 'more package')} (-v)" if not detail.verify else f"{more} more")
    if words:
        yield Paragraph((Piece(flat(", ".join(words), 4000)),), "changes")


def moved(change: Change) -> str:
    """Return one change in words: `torch 2.5.1 → 2.13.0`, `new: pillow 12.0`, `gone: old 1`."""
    if change.before is None:
        return f"+ {change.name} {change.after}"
    if change.after is None:
        return f"- {change.name} {change.before}"
    if change.before == change.after:
        return f"{change.name} {change.after} again"
    return f"{change.name} {change.before} → {change.after}"


def costs(cost: Cost) -> str:
    """Return what a plan costs, in words; empty where nothing is known."""
    parts = []
    if cost.download_bytes is not None:
        parts.append(_bytes(cost.download_bytes))
    if cost.sudo:
        parts.append("an administrator (sudo)")
    if cost.reboot:
        parts.append("a restart of the machine")
    return ", ".join(parts)


def _bytes(number: int) -> str:
    if number == 0:
        return "nothing to download"
    if number < _MIB:
        return "less than 1 MiB to download"
    return f"{number / _MIB:,.0f} MiB to download"


def _ends(found: Plan, titles: Mapping[str, str]) -> Iterator[Paragraph]:
    yield from _named(found.solves, titles, "solves")


def _stays(found: Plan, titles: Mapping[str, str]) -> Iterator[Paragraph]:
    yield from _named(found.leaves, titles, "stays")


def _named(ids: Sequence[str], titles: Mapping[str, str], label: str) -> Iterator[Paragraph]:
    for number, name in enumerate(dict.fromkeys(ids)):
        pieces = [Piece(flat(titles[name], TITLE))] if name in titles else []
        pieces.append(Piece(flat(f"({name})" if pieces else name, PLACE), Style.QUIET))
        yield Paragraph(tuple(pieces), label if number == 0 else "")


def _place(found: Plan) -> str:
    """Return where a plan was carried out: its new environment cannot be made in its place."""
    first = found.steps[0].command if found.steps else None
    if first is not None and "venv" in first.argv[1:3]:
        return "in a new environment in a temporary folder"
    return _COPY


def proof(found: Proof, place: str = _COPY) -> Iterator[Paragraph]:
    """Yield what a proof showed, in which place, and what it cannot show here."""
    label, pieces = _verdict(found, place)
    yield Paragraph(pieces, label)
    for each in found.open:
        yield Paragraph((Piece(flat(each, 400), Style.QUIET),), "open")


def _verdict(found: Proof, place: str) -> tuple[str, tuple[Piece, ...]]:
    took = seconds(found.seconds)
    match found.verdict:
        case ProofVerdict.PROVED:
            text = f"in {took}: carried out {place}, and checked again there"
            more = [Piece(flat(f"({found.why})", 400), Style.QUIET)] if found.why else []
            return "proved", (Piece(text, Style.STRONG), *more)
        case ProofVerdict.NOT_PROVED:
            verdict = f"not proved after {took}:" if found.seconds else "not proved:"
            return "failed", (Piece(verdict, Style.WARNING), Piece(flat(found.why, 2000)))
        case ProofVerdict.NOT_POSSIBLE:
            return "open", (
                Piece("no proof possible:", Style.WARNING),
                Piece(flat(found.why, 2000)),
            )


def seconds(number: float) -> str:
    """Return a time in words: 14 s, 2 min 5 s."""
    whole = round(number)
    if whole < 2 * _MINUTE:
        return f"{max(whole, 1)} s"
    return f"{whole // _MINUTE} min {whole % _MINUTE} s"
