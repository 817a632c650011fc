"""The checks and the findings as JUnit XML, as Jenkins, GitLab and Buildkite read it.

A case of a check is a test. A wrong result is a failure; a crash, a hang and a broken script are
errors; a skipped case says why. The findings are a second suite; in it fail the findings that made
the exit code.

The elements follow https://github.com/jenkinsci/xunit-plugin (junit-10.xsd).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from doctor.base.text import one_line, sanitize, shorten, spell_commands
from doctor.facts.placeholders import as_text
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.text import body
from doctor.report.view.assumptions import as_if

_UNFIT = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold: https://www.w3.org/TR/xml/#charsets"""

_LOG, _LONGEST, _MOST_CASES = 60_000, 4000, 2000
_ELEMENTS = {
    Verdict.FAILED: "failure",
    Verdict.CRASHED: "error",
    Verdict.TIMED_OUT: "error",
    Verdict.BROKEN: "error",
    Verdict.SKIPPED: "skipped",
}
_COUNTED = {"failures": "failure", "errors": "error"}


class _Case(NamedTuple):
    """A test case. `element` is empty where it passed, `message` is one line, `body` is all."""

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
    found = [_of_finding(one, failing, windows=windows) for one in report.findings[:_MOST_CASES]]
    seconds = sum(_sane(outcome.seconds) for outcome in report.observation.outcomes)
    taken = one_line(report.observation.taken.removesuffix("+00:00"), 40)
    root = ET.Element(
        "testsuites",
        {
            "name": "canary-doctor",
            "tests": str(len(checks) + len(found)),
            **_counts((*checks, *found), _COUNTED),
            "time": f"{seconds:.3f}",
        },
    )
    _add_suite(root, "checks", checks, seconds, taken, _properties(report))
    _add_suite(root, "findings", found, 0.0, taken, {})
    return _written(root)


def _written(root: ET.Element) -> str:
    """Return the document.

    What a runner takes for a command becomes a character reference, which means the same in XML.
    """
    ET.indent(root, space="")
    text = ET.tostring(root, encoding="utf-8", xml_declaration=True).decode()
    return spell_commands(text, lambda char: f"&#{ord(char)};") + "\n"


def _properties(report: Report) -> dict[str, str]:
    """Return what a reader wants to know of the run as a whole."""
    facts = report.observation.facts
    versions = {
        name: as_text(value)
        for name in ("torch.version", "python.version")
        if (value := value_of(facts, name)) is not None
    }
    rest = {
        "assumed": as_if(facts),
        "interrupted": "true" if report.observation.interrupted else "",
    }
    return {
        "canary-doctor": report.doctor_version,
        "exit-code": str(report.exit_code),
        **versions,
        **{name: value for name, value in rest.items() if value},
    }


def _failing(report: Report) -> Severity:
    """Return the least severity that fails here: an error, or what made the exit code."""
    counted = [found.severity for found in report.counted]
    return max(counted, default=Severity.ERROR) if report.exit_code == 1 else Severity.ERROR


def _about_the_run(report: Report) -> Iterator[_Case]:
    """Yield why a run is red although no check and no finding says so."""
    if report.observation.interrupted:
        text = "doctor was interrupted; this is what it had seen by then"
        yield _Case("doctor", "the whole run", "error", "interrupted", text)
    if report.exit_code == 4:
        text = (
            "there was nothing to judge: no framework was found and no check ran, "
            "or the log holds nothing that doctor knows"
        )
        yield _Case("doctor", "something to judge", "error", "nothing to judge", text)


def _cases(outcome: Outcome) -> Iterator[_Case]:
    """Yield the cases of a check.

    The check itself is a case where it has none, or where none of them ended as the check did.
    """
    device = f" [{outcome.device}]" if outcome.device else ""
    verdicts = {case.verdict for case in outcome.cases.values()}
    alone = not outcome.cases or (
        outcome.verdict is not Verdict.PASSED and outcome.verdict not in verdicts
    )
    log = outcome.log if outcome.verdict in _ELEMENTS else ""
    if alone:
        kind = f"by {outcome.signal}" if outcome.signal else outcome.verdict.value
        case = _case(outcome.id, f"{outcome.id}{device}", outcome.verdict, outcome.reason, log)
        yield case._replace(kind=kind, seconds=outcome.seconds)
    for name, each in outcome.cases.items():
        own = log if not alone and each.verdict is outcome.verdict else ""
        yield _case(outcome.id, f"{name}{device}", each.verdict, each.reason, own)
        log = "" if own else log


def _case(check: str, name: str, verdict: Verdict, reason: str, log: str) -> _Case:
    element = _ELEMENTS.get(verdict, "")
    message = reason or verdict.value if element else ""
    return _Case(check, name, element, verdict.value, message, reason, log)


def _of_finding(found: Finding, failing: Severity, *, windows: bool) -> _Case:
    text = shorten(body(found, windows=windows), 2 * _LONGEST)
    kind = f"{found.severity.value}, {found.confidence.value} confidence"
    if (why := found.suppressed) is not None:
        until = f" until {why.until}" if why.until else ""
        message = f"{why.reason or why.by}{until}"
        return _Case(found.id, found.title, "skipped", why.by, message, text)
    if found.severity >= failing:
        return _Case(found.id, found.title, "failure", kind, found.title, text)
    return _Case(found.id, found.title, log=f"{kind}\n{text}")


def _counts(cases: Sequence[_Case], elements: Mapping[str, str]) -> dict[str, str]:
    return {
        key: str(sum(case.element == element for case in cases))
        for key, element in elements.items()
    }


def _add_suite(
    root: ET.Element,
    name: str,
    cases: Sequence[_Case],
    seconds: float,
    taken: str,
    properties: Mapping[str, str],
) -> None:
    attributes = {
        "name": name,
        "tests": str(len(cases)),
        **_counts(cases, {**_COUNTED, "skipped": "skipped"}),
        "time": f"{seconds:.3f}",
        **({"timestamp": _fit(taken)} if taken else {}),
    }
    suite = ET.SubElement(root, "testsuite", attributes)
    if properties:
        parent = ET.SubElement(suite, "properties")
        for key, value in properties.items():
            ET.SubElement(parent, "property", name=key, value=_line(value, 500))
    for case in cases:
        _add_case(suite, case)


def _add_case(suite: ET.Element, case: _Case) -> None:
    attributes = {"classname": _line(case.classname, 250), "name": _line(case.name, 500)}
    if case.seconds is not None:
        attributes["time"] = f"{_sane(case.seconds):.3f}"
    element = ET.SubElement(suite, "testcase", attributes)
    if case.element:
        kind, message = _line(case.kind, 250), _line(case.message, 1000)
        end = ET.SubElement(element, case.element, type=kind, message=message)
        end.text = _fit(shorten(case.body, _LONGEST))
    if case.log:
        ET.SubElement(element, "system-out").text = _fit(_end(case.log))


def _sane(seconds: float) -> float:
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _end(log: str) -> str:
    """Return the end of a log; the failure stands there."""
    return sanitize(log) if len(log) <= _LOG else "…\n" + sanitize(log[-_LOG:])


def _line(text: str, most: int) -> str:
    return _fit(one_line(text, most))


def _fit(text: str) -> str:
    return _UNFIT.sub("", text)
