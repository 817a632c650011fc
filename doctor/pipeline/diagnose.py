"""`doctor diagnose` and `doctor run`: from the output of a failed program to a report."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.refusals import current_folder
from doctor.catalog import loading
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.observation import Log, Observation
from doctor.model.report import Report
from doctor.model.watching import Watcher
from doctor.observe import observation as observation_stage
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log, read_logs
from doctor.pipeline.policy import Policy
from doctor.pipeline.requests import DiagnoseRequest
from doctor.pipeline.snapshots import read_observation


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
    return assess(seen, catalog, policy, command="diagnose")


def ids_for(text: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the ids of findings and of look-alikes for a text that may be a part of a log."""
    log = read_log("the text", io.BytesIO(text.encode("utf-8", "replace")), catalog)
    judged = assess(observation_from_logs((log,)), catalog, command="diagnose")
    found = [one.id for one in judged.findings]
    return (*found, *(one.id for one in judged.look_alikes))


def explain_failure(command: str, output: bytes) -> Report:
    """Judge the output of a command that failed on this machine, beside a look at its files."""
    catalog = loading.load()
    log = read_log("the output", io.BytesIO(output), catalog)
    return assess(_around(command, log), catalog, command="run")


def _around(command: str, log: Log) -> Observation:
    """Look at the machine as far as that costs nothing, and add the log."""
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
        return observation_from_logs((log,))
    return observation_from_logs((log,), msgspec.structs.replace(seen, static=False))


def _environment_of(host: Host, command: str) -> str | None:
    """Return the environment of a command: the pip of a virtual environment installs into it."""
    found = host.which(command)
    prefix = Path(found).absolute().parent.parent if found else None
    return (
        str(prefix)
        if prefix and any((prefix / mark).exists() for mark in ("pyvenv.cfg", "conda-meta"))
        else None
    )
