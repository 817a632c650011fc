"""Order findings by what to do first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.base.globs import matches_any
from doctor.model.findings import Detection, EvidenceKind
from doctor.model.roles import Role, has_role
from doctor.model.scales import Severity

_FAR = 1 << 30
_BESIDE = 1
"""Lines around an owning failure that still count as its own."""

Lines = Mapping[str, tuple[int, int]]
"""The first and the last line of the owning failure of each log, by the log's source."""


def ranked(
    findings: Sequence[Detection],
    *,
    general: frozenset[str] = frozenset(),
    owner: Any = None,
    owned: Lines | None = None,
) -> tuple[Detection, ...]:
    """Order findings by what to do first.

    The order is: severity, a cause before its symptoms, devices that do not answer, specific before
    general, confidence, issues that lack no fact, and nearness to the line that the failure begins
    with. A cause ranks with the worst of its symptoms, for it is what to mend. `general` are ids of
    issues that others may know better, `owner` is the fact `log.owner`, the line that the failure
    most likely begins with.

    Of a log, what explains its owning failure comes first, whatever its severity: `owned` are the
    lines of that failure.
    """
    linked = [_with_symptoms(one, findings) for one in findings]
    symptoms = {symptom for one in linked for symptom in one.symptoms}
    worst = {one.id: one.severity for one in sorted(linked, key=lambda one: one.severity)}
    owning = _owning(linked, owned or {})

    def key(one: Detection) -> tuple[bool | int | str, ...]:
        severity = max([one.severity, *(worst[symptom] for symptom in one.symptoms)])
        aside = bool(owned) and one.id not in owning
        return (
            bool(owned) and one.id in symptoms,
            aside and severity is Severity.NOTE,
            bool(owned) and one.id in general,
            aside,
            severity.rank,
            one.id in symptoms,
            not _is_about_device(one),
            one.id in general,
            one.confidence.rank,
            bool(one.missing_facts),
            _distance(one, owner),
            one.id,
        )

    return tuple(sorted(linked, key=key))


def _owning(findings: Sequence[Detection], owned: Lines) -> frozenset[str]:
    """Return the ids of what explains an owning failure, by its own lines or those of a symptom."""
    direct = {
        one.id
        for one in findings
        for evidence in one.evidence
        if evidence.line is not None
        and evidence.source in owned
        and owned[evidence.source][0] - _BESIDE
        <= evidence.line
        <= owned[evidence.source][1] + _BESIDE
    }
    return frozenset(one.id for one in findings if direct & {one.id, *one.symptoms})


def _is_about_device(found: Detection) -> bool:
    """Say whether a finding is about a device, or a torch, that does not even add two tensors.

    Whatever leans on that comes after it.
    """
    quotes = [each for each in found.evidence if each.kind is not EvidenceKind.FACT]
    return any(
        has_role(text.partition(" ")[0], Role.PROVES_TORCH)
        for each in quotes
        for text in (each.source, each.text)
    )


def _distance(found: Detection, owner: Any) -> int:
    """Return the number of lines between the evidence and the line that owns the failure."""
    if not isinstance(owner, dict):
        return 0
    lines = [
        evidence.line
        for evidence in found.evidence
        if evidence.line is not None and evidence.source == owner.get("source")
    ]
    return min((abs(line - owner.get("line", 0)) for line in lines), default=_FAR)


def _with_symptoms(found: Detection, findings: Sequence[Detection]) -> Detection:
    ids = [
        other.id
        for other in findings
        if other.id != found.id and matches_any(other.id, found.symptoms)
    ]
    return msgspec.structs.replace(found, symptoms=tuple(dict.fromkeys(ids)))
