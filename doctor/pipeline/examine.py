"""The whole story: see, derive, judge, prescribe."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from doctor import __version__
from doctor.base.errors import InputError, UsageError
from doctor.base.globs import matches_any
from doctor.base.time_limit import PATIENCE, TimeLimitExceeded, bounded
from doctor.facts.derive import derive
from doctor.host.reading import DOCUMENT, Unread, given
from doctor.judge.expectations import unmet
from doctor.judge.match import diagnose
from doctor.judge.match.signatures import telling
from doctor.judge.match.unfinished import NOT_JUDGED, unfinished, without_texts
from doctor.judge.suppressions import Gated, Gates, gate
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, State, present, value_of
from doctor.model.findings import Finding
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Verdict, refused_what
from doctor.model.report import CatalogStamp, Diagnosis, Report
from doctor.model.scales import Severity
from doctor.observe.observation import FRAMEWORKS, WITHOUT_CANARIES, ran_anything, with_assumed
from doctor.redact.report import without_any_secrets

_FIRST = "torch-runtime"
_CANDLE = "crate.candle-core.version"
_VERSIONS = (
    *("torch.version" if name == "torch" else f"package.{name}.version" for name in FRAMEWORKS),
    _CANDLE,
)
_DRIVER = re.compile(r"[0-9]{2,4}(\.[0-9]{1,4}){0,2}")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller asks of the judgement: from which severity on to fail, which devices must have been reached, what counts."""

    fail_on: Severity = Severity.ERROR
    expect: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    only_checks: bool = False
    gates: Gates = Gates()


def examine(
    observation: Observation,
    catalog: Catalog,
    wanted: Wanted,
    *,
    command: str = "check",
    seconds: float = PATIENCE,
) -> Report:
    """Judge and write the report, its exit code included.

    Without what was printed where that takes too long, or OutOfTime if it is all.
    """
    try:
        with bounded(seconds, NOT_JUDGED):
            return _examined(observation, catalog, wanted, command)
    except TimeLimitExceeded as error:
        if command != "check":
            raise
        why = str(error)
    with bounded(seconds, NOT_JUDGED):
        report = _examined(without_texts(observation), catalog, wanted, command)
        cut = _mended(Diagnosis(findings=(unfinished(why, observation),)), report.observation.facts)
        diagnosis = msgspec.structs.replace(
            report.diagnosis, findings=(*cut.findings, *report.diagnosis.findings)
        )
        report = msgspec.structs.replace(report, diagnosis=diagnosis)
        return msgspec.structs.replace(report, exit_code=exit_code(report, wanted))


def _examined(observation: Observation, catalog: Catalog, wanted: Wanted, command: str) -> Report:
    known = _kept(catalog, wanted)
    observation = without_any_secrets(observation)  # before evidence is cut out of it
    seen = msgspec.structs.replace(observation, facts=derive(observation.facts, known))
    diagnosis = _mended(diagnose(seen, known), seen.facts)
    gated = _gated(seen, known, diagnosis, wanted, command)
    kept = tuple(found for found in _together(gated) if not matches_any(found.id, wanted.skip))
    diagnosis = msgspec.structs.replace(diagnosis, findings=(*unmet(wanted.expect, seen), *kept))
    report = Report(
        command=command,
        doctor_version=__version__,
        catalog=CatalogStamp(
            digest=catalog.digest, issues=len(catalog.issues), newest_source=catalog.newest_source
        ),
        observation=seen,
        diagnosis=diagnosis,
        gone=gated.gone,
    )
    return msgspec.structs.replace(report, exit_code=exit_code(report, wanted))


def exit_code(report: Report, wanted: Wanted) -> int:
    """Return 1 for a finding that counts at or above the limit, 4 where there was nothing to judge, else 0; an interrupt is 130.

    Checks of an interpreter that were to run and were all skipped judged nothing; without checks
    (`--no-canaries`) a framework's files are judged, and so is the lock of a workspace, whose
    checks mostly wait for `--tier deep`. Where the machine did not let torch be imported, nothing
    was judged either, whatever was seen of compilers.
    """
    if report.observation.interrupted:
        return 130
    if any(found.severity >= wanted.fail_on for found in report.diagnosis.counted):
        return 1
    if report.command in ("diagnose", "run"):
        return 0 if report.diagnosis.findings else 4
    outcomes, facts = report.observation.outcomes, report.observation.facts
    if any(one.id == _FIRST and refused_what(one.reason) for one in outcomes):
        return 4
    by_facts = value_of(facts, _CANDLE) is not None or (not outcomes and has_framework(facts))
    return 0 if ran_anything(outcomes) or (by_facts and not wanted.only_checks) else 4


def has_framework(facts: Facts) -> bool:
    """Say whether the targets hold anything that doctor is about.

    A torch whose version cannot be told is there all the same.
    """
    states = {name: fact.state for name in _VERSIONS if (fact := facts.get(name)) is not None}
    return State.PRESENT in states.values() or states.get("torch.version") is State.UNKNOWN


def _mended(diagnosis: Diagnosis, facts: Facts) -> Diagnosis:
    """Say of each finding how and where it is mended."""
    if not diagnosis.findings:
        return diagnosis
    from doctor.fixes.locations import placed
    from doctor.fixes.prescribe import prescribe

    return placed(prescribe(diagnosis, facts), facts)


def _kept(catalog: Catalog, wanted: Wanted) -> Catalog:
    kept = {
        name: issue
        for name, issue in catalog.issues.items()
        if not wanted.only or matches_any(name, wanted.only)
    }
    return msgspec.structs.replace(catalog, issues=kept)


def _together(gated: Gated) -> tuple[Finding, ...]:
    """Put what is to be said of the ignores where the notes begin."""
    counts = [
        number
        for number, found in enumerate(gated.findings, 1)
        if found.severity is not Severity.NOTE
    ]
    notes = counts[-1] if counts else 0
    return (*gated.findings[:notes], *gated.remarks, *gated.findings[notes:])


def _gated(
    seen: Observation, known: Catalog, diagnosis: Diagnosis, wanted: Wanted, command: str
) -> Gated:
    """Let findings pass the gates.

    What is unused, or gone, is only told of a run that looked at everything it could.
    """
    if not wanted.gates.ignores and wanted.gates.baseline is None:
        return Gated(diagnosis.findings)
    partial = (
        wanted.only
        or wanted.skip
        or wanted.only_checks
        or seen.interrupted
        or seen.left_out == WITHOUT_CANARIES
    )
    whole = command == "check" and not partial
    return gate(
        diagnosis.findings, wanted.gates, open_ids=_open(seen, known, diagnosis) if whole else None
    )


def _open(seen: Observation, known: Catalog, diagnosis: Diagnosis) -> frozenset[str]:
    """Return the ids that this run could not tell: facts are missing, or the check that would show it did not come to a verdict."""
    waiting = {
        outcome.id
        for outcome in seen.outcomes
        if outcome.verdict in (Verdict.SKIPPED, Verdict.BROKEN)
    }
    waiting |= {line.partition(":")[0] for line in seen.left_out}
    proven = {
        name
        for name, issue in known.issues.items()
        if any(proof.check in waiting for proof in issue.proofs)
    }
    return frozenset(
        {each.id for each in diagnosis.undecided} | proven | {f"canary/{name}" for name in waiting}
    )


def read_observation(path: Path) -> Observation:
    """Read a snapshot, a JSON report, which holds one, or the text of collect_env, with whatever stands around it.

    Raises UsageError where there is no such file, InputError for what is wrong with it.
    """
    return observation_in(content_of(path), path)


def content_of(path: Path) -> bytes:
    """Return what was handed in, a file or a pipe.

    Raises UsageError where there is none, InputError for too much of it.
    """
    try:
        return given(path, DOCUMENT)
    except Unread as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def observation_in(content: bytes, path: Path) -> Observation:
    """Return the observation in what was read from a path.

    Raises InputError as `read_observation` does.
    """
    from doctor.logs import snapshots as saved

    found = saved.decoded(content, Observation, str(path))
    if found is not None:
        return found
    import io

    from doctor.logs import reading
    from doctor.logs.environment import environment_facts
    from doctor.logs.log import log_facts

    log = reading.read(io.BytesIO(content), str(path), ())
    if not environment_facts(log.lines):
        raise InputError(
            f"{path}: no snapshot of doctor, no JSON report, and no text of collect_env: {saved.why_not(content)}"
        )
    target = Target(
        name="interpreter",
        kind=TargetKind.INTERPRETER,
        path=str(path),
        chosen_by="the text of collect_env",
    )
    return Observation(
        doctor_version=__version__, targets=(target,), facts=log_facts(log), logs=(log,)
    )


def of_logs(logs: Sequence[Log], environment: Observation | None = None) -> Observation:
    """Return what logs tell by themselves, on top of an environment where one is given: what that knows counts for more."""
    from doctor.logs.log import log_facts, owner
    from doctor.logs.questions import question

    found: dict[str, Fact] = {}
    for log in logs:
        more = log_facts(log)
        found = {
            name: fact
            for name, fact in {**more, **found}.items()
            if more.get(name, fact).value == found.get(name, fact).value
        }
    for log in logs:
        if (line := owner(log)) is not None:
            told = {
                "source": log.source,
                "line": line.line,
                "text": line.text,
                "ask": question(line, log.lines),
            }
            found["log.owner"] = present(told, log.source)
            break
    base = environment or Observation(doctor_version=__version__)
    known = {
        name: fact
        for name, fact in base.facts.items()
        if fact.state is not State.UNKNOWN or name not in found
    }
    return msgspec.structs.replace(base, facts={**found, **known}, logs=(*base.logs, *logs))


def replayed(path: Path, logs: tuple[Log, ...], declared: Mapping[str, Any]) -> Observation:
    """Read an observation (`read_observation`) and put logs, and facts that are declared, on top of it."""
    seen = read_observation(path)
    return msgspec.structs.replace(
        seen, facts=with_assumed(seen.facts, declared), logs=(*seen.logs, *logs)
    )


def open_log(path: Path, catalog: Catalog) -> Log:
    """Read the log in a file.

    Raises UsageError for one that cannot be read, and for a device that never ends.
    """
    try:
        with path.open("rb") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
                raise UsageError(f"{path}: a device, which has no end")
            return read_log(str(path), file, catalog)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def read_log(source: str, stream: BinaryIO, catalog: Catalog) -> Log:
    """Read a log of any size: of a long one, the lines near what the catalog looks for."""
    from doctor.logs import reading

    return reading.read(stream, source, telling(catalog))


def assumed(declared: Sequence[str]) -> Mapping[str, Any]:
    """Turn `gpu=sm_90` and `driver=535.104`, or both with a comma between, into facts.

    Raises UsageError for anything else.
    """
    facts: dict[str, Any] = {}
    for item in (part.strip() for text in declared for part in text.split(",")):
        key, _, value = item.partition("=")
        digits = value.removeprefix("sm_").rstrip("af")
        if key == "gpu" and digits.isdigit() and len(digits) >= 2:
            facts["nvidia.capabilities"] = [
                *facts.get("nvidia.capabilities", []),
                f"{digits[:-1]}.{digits[-1]}",
            ]
            facts["gpu.declared"] = True
        elif key == "driver" and _DRIVER.fullmatch(value):
            facts["nvidia.driver_version"] = value
        else:
            raise UsageError(f"--assume {item}: say gpu=sm_90 or driver=535.104")
    return facts
