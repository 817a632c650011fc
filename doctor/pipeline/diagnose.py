"""`doctor diagnose` and `doctor run`: from the output of a failed program to a report."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.refusals import current_folder
from doctor.catalog import loading
from doctor.events.statuses import REPEATED
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.facts import present
from doctor.model.findings import EvidenceKind, Finding
from doctor.model.observation import Log, Observation
from doctor.model.report import Report
from doctor.model.watching import Watcher
from doctor.observe import observation as observation_stage
from doctor.pipeline.asked_releases import with_asked_releases
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log, read_logs
from doctor.pipeline.policy import Policy, Selection
from doctor.pipeline.requests import DiagnoseRequest, RunRequest
from doctor.pipeline.snapshots import read_observation, with_described
from doctor.timelines.codes import code as numbered

_OUTPUT, _STATUS = "the output", "the exit status"


def diagnose(request: DiagnoseRequest) -> Report:
    """Judge logs; this machine is not looked at.

    Raises UsageError for a mistake in the request, another DoctorError where a file is not what it
    should be.
    """
    policy = Policy(fail_on=request.policy.fail_on, suppressions=request.policy.suppressions())
    environment = read_observation(request.environment) if request.environment else None
    catalog = loading.load(request.matrices)
    logs = read_logs(request.logs, catalog)
    seen = observation_from_logs(logs, environment)
    if environment is None and "log.owner" not in seen.facts:
        seen = with_described(seen)
    return assess(seen, catalog, policy, command="diagnose")


def ids_for(text: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the ids of findings and of look-alikes for a text that may be a part of a log."""
    log = read_log("the text", io.BytesIO(text.encode("utf-8", "replace")), catalog)
    judged = assess(observation_from_logs((log,)), catalog, command="diagnose")
    found = [one.id for one in judged.findings]
    return (*found, *(one.id for one in judged.look_alikes))


def explain_failure(request: RunRequest) -> Report:
    """Judge a command that failed on this machine, beside a look at its files.

    What its own output says comes first, then its exit status, then what the machine adds.
    """
    catalog = loading.load(request.matrices)
    logs = [read_log(_OUTPUT, io.BytesIO(request.output), catalog)]
    means = _meaning(request.status)
    if means:
        # In a log of its own: this line stands in no output.
        status = hex(request.status & 0xFFFFFFFF) if _is_windows(request.status) else request.status
        line = f"Process exited with exit code {status}".encode()
        logs.append(read_log(_STATUS, io.BytesIO(line), catalog))
    seen = _around(request.argv[0], logs)
    ended = {"command": " ".join(request.argv), "status": request.status, "means": means}
    facts = {**seen.facts, "run.ended": present(ended, "doctor run")}
    seen = msgspec.structs.replace(seen, facts=facts)
    policy = Policy(suppressions=request.policy.suppressions())
    selection = Selection(skip=request.skip)
    judged = assess(seen, catalog, policy, command="run", selection=selection)
    findings = sorted(judged.findings, key=_distance)
    return msgspec.structs.replace(
        judged, findings=with_asked_releases(findings, request.argv, catalog)
    )


def _distance(found: Finding) -> int:
    """Return how far a finding is from what the command said: 0 for its output, 2 for neither."""
    sources = {one.source for one in found.evidence if one.kind is EvidenceKind.LOG}
    return 0 if _OUTPUT in sources else 1 if _STATUS in sources else 2


def _is_windows(status: int) -> bool:
    """Say whether a status is an NTSTATUS: an exception of Windows ended the process."""
    return status < 0 or status >= 1 << 16


def _meaning(status: int) -> str:
    """Say what an exit status means; empty where it only repeats that something failed."""
    if status in REPEATED:
        return ""
    of_windows = _is_windows(status)
    number = hex(status & 0xFFFFFFFF) if of_windows else str(status)
    found = numbered("ntstatus" if of_windows else "exit", number)
    if found is None or not found.means:
        return ""
    return f"{found.name}: {found.means.removesuffix('.')}"


def _around(command: str, logs: Sequence[Log]) -> Observation:
    """Look at the machine as far as that costs nothing, and add the logs."""
    host = Host()
    request = observation_stage.Request(
        host=host,
        project=current_folder(),
        # An environment that merely lies in this folder had no part in the failure.
        python=_environment_of(host, command),
        in_project=False,
        bounds=observation_stage.Bounds(canaries=False),
    )
    try:
        seen = observation_stage.observe(request, Watcher())
    except DoctorError:
        return observation_from_logs(logs)
    return observation_from_logs(logs, msgspec.structs.replace(seen, static=False))


def _environment_of(host: Host, command: str) -> str | None:
    """Return the environment of a command: the pip of a virtual environment installs into it."""
    found = host.which(command)
    prefix = Path(found).absolute().parent.parent if found else None
    return (
        str(prefix)
        if prefix and any((prefix / mark).exists() for mark in ("pyvenv.cfg", "conda-meta"))
        else None
    )
