"""The Python API: `from doctor import check, diagnose`.

Arguments have the names of the command line's options (docs/api.md).
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, TypeVar

from doctor.base.errors import UsageError
from doctor.base.refusals import told
from doctor.base.suggestions import near
from doctor.catalog import loading as catalogs
from doctor.catalog.check_headers import load_checks
from doctor.host import Host
from doctor.judge.baseline import read_baseline
from doctor.judge.expectations import WORDS, is_device
from doctor.judge.suppressions import Gates
from doctor.model.catalog import Catalog
from doctor.model.checks import Tier
from doctor.model.observation import Log, Observation
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.observe import observation as observe
from doctor.observe import selection as asking
from doctor.pipeline import examine
from doctor.redact.report import shareable, who, without_any_secrets
from doctor.report.structured import json_document as json

AnyPath: TypeAlias = "str | PathLike[str]"
LogFile: TypeAlias = "str | PathLike[str] | BinaryIO"
Many: TypeAlias = "str | Sequence[str]"
"""One text, or several."""

_Choice = TypeVar("_Choice", Severity, Tier)


@told()
def check(
    *,
    python: AnyPath | None = None,
    project: AnyPath = ".",
    features: Many = (),
    from_: AnyPath | None = None,
    assume: Many = (),
    log: LogFile | Sequence[LogFile] = (),
    only: Many = (),
    skip: Many = (),
    tier: Literal["quick", "deep"] = "quick",
    no_canaries: bool = False,
    fresh: bool = False,
    flash_attn: AnyPath | None = None,
    network: bool = False,
    timeout: float | None = None,
    budget: float | None = None,
    expect: Many = (),
    fail_on: Literal["error", "warning", "note"] = "error",
    baseline: AnyPath | None = None,
    matrices: AnyPath | Sequence[AnyPath] = (),
    progress: Callable[[str, float], None] | None = None,
) -> Report:
    """Do what `doctor check` does, and return the report.

    Nothing is printed, and `[tool.doctor]` is not read.

    `progress` is called with what is going on and the seconds that it has taken. Raises
    `doctor.UsageError` for a mistake in the arguments, another `doctor.DoctorError` where doctor
    cannot do its job, and KeyboardInterrupt once everything it started has ended.
    """
    begun = time.monotonic()
    known = catalogs.load(_paths(matrices))
    limit, devices = _one_of(fail_on, Severity, "fail_on"), _devices(_several(expect))
    gates = Gates(baseline=read_baseline(Path(baseline)) if baseline is not None else None)
    bounds = _bounds(tier, timeout, budget, canaries=not no_canaries, fresh=fresh)
    checks = load_checks() if only or not no_canaries else {}
    issues, runs = asking.chosen(_several(only), known, checks, "only")
    logs, declared = _logs(log, known), examine.assumed(_several(assume))
    if from_ is not None:
        seen = examine.replayed(Path(from_), logs, declared)
    else:
        request = observe.Request(
            host=Host(),
            project=asking.folder(Path(project)),
            python=None if python is None else str(python),
            features=asking.features(_several(features)),
            checks=observe.chosen(checks, runs, _several(skip)),
            bounds=bounds,
            assumed=declared,
            settings=asking.sources(Path(flash_attn) if flash_attn else None, network=network),
            logs=logs,
        )
        seen = _look(request, progress)
    wanted = examine.Wanted(
        fail_on=limit,
        expect=devices,
        only=issues,
        skip=_several(skip),
        only_checks=bool(only) and runs != asking.NONE,
        gates=gates,
    )
    return without_any_secrets(
        examine.examine(seen, known, wanted, seconds=observe.left_to_judge(budget, begun))
    )


@told()
def diagnose(
    *logs: LogFile,
    text: str = "",
    env: AnyPath | None = None,
    fail_on: Literal["error", "warning", "note"] = "error",
    matrices: AnyPath | Sequence[AnyPath] = (),
) -> Report:
    """Do what `doctor diagnose` does with logs (paths, or files open for reading bytes) or with a `text`, and return the report."""
    if not logs and not text:
        raise UsageError("diagnose: give a log, or a text")
    known = catalogs.load(_paths(matrices))
    read = _logs(logs, known)
    if text:
        read += (examine.read_log("text", io.BytesIO(text.encode("utf-8", "replace")), known),)
    environment = examine.read_observation(Path(env)) if env else None
    wanted = examine.Wanted(fail_on=_one_of(fail_on, Severity, "fail_on"))
    return without_any_secrets(
        examine.examine(examine.of_logs(read, environment), known, wanted, command="diagnose")
    )


def to_json(report: Report) -> str:
    """Return what `--format json` prints: fit to be given away, the home folder as `$HOME`, user and host names masked."""
    return json.render(shareable(report, who(Host().env)))


def _look(request: observe.Request, progress: Callable[[str, float], None] | None) -> Observation:
    seen = observe.observe(request, progress or (lambda _what, _seconds: None))
    if seen.interrupted:
        raise KeyboardInterrupt  # the command line reports what it saw until then; a program wants to be interrupted
    return seen


def _bounds(
    tier: str, timeout: float | None, budget: float | None, *, canaries: bool, fresh: bool
) -> observe.Bounds:
    for name, seconds in (("timeout", timeout), ("budget", budget)):
        if seconds is not None and not 0 < seconds <= asking.MOST_SECONDS:
            raise UsageError(
                f"{name}={seconds}: a number of seconds above 0 and up to {asking.MOST_SECONDS:g}"
            )
    return observe.Bounds(
        canaries=canaries,
        fresh=fresh,
        tier=_one_of(tier, Tier, "tier"),
        timeout=timeout,
        budget=budget,
    )


def _one_of(word: str, choices: type[_Choice], named: str) -> _Choice:
    known = [choice.value for choice in choices]
    if word not in known:
        raise UsageError(
            f"{named}={word!r}: choose from {', '.join(known)}{near(str(word), known, '')}"
        )
    return choices(word)


def _devices(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if not is_device(word):
            raise UsageError(
                f"expect={word!r} is no device{near(word, WORDS, '; choose from ' + ', '.join(WORDS))}"
            )
    return words


def _several(texts: Many) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _paths(paths: AnyPath | Sequence[AnyPath]) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | PathLike) else [Path(path) for path in paths]


def _logs(logs: LogFile | Sequence[LogFile], known: Catalog) -> tuple[Log, ...]:
    several = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else (logs,)
    return tuple(_log(each, known) for each in several)


def _log(log: LogFile, known: Catalog) -> Log:
    if isinstance(log, io.TextIOBase):
        raise UsageError(f"{getattr(log, 'name', 'log')}: open it for reading bytes")
    if not isinstance(log, str | PathLike):
        return examine.read_log(str(getattr(log, "name", "log")), log, known)
    return examine.open_log(Path(log), known)
