"""The checks and the findings as JUnit XML, as Jenkins, GitLab and Buildkite read it.

A case of a check is a test: red is a failure; a crash, a hang and a broken script are errors; a
skip is skipped and says why. The findings are a suite of their own, in which those fail that made
the exit code.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from doctor.base.text import plain, spelled
from doctor.facts.placeholders import as_text
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.fixes import evidence, first_fix, one_line, short
from doctor.report.view.assumptions import as_if

_UNFIT = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""
_LOG, _LONGEST, _MOST_CASES = 60_000, 4000, 2000
_ELEMENTS = {
    Verdict.FAILED: "failure",
    Verdict.CRASHED: "error",
    Verdict.TIMED_OUT: "error",
    Verdict.BROKEN: "error",
    Verdict.SKIPPED: "skipped",
}


class _Case(NamedTuple):
    """A test case: what became of it (empty: it passed), in one line, and in full."""

    classname: str
    name: str
    element: str = ""
    kind: str = ""
    message: str = ""
    body: str = ""
    log: str = ""
    seconds: float | None = None


def render(report: Report) -> str:
    """Return the report as an XML document in UTF-8."""
    windows = value_of(report.observation.facts, "host.os") == "windows"
    own = list(_about_the_run(report))
    checks = [*own, *(case for outcome in report.observation.outcomes for case in _cases(outcome))][
        :_MOST_CASES
    ]
    failing = _failing(report)
    found = [
        _of_finding(one, failing, windows=windows)
        for one in report.diagnosis.findings[:_MOST_CASES]
    ]
    seconds = sum(_sane(outcome.seconds) for outcome in report.observation.outcomes)
    taken = one_line(report.observation.taken.removesuffix("+00:00"), 40)
    suites = (
        *_suite("checks", checks, seconds, taken, _properties(report)),
        *_suite("findings", found, 0.0, taken),
    )
    totals = {
        name: str(sum(case.element == element for case in (*checks, *found)))
        for name, element in _COUNTED.items()
    }
    head = _tag(
        "testsuites",
        {
            "name": "canary-doctor",
            "tests": str(len(checks) + len(found)),
            **totals,
            "time": f"{seconds:.3f}",
        },
    )
    return (
        "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>")) + "\n"
    )


def _properties(report: Report) -> dict[str, str]:
    """Return what a reader wants to know of the run as a whole."""
    facts = report.observation.facts
    versions = {
        name: as_text(value)
        for name in ("torch.version", "python.version")
        if (value := value_of(facts, name)) is not None
    }
    told = {
        "assumed": as_if(facts),
        "interrupted": "true" if report.observation.interrupted else "",
    }
    return {
        "canary-doctor": report.doctor_version,
        "exit-code": str(report.exit_code),
        **versions,
        **{k: v for k, v in told.items() if v},
    }


_COUNTED = {"failures": "failure", "errors": "error"}


def _failing(report: Report) -> Severity:
    """Return the least severity that fails here: an error, or what made the exit code where there is none."""
    counted = [found.severity for found in report.diagnosis.counted]
    return max(counted, default=Severity.ERROR) if report.exit_code == 1 else Severity.ERROR


def _about_the_run(report: Report) -> Iterator[_Case]:
    """Yield why a run is red although no check and no finding says so."""
    if report.observation.interrupted:
        yield _Case(
            "doctor",
            "the whole run",
            "error",
            "interrupted",
            "doctor was interrupted; what it saw until then is here",
        )
    if report.exit_code == 4:
        told = "there was nothing to judge: no framework was found and no check ran, or the log holds nothing that doctor knows"
        yield _Case("doctor", "something to judge", "error", "nothing to judge", told)


def _cases(outcome: Outcome) -> Iterator[_Case]:
    """Yield the cases of a check, and the check itself where it has none or where none of them tells how it ended."""
    device = f" [{outcome.device}]" if outcome.device else ""
    verdicts = {case.verdict for case in outcome.cases.values()}
    alone = not outcome.cases or (
        outcome.verdict is not Verdict.PASSED and outcome.verdict not in verdicts
    )
    log = outcome.log if outcome.verdict in _ELEMENTS else ""
    if alone:
        kind = f"by {outcome.signal}" if outcome.signal else outcome.verdict.value
        name = f"{outcome.id}{device}"
        yield _case(
            outcome.id,
            name,
            outcome.verdict,
            outcome.reason,
            kind=kind,
            log=log,
            seconds=outcome.seconds,
        )
    for name, case in outcome.cases.items():
        told = log if not alone and case.verdict is outcome.verdict else ""
        yield _case(
            outcome.id,
            f"{name}{device}",
            case.verdict,
            case.reason,
            kind=case.verdict.value,
            log=told,
        )
        log = "" if told else log


def _case(
    check: str,
    name: str,
    verdict: Verdict,
    reason: str,
    *,
    kind: str,
    log: str,
    seconds: float | None = None,
) -> _Case:
    element = _ELEMENTS.get(verdict, "")
    return _Case(
        check, name, element, kind, reason or verdict.value if element else "", reason, log, seconds
    )


def _of_finding(found: Finding, failing: Severity, *, windows: bool) -> _Case:
    body = "\n".join(
        filter(
            None,
            (short(found.message, _LONGEST), evidence(found), first_fix(found, windows=windows)),
        )
    )
    kind = f"{found.severity.value}, {found.confidence.value} confidence"
    if found.suppressed is not None:
        until = f" until {found.suppressed.until}" if found.suppressed.until else ""
        return _Case(
            found.id,
            found.title,
            "skipped",
            found.suppressed.by,
            f"{found.suppressed.reason or found.suppressed.by}{until}",
            body,
        )
    if found.severity >= failing:
        return _Case(found.id, found.title, "failure", kind, found.title, body)
    return _Case(found.id, found.title, log=f"{kind}\n{body}")


def _suite(
    name: str,
    cases: Sequence[_Case],
    seconds: float,
    taken: str,
    properties: Mapping[str, str] | None = None,
) -> Iterator[str]:
    counts = {
        key: str(sum(case.element == element for case in cases))
        for key, element in (*_COUNTED.items(), ("skipped", "skipped"))
    }
    yield _tag(
        "testsuite",
        {
            "name": name,
            "tests": str(len(cases)),
            **counts,
            "time": f"{seconds:.3f}",
            **({"timestamp": taken} if taken else {}),
        },
    )
    if properties:
        told = [
            _tag("property", {"name": key, "value": one_line(value, 500)}) + "</property>"
            for key, value in properties.items()
        ]
        yield "".join(("<properties>", *told, "</properties>"))
    for case in cases:
        yield from _written(case)
    yield "</testsuite>"


def _written(case: _Case) -> Iterator[str]:
    timed = {} if case.seconds is None else {"time": f"{_sane(case.seconds):.3f}"}
    yield _tag(
        "testcase",
        {"classname": one_line(case.classname, 250), "name": one_line(case.name, 500), **timed},
    )
    if case.element:
        opening = _tag(
            case.element,
            {"type": one_line(case.kind, 250), "message": one_line(case.message, 1000)},
        )
        yield f"{opening}{_text(short(case.body, _LONGEST))}</{case.element}>"
    if case.log:
        yield f"<system-out>{_text(_end(case.log))}</system-out>"
    yield "</testcase>"


def _sane(seconds: float) -> float:
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _end(log: str) -> str:
    """Return the end of a log, where the failure stands."""
    return plain(log) if len(log) <= _LOG else "…\n" + plain(log[-_LOG:])


def _tag(name: str, attributes: Mapping[str, str]) -> str:
    written = "".join(f' {key}="{_text(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>"


def _text(text: str) -> str:
    """Escape text.

    What a runner would take for a command is written as a reference, which a reader turns back.
    """
    return spelled(html.escape(_UNFIT.sub("", text)), lambda char: f"&#{ord(char)};")
