"""Turn an observation into a report: derive facts, judge them, plan fixes, apply the policy."""

from __future__ import annotations

import msgspec

from doctor import __version__
from doctor.base.globs import matches_any
from doctor.base.time_limit import TIME_LIMIT, TimeLimitExceeded, time_limit
from doctor.facts.derive import derive
from doctor.judge.expectations import unmet
from doctor.judge.match import diagnose
from doctor.judge.match.unfinished import NOT_JUDGED, unfinished, without_texts
from doctor.judge.suppressions import Suppressed, suppress
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts
from doctor.model.findings import Detection, Finding, Suppression
from doctor.model.observation import Observation
from doctor.model.outcomes import Verdict
from doctor.model.plans import Plan
from doctor.model.report import CatalogStamp, Diagnosis, Report
from doctor.model.scales import Severity
from doctor.pipeline.policy import Policy, Selection, exit_code
from doctor.pipeline.stages import Derived, Findings
from doctor.redact.report import without_any_secrets

_EVERYTHING = Selection()
_DEFAULT = Policy()


def assess(
    observation: Observation,
    catalog: Catalog,
    policy: Policy = _DEFAULT,
    *,
    selection: Selection = _EVERYTHING,
    command: str = "check",
    seconds: float = TIME_LIMIT,
) -> Report:
    """Judge an observation within a number of seconds, and return the report.

    A check that takes longer is judged once more without logs and other texts. Raises
    TimeLimitExceeded where that takes too long as well, and for every other command.
    """
    try:
        with time_limit(seconds, NOT_JUDGED):
            return _assess(observation, catalog, policy, selection, command)
    except TimeLimitExceeded as error:
        if command != "check":
            raise
        late = unfinished(str(error), observation)
    with time_limit(seconds, NOT_JUDGED):
        short = without_texts(observation)
        return _assess(short, catalog, policy, selection, command, first=(late,))


def _assess(
    observation: Observation,
    catalog: Catalog,
    policy: Policy,
    selection: Selection,
    command: str,
    first: tuple[Detection, ...] = (),
) -> Report:
    selected = _selected(catalog, selection)
    # Secrets go before evidence is cut out of the texts.
    derived = derive_facts(without_any_secrets(observation), selected)
    seen = derived.observation
    diagnosis = diagnose(seen, selected)
    partial = command != "check" or selection.is_partial or seen.static or seen.interrupted
    is_idle = partial or not policy.suppressions
    suppressed = suppress(
        diagnosis.findings,
        policy.suppressions,
        open_ids=None if is_idle else _open_ids(seen, selected, diagnosis),
    )
    findings = _findings(derived, diagnosis, suppressed, policy, selection, first)
    return Report(
        command=command,
        doctor_version=__version__,
        catalog=CatalogStamp(
            digest=catalog.digest, issues=len(catalog.issues), newest_source=catalog.newest_source
        ),
        observation=seen,
        findings=findings.shown,
        undecided=diagnosis.undecided,
        ruled_out=diagnosis.ruled_out,
        look_alikes=diagnosis.look_alikes,
        fixed=findings.fixed,
        plan=_plan(diagnosis, findings, derived, catalog) if command == "check" else None,
        exit_code=exit_code(command, seen, findings.shown, policy, selection),
    )


def derive_facts(observation: Observation, catalog: Catalog) -> Derived:
    """Return an observation with the facts that follow from it."""
    facts = derive(observation.facts, catalog)
    return Derived(observation=msgspec.structs.replace(observation, facts=facts))


def _findings(
    derived: Derived,
    diagnosis: Diagnosis,
    suppressed: Suppressed,
    policy: Policy,
    selection: Selection,
    first: tuple[Detection, ...],
) -> Findings:
    """Plan the fixes of what was detected, and add what policy and suppressions say."""
    planned = _planned(diagnosis.findings, derived.facts, suppressed.decisions)
    return Findings(
        shown=(
            *_planned(first, derived.facts),
            *unmet(policy.expect, derived.observation),
            *_in_order(planned, suppressed.remarks, selection),
        ),
        fixed=suppressed.fixed,
    )


def _selected(catalog: Catalog, selection: Selection) -> Catalog:
    if not selection.only:
        return catalog
    issues = {
        name: issue for name, issue in catalog.issues.items() if matches_any(name, selection.only)
    }
    return msgspec.structs.replace(catalog, issues=issues)


def _planned(
    detections: tuple[Detection, ...],
    facts: Facts,
    suppressions: tuple[Suppression | None, ...] | None = None,
) -> tuple[Finding, ...]:
    if not detections:
        return ()
    from doctor.fixes.attach import with_fixes  # a healthy machine does without

    return with_fixes(detections, facts, suppressions)


def _plan(
    diagnosis: Diagnosis, findings: Findings, derived: Derived, catalog: Catalog
) -> Plan | None:
    """Return one plan for the findings that count, where any of them has a fix."""
    counted = {one.id for one in findings.shown if one.suppressed is None}
    acting = {
        one.id for one in findings.shown if one.fixes and one.severity is not Severity.NOTE
    } & counted
    if not acting:
        return None
    from doctor.planning.plan import plan  # a healthy machine does without

    kept = [one for one in diagnosis.findings if one.id in counted]
    return plan(kept, derived.facts, catalog)


def _in_order(
    planned: tuple[Finding, ...], remarks: tuple[Finding, ...], selection: Selection
) -> tuple[Finding, ...]:
    """Put the remarks about ignores before the notes, and drop what `--skip` names."""
    graver = [n for n, found in enumerate(planned, 1) if found.severity > Severity.NOTE]
    notes = graver[-1] if graver else 0
    ordered = (*planned[:notes], *remarks, *planned[notes:])
    return tuple(found for found in ordered if not matches_any(found.id, selection.skip))


def _open_ids(seen: Observation, known: Catalog, diagnosis: Diagnosis) -> frozenset[str]:
    """Return the ids that this run could not decide.

    Facts are missing, or the check that would show it came to no verdict.
    """
    waiting = {
        outcome.id
        for outcome in seen.outcomes
        if outcome.verdict in (Verdict.SKIPPED, Verdict.BROKEN)
    }
    waiting |= {check.id for check in seen.deselected}
    proven = {
        name
        for name, issue in known.issues.items()
        if any(proof.check in waiting for proof in issue.proofs)
    }
    return frozenset(
        {each.id for each in diagnosis.undecided} | proven | {f"canary/{name}" for name in waiting}
    )
