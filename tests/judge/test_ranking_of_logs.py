"""Of a log, what explains its owning failure comes first."""

from __future__ import annotations

from doctor.judge.match.ranking import ranked
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.scales import Confidence, Severity

OWNED = {"log": (40, 60)}


def found(name: str, severity: Severity, line: int, symptoms: tuple[str, ...] = ()) -> Detection:
    """Return a finding with one line of the log as evidence."""
    return Detection(
        id=name,
        target="",
        title=name,
        severity=severity,
        confidence=Confidence.MEDIUM,
        message="",
        evidence=(Evidence(kind=EvidenceKind.LOG, text="text", source="log", line=line),),
        symptoms=symptoms,
    )


def order(
    *findings: Detection,
    general: tuple[str, ...] = (),
    owned: dict[str, tuple[int, int]] | None = OWNED,
) -> list[str]:
    """Return the ids in their order."""
    return [one.id for one in ranked(findings, general=frozenset(general), owned=owned)]


def test_a_warning_about_the_owning_failure_precedes_an_error_elsewhere() -> None:
    """Severity says how bad a problem is, not whether it is the one that was asked about."""
    one, other = found("a", Severity.WARNING, 50), found("b", Severity.ERROR, 3)
    assert order(one, other) == ["a", "b"]
    assert order(one, other, owned=None) == ["b", "a"]


def test_a_note_elsewhere_comes_last() -> None:
    """A note about other lines follows even a general error."""
    note, general = found("a", Severity.NOTE, 3), found("b", Severity.ERROR, 50)
    assert order(note, general, general=("b",)) == ["b", "a"]


def test_specific_precedes_general() -> None:
    """A general issue in the owning lines gives way to a specific one beside them."""
    general, specific = found("a", Severity.ERROR, 50), found("b", Severity.ERROR, 3)
    assert order(general, specific, general=("a",)) == ["b", "a"]


def test_a_cause_takes_the_place_of_its_symptom() -> None:
    """A cause counts as near where its symptom is, and precedes it."""
    symptom, cause = found("a", Severity.ERROR, 50), found("b", Severity.WARNING, 3, ("a",))
    other = found("c", Severity.ERROR, 4)
    assert order(symptom, cause, other) == ["b", "c", "a"]
