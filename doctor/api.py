"""The Python API: `from doctor import check, diagnose`.

Arguments have the names of the command line's options (docs/api.md).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, TypeVar

import msgspec

from doctor.base.errors import InputError, UsageError
from doctor.base.refusals import as_refusal
from doctor.base.suggestions import suggest
from doctor.catalog import loading
from doctor.host import Host
from doctor.judge.comparison import compare
from doctor.judge.expectations import WORDS, is_device
from doctor.judge.suppressions import Ignore, Suppressions
from doctor.logs import snapshots
from doctor.model.catalog import Catalog
from doctor.model.comparison import Comparison, Judged, Side
from doctor.model.document import ReportDocument
from doctor.model.report import Report
from doctor.model.scales import Severity, Tier
from doctor.model.watching import of_progress
from doctor.pipeline.assess import assess
from doctor.pipeline.ignores import ignores_of
from doctor.pipeline.logs import LogSource
from doctor.pipeline.policy import Policy
from doctor.pipeline.requests import (
    CheckRequest,
    DiagnoseRequest,
    ObserveRequest,
    PolicyRequest,
    today,
)
from doctor.pipeline.snapshots import observation_in, read_document
from doctor.redact.report import shareable, who, without_any_secrets
from doctor.report.structured import json_document

AnyPath: TypeAlias = "str | PathLike[str]"
LogFile: TypeAlias = "str | PathLike[str] | BinaryIO"
Many: TypeAlias = "str | Sequence[str]"
"""One text, or several."""

_Choice = TypeVar("_Choice", Severity, Tier)


@as_refusal()
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
    changed: bool = False,
    flash_attn: AnyPath | None = None,
    network: bool = False,
    timeout: float | None = None,
    budget: float | None = None,
    expect: Many = (),
    fail_on: Literal["error", "warning", "note"] = "error",
    baseline: AnyPath | None = None,
    ignores: AnyPath | None = None,
    matrices: AnyPath | Sequence[AnyPath] = (),
    progress: Callable[[str, float], None] | None = None,
) -> Report:
    """Do what `doctor check` does, and return the report.

    Nothing is printed. Of `[tool.doctor]` nothing is read but the ignores of the project that
    `ignores` names.

    `progress` is called with what is going on and the seconds that it has taken. Raises
    `doctor.UsageError` for a mistake in the arguments, another `doctor.DoctorError` where doctor
    cannot do its job, and KeyboardInterrupt once everything it started has ended.
    """
    from doctor.pipeline import check as pipeline

    request = CheckRequest(
        observe=ObserveRequest(
            python=None if python is None else str(python),
            project=Path(project),
            features=_several(features),
            canaries=not no_canaries,
            tier=_one_of(tier, Tier, "tier"),
            fresh=fresh,
            changed=changed,
            flash_attn=_path(flash_attn),
            network=network,
            timeout=timeout,
            budget=budget,
        ),
        snapshot=_path(from_),
        assume=_several(assume),
        logs=_logs(log),
        only=_several(only),
        skip=_several(skip),
        expect=_devices(_several(expect)),
        policy=_policy(fail_on, baseline, ignores),
        matrices=_paths(matrices),
    )
    report = pipeline.check(request, of_progress(progress), name_option=_argument)
    if report.observation.interrupted:
        raise KeyboardInterrupt  # the command line reports what was seen until then
    return without_any_secrets(report)


@as_refusal()
def diagnose(
    *logs: LogFile,
    text: str = "",
    env: AnyPath | None = None,
    fail_on: Literal["error", "warning", "note"] = "error",
    baseline: AnyPath | None = None,
    ignores: AnyPath | None = None,
    matrices: AnyPath | Sequence[AnyPath] = (),
) -> Report:
    """Do what `doctor diagnose` does, and return the report.

    Logs are paths, `-` for standard input, or files open for reading bytes; `text` is one more.
    Raises as `check` does.
    """
    from doctor.pipeline import diagnose as pipeline

    if not logs and not text:
        raise UsageError("diagnose: give a log, or a text")
    request = DiagnoseRequest(
        logs=(*_logs(logs), *((_Text(text),) if text else ())),
        environment=_path(env),
        policy=_policy(fail_on, baseline, ignores),
        matrices=_paths(matrices),
    )
    return without_any_secrets(pipeline.diagnose(request))


@as_refusal()
def fix(
    *,
    python: AnyPath | None = None,
    project: AnyPath = ".",
    prove: bool = False,
    program: Sequence[str] = (),
    offline: bool = False,
    log: LogFile | Sequence[LogFile] = (),
    no_canaries: bool = False,
    fresh: bool = False,
    timeout: float | None = None,
    budget: float | None = None,
    ignores: AnyPath | None = None,
    matrices: AnyPath | Sequence[AnyPath] = (),
    progress: Callable[[str, float], None] | None = None,
) -> Report:
    """Do what `doctor fix` does without --apply, and return the report with the plan.

    `program` are the words of the command behind `--`. Raises as `check` does.
    """
    from doctor.repair.fix import exit_code, silent
    from doctor.repair.fix import fix as mend
    from doctor.repair.requests import FixRequest

    request = FixRequest(
        check=CheckRequest(
            observe=ObserveRequest(
                python=None if python is None else str(python),
                project=Path(project),
                canaries=not no_canaries,
                fresh=fresh,
                timeout=timeout,
                budget=budget,
            ),
            logs=_logs(log),
            policy=_policy("error", None, ignores),
            matrices=_paths(matrices),
        ),
        prove=prove,
        program=tuple(program),
        offline=offline,
    )
    repair = mend(request, progress or silent).repair
    report = msgspec.structs.replace(
        repair.report, command="fix", plan=repair.plan, exit_code=exit_code(repair)
    )
    return without_any_secrets(report)


@as_refusal()
def diff(
    before: AnyPath,
    after: AnyPath,
    *,
    fail_on: Literal["error", "warning", "note"] = "error",
    ignores: AnyPath | None = None,
    matrices: AnyPath | Sequence[AnyPath] = (),
) -> Comparison:
    """Do what `doctor diff` does with two reports or snapshots, and return the comparison."""
    ignored = () if ignores is None else ignores_of(Path(ignores))
    limit = _one_of(fail_on, Severity, "fail_on")
    return without_any_secrets(
        compare_files(Path(before), Path(after), limit, ignored, _paths(matrices))
    )


def compare_files(
    before: Path,
    after: Path,
    fail_on: Severity,
    ignores: Sequence[Ignore],
    matrices: Sequence[Path],
) -> Comparison:
    """Compare two files: a JSON report has its findings, anything else is judged now."""
    catalog = loading.load(matrices)
    policy = Policy(suppressions=Suppressions(ignores=tuple(ignores), today=today()))
    return compare(
        judged_file(before, catalog, policy), judged_file(after, catalog, policy), fail_on
    )


def judged_file(path: Path, catalog: Catalog, policy: Policy) -> Judged:
    """Read one side of a comparison.

    Raises UsageError for a missing file, InputError for one that is no document of doctor.
    """
    content = read_document(path)
    document = None
    if snapshots.is_report(content):
        # Where its facts are broken, `observation_in` says so; its findings can be found again.
        with contextlib.suppress(InputError):
            document = snapshots.decoded(content, ReportDocument, str(path))
    if document is None:
        document = json_document.document(assess(observation_in(content, path), catalog, policy))
    side = Side(
        name=str(path),
        taken=document.taken,
        doctor_version=document.doctor.version,
        catalog=document.doctor.catalog.digest,
    )
    return Judged(side=side, facts=document.facts, findings=document.findings)


def to_json(report: Report) -> str:
    """Return what `--format json` prints.

    It is fit to be given away: the home folder is `$HOME`, user and host names are masked.
    """
    return json_document.render(shareable(report, who(Host().env)))


class _Text(io.BytesIO):
    """A log in hand, which is called `text` in the report."""

    name = "text"

    def __init__(self, text: str) -> None:
        super().__init__(text.encode("utf-8", "replace"))


def _argument(option: str) -> str:
    return option.replace("-", "_")


def _policy(fail_on: str, baseline: AnyPath | None, ignores: AnyPath | None) -> PolicyRequest:
    return PolicyRequest(
        fail_on=_one_of(fail_on, Severity, "fail_on"),
        baseline=_path(baseline),
        ignores=() if ignores is None else ignores_of(Path(ignores)),
    )


def _one_of(word: str, choices: type[_Choice], named: str) -> _Choice:
    known = [choice.value for choice in choices]
    if word not in known:
        raise UsageError(
            f"{named}={word!r}: choose from {', '.join(known)}{suggest(str(word), known, '')}"
        )
    return choices(word)


def _devices(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if not is_device(word):
            choices = f"; choose from {', '.join(WORDS)}"
            raise UsageError(f"expect={word!r} is no device{suggest(word, WORDS, choices)}")
    return words


def _several(texts: Many) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


def _paths(paths: AnyPath | Sequence[AnyPath]) -> tuple[Path, ...]:
    several = [paths] if isinstance(paths, str | PathLike) else paths
    return tuple(Path(path) for path in several)


def _logs(logs: LogFile | Sequence[LogFile]) -> tuple[LogSource, ...]:
    several = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else (logs,)
    return tuple(_source(each) for each in several)


def _source(log: LogFile) -> LogSource:
    if isinstance(log, io.TextIOBase):
        raise UsageError(f"{getattr(log, 'name', 'log')}: open it for reading bytes")
    return Path(log) if isinstance(log, str | PathLike) else log
