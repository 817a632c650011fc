"""What a caller of `doctor fix` asks for, and what comes of it."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from doctor.environments.environment import Environment, environment_at
from doctor.environments.installer import installed, problems
from doctor.host import Host
from doctor.model.findings import Finding
from doctor.model.observation import TargetKind
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.pipeline.requests import CheckRequest

_LONGEST = 3600.0


class FixRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One `doctor fix`: how to check the target, and how far to go.

    `program` is the user's own command, which has to work after a proof. `offline` lets installers
    use what they downloaded before, and nothing else.
    """

    check: CheckRequest = CheckRequest()
    prove: bool = False
    program: tuple[str, ...] = ()
    offline: bool = False

    @property
    def seconds(self) -> float:
        """Return how long the whole run may take."""
        return self.check.observe.budget or _LONGEST


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """The environment that is to be mended, as it was before anything was tried.

    `deadline` is the end of the whole run on the clock of `time.monotonic`. `watched` are the
    packages whose unmet requirements count as findings.
    """

    request: FixRequest
    host: Host
    report: Report
    environment: Environment
    packages: dict[str, str]
    problems: tuple[str, ...]
    deadline: float
    watched: frozenset[str] = frozenset()

    def seconds_left(self) -> float:
        """Return the seconds that are left of the run."""
        return max(self.deadline - time.monotonic(), 0.0)


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor fix` came to: the report of the target, and the plan with its proof.

    `remarks` are sentences about what was done. `applied`: the plan was carried out, and the check
    afterwards found nothing of what it solves; the report is of that check, and `titles` has those
    of the findings before.
    """

    report: Report
    plan: Plan
    applied: bool = False
    remarks: tuple[str, ...] = ()
    titles: dict[str, str] = msgspec.field(default_factory=dict)


def original_of(
    request: FixRequest, host: Host, report: Report, deadline: float
) -> Original | None:
    """Return the environment of a report; None where it has no interpreter."""
    path = next(
        (one.path for one in report.observation.targets if one.kind is TargetKind.INTERPRETER), None
    )
    if path is None:
        return None
    environment = environment_at(Path(path), host)
    return Original(
        request=request,
        host=host,
        report=report,
        environment=environment,
        packages=installed(environment),
        problems=problems(environment, host),
        deadline=deadline,
    )


def actionable(report: Report) -> tuple[Finding, ...]:
    """Return the findings that ask for something: counted, and more than a note."""
    return tuple(found for found in report.counted if found.severity > Severity.NOTE)
