"""The whole story: see, derive, judge, prescribe."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from doctor import __version__
from doctor.derive import derive
from doctor.errors import DoctorError, UsageError
from doctor.fixes import prescribe
from doctor.globs import matches_any
from doctor.match import diagnose
from doctor.match.signatures import telling
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, State, present, value_of
from doctor.model.findings import Finding
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.report import CatalogStamp, Report
from doctor.model.scales import Confidence, Severity
from doctor.observe import FRAMEWORKS, ran_anything
from doctor.pasted import reading
from doctor.pasted.environment import environment_facts
from doctor.pasted.log import log_facts, owner
from doctor.pasted.questions import question

_CANDLE = "crate.candle-core.version"
_VERSIONS = (*("torch.version" if name == "torch" else f"package.{name}.version" for name in FRAMEWORKS), _CANDLE)
_LIMIT = 64 << 20
"""Bytes of a snapshot, or of the text of collect_env, that are read."""


class InputError(DoctorError):
    """A file that was handed in cannot be read as what it should be."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller asks of the judgement: from which severity on to fail, which devices must have been reached, which ids count."""

    fail_on: Severity = Severity.ERROR
    expect: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    only_checks: bool = False


def examine(observation: Observation, catalog: Catalog, wanted: Wanted, *, command: str = "check") -> Report:
    """Judge an observation and write the report, its exit code included."""
    known = _kept(catalog, wanted)
    seen = msgspec.structs.replace(observation, facts=derive(observation.facts, known))
    diagnosis = prescribe(diagnose(seen, known), seen.facts)
    unmet = tuple(_unmet(device, seen.facts) for device in wanted.expect if not _reached(device, seen.facts))
    findings = tuple(found for found in diagnosis.findings if not matches_any(found.id, wanted.skip))
    diagnosis = msgspec.structs.replace(diagnosis, findings=(*unmet, *findings))
    report = Report(
        command=command,
        doctor_version=__version__,
        catalog=CatalogStamp(digest=catalog.digest, issues=len(catalog.issues), newest_source=catalog.newest_source),
        observation=seen,
        diagnosis=diagnosis,
    )
    return msgspec.structs.replace(report, exit_code=exit_code(report, wanted))


def exit_code(report: Report, wanted: Wanted) -> int:
    """Return 1 for a finding that counts at or above the limit, 4 where there was nothing to judge, else 0; an interrupt is 130.

    Checks of an interpreter that were to run and were all skipped judged nothing; without checks (`--no-canaries`) a framework's files
    are judged, and so is the lock of a workspace, whose checks mostly wait for `--tier deep`.
    """
    order = list(Severity)
    if report.observation.interrupted:
        return 130
    counted = [found for found in report.diagnosis.findings if found.suppressed is None]
    if any(order.index(found.severity) <= order.index(wanted.fail_on) for found in counted):
        return 1
    if report.command in ("diagnose", "run"):
        return 0 if report.diagnosis.findings else 4
    outcomes, facts = report.observation.outcomes, report.observation.facts
    by_facts = value_of(facts, _CANDLE) is not None or (not outcomes and has_framework(facts))
    return 0 if ran_anything(outcomes) or (by_facts and not wanted.only_checks) else 4


def has_framework(facts: Facts) -> bool:
    """Say whether the targets hold anything that doctor is about; a torch whose version cannot be told is there all the same."""
    states = {name: fact.state for name in _VERSIONS if (fact := facts.get(name)) is not None}
    return State.PRESENT in states.values() or states.get("torch.version") is State.UNKNOWN


def _kept(catalog: Catalog, wanted: Wanted) -> Catalog:
    kept = {name: issue for name, issue in catalog.issues.items() if not wanted.only or matches_any(name, wanted.only)}
    return msgspec.structs.replace(catalog, issues=kept)


def _reached(device: str, facts: Facts) -> bool:
    alive = value_of(facts, "torch.devices")
    kind, _, count = device.partition(":")
    found = [name for name in (alive if isinstance(alive, list) else []) if str(name).partition(":")[0] == kind]
    return len(found) >= (int(count) if count.isdigit() else 1)


def _unmet(device: str, facts: Facts) -> Finding:
    why = facts.get("torch.cuda_error")
    return Finding(
        id=f"expect/{device.replace(':', '-')}",
        target="interpreter",
        title=f"{device} was expected, and no check reached it",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message=f"--expect {device} asks for a device that answers. " + (str(why.value) if why and why.value else "None of that kind did."),
    )


def read_observation(path: Path) -> Observation:
    """Read a snapshot, a JSON report, which holds one, or the text of collect_env, with whatever stands around it.

    Raises UsageError where there is no such file, InputError for what is wrong with it.
    """
    content = _content(path)
    try:
        return msgspec.json.decode(content, type=Observation)
    except (msgspec.DecodeError, RecursionError) as error:
        log = reading.read(io.BytesIO(content), str(path), ())
        if not environment_facts(log.lines):
            raise InputError(f"{path}: no snapshot of doctor, no JSON report, and no text of collect_env: {error}") from None
    target = Target(name="interpreter", kind=TargetKind.INTERPRETER, path=str(path), chosen_by="the text of collect_env")
    return Observation(doctor_version=__version__, targets=(target,), facts=log_facts(log), logs=(log,))


def of_logs(logs: Sequence[Log], environment: Observation | None = None) -> Observation:
    """Return what logs tell by themselves, on top of an environment where one is given: what that knows counts for more."""
    found: dict[str, Fact] = {}
    for log in logs:
        more = log_facts(log)
        found = {name: fact for name, fact in {**more, **found}.items() if more.get(name, fact).value == found.get(name, fact).value}
    for log in logs:
        if (line := owner(log)) is not None:
            told = {"source": log.source, "line": line.line, "text": line.text, "ask": question(line, log.lines)}
            found["log.owner"] = present(told, log.source)
            break
    base = environment or Observation(doctor_version=__version__)
    known = {name: fact for name, fact in base.facts.items() if fact.state is not State.UNKNOWN or name not in found}
    return msgspec.structs.replace(base, facts={**found, **known}, logs=(*base.logs, *logs))


def read_log(source: str, stream: BinaryIO, catalog: Catalog) -> Log:
    """Read a log of any size: of a long one, the lines near what the catalog looks for."""
    return reading.read(stream, source, telling(catalog))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LIMIT)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def assumed(declared: Sequence[str]) -> Mapping[str, Any]:
    """Turn `gpu=sm_90` and `driver=535.104` into the facts that they declare; raises UsageError for anything else."""
    facts: dict[str, Any] = {}
    for item in declared:
        key, _, value = item.partition("=")
        digits = value.removeprefix("sm_").rstrip("af")
        if key == "gpu" and digits.isdigit() and len(digits) >= 2:
            facts["nvidia.capabilities"] = [*facts.get("nvidia.capabilities", []), f"{digits[:-1]}.{digits[-1]}"]
            facts["gpu.declared"] = True
        elif key == "driver" and value[:1].isdigit():
            facts["nvidia.driver_version"] = value
        else:
            raise UsageError(f"--assume {item}: say gpu=sm_90 or driver=535.104")
    return facts
