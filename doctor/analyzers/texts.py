"""Say what an event of a known kind means, from a table of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import fitting
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Confidence, Severity

_LONGEST = 120
"""Characters of an object in a title."""


class Text(NamedTuple):
    """What an analyzer says of one kind of event.

    The first of `titles` and of `causes` counts whose `{objects}` the event has. `contradicts` are
    patterns of ids of known issues, as an explanation has them.
    """

    titles: str | tuple[str, ...]
    causes: str | tuple[str, ...]
    recipes: tuple[Recipe, ...] = ()
    severity: Severity = Severity.NOTE
    precision: Precision = Precision.FAMILY
    contradicts: tuple[str, ...] = ()


def explained(case: Case, table: Mapping[str, Text]) -> Iterator[Explanation]:
    """Yield an explanation of each event whose kind is in the table.

    The same one comes once; of a kind, only those with the title that says most.
    """
    found = [
        (_rank(table[event.kind].titles, objects_of(event)), event.kind, one)
        for event in case.of(*table)
        if (one := explanation(case, event, table[event.kind])) is not None
    ]
    best = {kind: min(rank for rank, other, _ in found if other == kind) for _, kind, _ in found}
    titles: set[str] = set()
    for rank, kind, one in found:
        if rank == best[kind] and one.detection.title not in titles:
            titles.add(one.detection.title)
            yield one


def _rank(titles: str | Sequence[str], objects: Mapping[str, str]) -> int:
    """Return how far behind the first the title stands that can be filled."""
    texts = (titles,) if isinstance(titles, str) else titles
    return next((at for at, text in enumerate(texts) if filled(text, objects)), len(texts))


def explanation(
    case: Case, event: Event, text: Text, objects: Mapping[str, str] | None = None
) -> Explanation | None:
    """Return the explanation of one event; None where no title can be filled."""
    known = {**objects_of(event), **(objects or {})}
    title, cause = filled(text.titles, known), filled(text.causes, known)
    if title is None or cause is None:
        return None
    return Explanation(
        event=event,
        detection=detection(
            event,
            title,
            cause,
            recipes=fitting(case, text.recipes),
            severity=text.severity,
            confidence=(Confidence.MEDIUM if text.precision is Precision.EXACT else Confidence.LOW),
            captures=known,
        ),
        precision=text.precision,
        contradicts=text.contradicts,
    )


def objects_of(event: Event) -> dict[str, str]:
    """Return the objects of an event: those of a second wording, `a2`, by their plain name, `a`."""
    return {
        name.rstrip("0123456789"): value.rstrip(", ")
        for name, value in sorted(event.objects.items(), reverse=True)
        if value
    }


def filled(texts: str | Sequence[str], objects: Mapping[str, str]) -> str | None:
    """Return the first text whose placeholders all have a value, with these values."""
    values = {name: value[:_LONGEST].strip() for name, value in objects.items()}
    for text in (texts,) if isinstance(texts, str) else texts:
        wanted = {name for _, name, _, _ in Formatter().parse(text) if name}
        if all(values.get(name) for name in wanted):
            return text.format_map(values)
    return None
