"""Rules that need no catalog entry.

A red check that nothing explains, a package whose wishes are not met, a table that is violated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.facts.conditions import lookup
from doctor.facts.families import Requirement, TableCell
from doctor.facts.placeholders import as_text, fill_known
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.proofs import CaseRef, severity_of
from doctor.judge.match.signatures import label
from doctor.model.catalog import Catalog
from doctor.model.compat import Column, Table
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Condition, Option, Recipe
from doctor.model.observation import Observation, ProbeFailure
from doctor.model.outcomes import RED, Outcome, Verdict, refused_what
from doctor.model.roles import Role, has_role
from doctor.model.scales import Confidence, Severity

_OWN_MODULE = Pattern(r"No module named 'torch\.")
_AGAIN = Recipe(
    title="Install torch again, the same release",
    use_if=(
        Condition(fact="package.torch.installer", one_of=("uv", "pip")),
        "what the import says names a file of torch's own",
    ),
    steps=(
        Action(
            install=("torch=={package.torch.version}",),
            options=(
                Option.REINSTALL,
                Option.NO_DEPS,
            ),
        ),
    ),
)
_BROKEN = (
    "{} is broken and says nothing about this stack",
    (
        "The check script itself failed, so what it stands for was not looked at. "
        "Please report this fault of doctor."
    ),
)
_OVERWRITTEN = (
    "Something in this environment overwrote the result of {}",
    (
        "A check leaves its result in a file of its own. That file holds something else, written "
        "by a program or a package that the check started or imported. What the check stands for "
        "is not known."
    ),
)
_ENDED = {
    Verdict.FAILED: "failed",
    Verdict.CRASHED: "crashed",
    Verdict.TIMED_OUT: "ran out of time",
}


def unexplained_checks(
    observation: Observation, explained: frozenset[CaseRef], catalog: Catalog
) -> Iterator[Detection]:
    """Yield a finding for each failed check with a case that no other finding explains.

    Where an analyzer explains what the check printed, the finding says so.
    """
    for outcome in observation.outcomes:
        if outcome.verdict in RED:
            failed = [name for name, case in outcome.cases.items() if case.verdict in RED] or [""]
            unexplained = [
                name
                for name in failed
                if CaseRef(outcome.id, outcome.device, name) not in explained
            ]
            if unexplained:
                found = _failed_check(outcome, unexplained, observation)
                yield _with_explanation(found, outcome, observation, catalog)


def _failed_check(
    outcome: Outcome, unexplained: Sequence[str], observation: Observation
) -> Detection:
    cases = [
        f"{name}: {outcome.cases[name].reason}"
        for name in unexplained
        if name and outcome.cases[name].reason
    ]
    where = label(outcome, observation.facts)
    seen = [
        Evidence(kind=EvidenceKind.OUTCOME, text=text, source=where)
        for text in cases or [outcome.reason]
        if text
    ]
    in_import = has_role(outcome.id, Role.PROVES_TORCH) and outcome.device is None
    what = "import torch" if in_import else where
    # Whoever ran out of time was killed by doctor itself, which is no news.
    by = f"by {outcome.signal}" if outcome.signal and outcome.verdict is Verdict.CRASHED else ""
    return Detection(
        id=f"canary/{outcome.id}",
        target=outcome.target,
        title=" ".join(
            filter(
                None,
                (what, _ENDED[outcome.verdict], by),
            )
        ),
        severity=severity_of(outcome, unexplained),
        confidence=Confidence.MEDIUM,
        message=(
            f"doctor tried it here in a process of its own, and it {_ENDED[outcome.verdict]}. "
            "No known issue explains it."
        ),
        evidence=tuple(seen),
        recipes=(
            *((_again(outcome),) if in_import and outcome.verdict is not Verdict.TIMED_OUT else ()),
            _look_again(outcome),
        ),
    )


def _again(outcome: Outcome) -> Recipe:
    """Return how torch is installed again, on no condition where its own module is gone."""
    if not _OWN_MODULE.search(outcome.reason):
        return _AGAIN
    return msgspec.structs.replace(_AGAIN, use_if=_AGAIN.use_if[:1])


def _with_explanation(
    found: Detection, outcome: Outcome, observation: Observation, catalog: Catalog
) -> Detection:
    from doctor.judge.match.failures import explained_outcome  # a healthy machine does without

    explanation = explained_outcome(outcome, observation, catalog)
    # A note is about a mistake of the program, and a check makes none.
    if explanation is None or explanation.detection.severity is Severity.NOTE:
        return found
    cause = explanation.detection
    return msgspec.structs.replace(
        found,
        title=f"{found.title}: {cause.title}",
        message=cause.message,
        recipes=(*cause.recipes, *found.recipes),
        captures=cause.captures,
        references=cause.references,
    )


def _look_again(outcome: Outcome) -> Recipe:
    longer = ("--timeout", "600") if outcome.verdict is Verdict.TIMED_OUT else ()
    return Recipe(
        title="See the whole log of this check alone" + (", with more time" if longer else ""),
        steps=(
            Action(
                run=(
                    "doctor",
                    "check",
                    "--python",
                    "{python.executable}",
                    "--only",
                    outcome.id,
                    *longer,
                    "-v",
                )
            ),
        ),
        lasting=False,
    )


def broken_checks(observation: Observation) -> Iterator[Detection]:
    """Yield a warning for each check whose own script broke."""
    for outcome in observation.outcomes:
        if outcome.verdict is Verdict.BROKEN:
            where = label(outcome, observation.facts)
            title, message = _OVERWRITTEN if outcome.data.get("overwritten") else _BROKEN
            yield Detection(
                id=f"check/{outcome.id}",
                target=outcome.target,
                title=title.format(where),
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                message=message,
                evidence=(
                    Evidence(
                        kind=EvidenceKind.OUTCOME,
                        text=outcome.reason,
                        source=where,
                    ),
                ),
                recipes=(_look_again(outcome),),
            )


def failed_probes(observation: Observation, target: str) -> Iterator[Detection]:
    """Yield a note for each probe that crashed or hung of its own accord."""
    for failure in observation.probe_failures:
        if not refused_what(failure.why):
            yield _failed_probe(failure, target)


def _failed_probe(failure: ProbeFailure, target: str) -> Detection:
    return Detection(
        id=f"probe/{failure.probe}",
        target=target,
        title=f"The probe {failure.probe} did not finish",
        severity=Severity.NOTE,
        confidence=Confidence.HIGH,
        message="Its facts are unknown, and what depends on them was not judged.",
        evidence=(Evidence(kind=EvidenceKind.FACT, text=failure.why, source=failure.probe),),
    )


def violated_tables(
    catalog: Catalog, facts: Facts, cited: frozenset[str], target: str
) -> Iterator[Detection]:
    """Yield a finding for each violated compatibility table that no known issue covers.

    What a package itself asks for counts for more than a table: where that is known of the two, the
    table says nothing.
    """
    for table_name, table in catalog.tables.items():
        for column_name, column in table.columns.items():
            cell = TableCell(table_name, column_name)
            if (
                column.judge
                and cell.verdict not in cited
                and cell.is_violated(facts)
                and not _asked(table, column, facts)
            ):
                yield _violated(cell, table, column, facts, target)


def _asked(table: Table, column: Column, facts: Facts) -> bool:
    wanted, keys = (
        _package(column.fact),
        [_package(other.fact) for other in table.columns.values() if other.key],
    )
    return any(value_of(facts, Requirement(key, wanted).fact("met")) is not None for key in keys)


def _package(fact: str) -> str:
    parts = fact.split(".")
    return parts[1] if parts[0] == "package" else parts[0]


def _violated(
    cell: TableCell, table: Table, column: Column, facts: Facts, target: str
) -> Detection:
    captures = {
        "seen": as_text(value_of(facts, column.fact)),
        "wanted": cell.text("wanted", facts),
        **{key: as_text(value_of(facts, other.fact)) for key, other in table.columns.items()},
    }
    says = column.says or "{seen} stands where {wanted} is wanted"
    title = fill_known(says.replace("{", "{log."), {}, captures)
    return Detection(
        id=f"compat/{cell.table}/{cell.column}",
        target=target,
        title=title,
        severity=column.severity,
        confidence=Confidence.HIGH,
        message=table.title + ".",
        evidence=(
            fact_evidence(column.fact, facts),
            Evidence(
                kind=EvidenceKind.COMPAT,
                text=f"wanted: {captures['wanted']}",
                source=lookup(cell.fact("wanted"), facts).source,
            ),
        ),
        recipes=column.fixes,
    )
