"""A toy catalog and small observations, so that no test leans on live knowledge."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec

from doctor.model.catalog import Catalog
from doctor.model.compat import Table
from doctor.model.facts import absent, present
from doctor.model.issues import (
    Action,
    Affected,
    Condition,
    KnownIssue,
    Proof,
    Range,
    Recipe,
    Reference,
    Signature,
    Verification,
    Verified,
)
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.scales import Severity

PYTHON = Target(name="interpreter", kind=TargetKind.INTERPRETER, path="/venv/bin/python")


def issue(**changes: Any) -> KnownIssue:
    """Make a known issue about torch below 2.0; any field can be changed."""
    fields: dict[str, Any] = {
        "title": "torch {torch.version} adds wrongly",
        "severity": Severity.ERROR,
        "cause": "Sums are off by one.",
        "affected": (Affected(packages={"torch": (Range(fixed="2.0"),)}),),
        "signatures": (Signature(pattern=r"sum is off by (?P<amount>\d+)"),),
        "proofs": (Proof(check="toy-add", case="sum"),),
        "fixes": (
            Recipe(
                title="Take torch 2",
                steps=(Action(install=("torch>=2.0",)),),
            ),
        ),
        "references": (
            Reference(url="https://example.org/1", what="report", opened=date(2026, 11, 21)),
        ),
        "verified": Verified(how=Verification.REPRODUCED, checked=date(2026, 11, 21)),
        "examples": (),
    }
    return KnownIssue(**{**fields, **changes})


def catalog(tables: dict[str, Table] | None = None, **issues: KnownIssue) -> Catalog:
    """Make a catalog; `torch__wrong_sum` becomes the id `torch/wrong-sum`."""
    named = {name.replace("__", "/").replace("_", "-"): value for name, value in issues.items()}
    return Catalog(issues=named, tables=tables or {}, digest="toy", newest_source="2026-11-21")


def seen(
    facts: dict[str, Any] | None = None, *outcomes: Outcome, log: str = "", **changes: Any
) -> Observation:
    """Make an observation out of plain values; None is an absent fact."""
    given = {
        name: absent("test") if value is None else present(value, "test")
        for name, value in (facts or {}).items()
    }
    logs = (Log(source="build.log", lines=tuple(log.split("\n"))),) if log else ()
    return Observation(
        **{"targets": (PYTHON,), "facts": given, "outcomes": outcomes, "logs": logs, **changes}
    )


def outcome(
    verdict: str = "failed",
    *,
    device: str | None = "cpu",
    log: str = "",
    check: str = "toy-add",
    **cases: str,
) -> Outcome:
    """Make an outcome of the check `toy-add`; keywords name cases and their verdicts."""
    parts = {
        name: Case(verdict=Verdict(case), reason=f"{name} {case}") for name, case in cases.items()
    }
    return Outcome(
        id=check,
        target="interpreter",
        verdict=Verdict(verdict),
        device=device,
        log=log,
        cases=parts,
        reason=f"toy {verdict}",
    )


def condition(fact: str, **operator: Any) -> Condition:
    """Make a condition."""
    return Condition(fact=fact, **operator)


def snapshot(facts: dict[str, Any]) -> bytes:
    """Return a snapshot of these facts, as `doctor snapshot` writes one."""
    return msgspec.json.encode(seen(facts))
