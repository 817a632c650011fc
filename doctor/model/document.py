"""The JSON report that other programs build on: additive only, published as a JSON Schema."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.model.facts import Fact
from doctor.model.findings import Evidence, Place, Suppression
from doctor.model.issues import Edit, Snippet
from doctor.model.observation import Deselected, ProbeFailure, Target
from doctor.model.outcomes import Outcome
from doctor.model.plans import Change, Cost, Proof
from doctor.model.report import LookAlike, RuledOut, Undecided
from doctor.model.scales import Confidence, Severity


class CatalogDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The catalog that the report was judged against; `newest_source` is an ISO date."""

    digest: str
    issues: int
    newest_source: str


class DoctorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The doctor that wrote the report."""

    name: str
    version: str
    catalog: CatalogDocument


class StepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a fix: a command as data and as a line for each shell, or an edit.

    `shells` maps `sh`, `powershell` and `cmd` to the line for it. `source`: the command changes the
    shell that runs it.
    """

    title: str = ""
    argv: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None
    shells: dict[str, str] = msgspec.field(default_factory=dict)
    edit: Edit | None = None
    sudo: bool = False
    reboot: bool = False
    source: bool = False


class FixDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: `steps`, in order.

    `commands`, `file`, `before`, `after` and `when` say the same for the target's own shell, as
    older versions did. `use_if` lists what has to hold and nobody could decide; `asks` explains
    each `<name>` that a reader has to replace.
    """

    kind: str
    title: str
    commands: tuple[str, ...]
    when: str
    safe: bool
    lasting: bool
    sudo: bool
    reboot: bool
    verify: str
    file: str = ""
    before: str = ""
    after: str = ""
    steps: tuple[StepDocument, ...] = ()
    use_if: tuple[str, ...] = ()
    note: str = ""
    snippet: Snippet | None = None
    asks: dict[str, str] = msgspec.field(default_factory=dict)


class PlanDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One plan for all findings: `steps`, in order, and `changes`, the packages that move.

    `resolved`: the installer itself confirmed the changes. `proof` is null where none was asked
    for: its `verdict` is `proved`, `not_proved` or `not_possible`, `why` says what is still wrong,
    `left` are ids of findings, `open` is what this machine cannot show. `alternatives` have none
    of their own.
    """

    title: str
    steps: tuple[StepDocument, ...] = ()
    changes: tuple[Change, ...] = ()
    solves: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cost: Cost = Cost()
    resolved: bool = False
    proof: Proof | None = None
    alternatives: tuple[PlanDocument, ...] = ()


class FindingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `missing_facts` would decide it, and `settles` names them in one text.

    `fingerprint` is the same from run to run, and the same as in SARIF and GitLab's code quality. A
    `suppressed` one counts neither in `summary` nor for the exit code.
    """

    id: str
    target: str
    title: str
    severity: Severity
    confidence: Confidence
    message: str
    evidence: tuple[Evidence, ...]
    fixes: tuple[FixDocument, ...]
    references: tuple[str, ...]
    symptoms: tuple[str, ...]
    settles: str = ""
    missing_facts: tuple[str, ...] = ()
    place: Place | None = None
    suppressed: Suppression | None = None
    fingerprint: str = ""


class SummaryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Counts: findings by severity.

    Checks that came to a verdict, that were skipped, that are broken.
    """

    error: int
    warning: int
    note: int
    checked: int
    skipped: int
    broken: int


class ReportDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report. Findings are ranked: the first is what to do first.

    `left_out` says `deselected` and `static` in words. `assumed` was declared, not observed. `gone`
    are ids of the baseline that were not found again. `look_alikes` resemble a failure that nothing
    explains; they are no findings. `plan` is for all findings that count, null where nothing is to
    be done.
    """

    schema_version: int
    doctor: DoctorDocument
    command: str
    exit_code: int
    summary: SummaryDocument
    targets: tuple[Target, ...]
    facts: dict[str, Fact]
    outcomes: tuple[Outcome, ...]
    findings: tuple[FindingDocument, ...]
    undecided: tuple[Undecided, ...]
    ruled_out: tuple[RuledOut, ...]
    taken: str = ""
    recording: bool = False
    interrupted: bool = False
    probe_failures: tuple[ProbeFailure, ...] = ()
    left_out: tuple[str, ...] = ()
    deselected: tuple[Deselected, ...] = ()
    static: bool = False
    assumed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    look_alikes: tuple[LookAlike, ...] = ()
    plan: PlanDocument | None = None
    errors: tuple[str, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
