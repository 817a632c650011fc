"""The report: what was observed, what was judged of it, and against what."""

from __future__ import annotations

import msgspec

from doctor.model.findings import Detection, Finding
from doctor.model.observation import Observation
from doctor.model.plans import Plan


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """A known issue that may apply; the facts that would decide."""

    id: str
    title: str
    missing_facts: tuple[str, ...]


class RuledOut(msgspec.Struct, frozen=True, kw_only=True):
    """A known issue that was considered and dismissed, and by what."""

    id: str
    title: str
    why: str


class LookAlike(msgspec.Struct, frozen=True, kw_only=True):
    """A known issue that shares rare words with a failure which nothing explains; no finding."""

    id: str
    title: str
    shares: tuple[str, ...]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of an observation; findings are ranked, the first is what to do first."""

    findings: tuple[Detection, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    look_alikes: tuple[LookAlike, ...] = ()


class CatalogStamp(msgspec.Struct, frozen=True, kw_only=True):
    """What the judgement was made against."""

    digest: str
    issues: int
    newest_source: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An observation with what was judged of it; stands alone.

    `findings` are ranked: the first is what to do first. `fixed` are ids of the baseline that were
    not found again. `look_alikes` is empty where anything was found. `plan` is for all findings
    that count, None where nothing has to be done or no fix is known.
    """

    command: str
    doctor_version: str
    catalog: CatalogStamp
    observation: Observation
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    look_alikes: tuple[LookAlike, ...] = ()
    fixed: tuple[str, ...] = ()
    plan: Plan | None = None
    exit_code: int = 0

    @property
    def counted(self) -> tuple[Finding, ...]:
        """The findings that no suppression covers."""
        return tuple(found for found in self.findings if found.suppressed is None)
