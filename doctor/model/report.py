"""The report: what was seen, what was judged, and against what."""

from __future__ import annotations

import msgspec

from doctor.model.findings import Finding
from doctor.model.observation import Observation


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


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of an observation; findings are ranked, the first is what to do first."""

    findings: tuple[Finding, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()

    @property
    def counted(self) -> tuple[Finding, ...]:
        """The findings that count: neither ignored nor known to a baseline."""
        return tuple(found for found in self.findings if found.suppressed is None)


class CatalogStamp(msgspec.Struct, frozen=True, kw_only=True):
    """What the judgement was made against."""

    digest: str
    issues: int
    newest_source: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An observation with its diagnosis; stands alone.

    `gone` are ids that a baseline had and that were not found again.
    """

    command: str
    doctor_version: str
    catalog: CatalogStamp
    observation: Observation
    diagnosis: Diagnosis
    exit_code: int = 0
    gone: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, ranked: the first is what to do first.

        One that is `suppressed` does not count.
        """
        return self.diagnosis.findings
