"""The checks of a report on a page, their logs, what was not looked at, and every fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from doctor.model.facts import Fact, Facts, State, value_of
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.report import Report
from doctor.model.vocabulary import FACTS
from doctor.report.html.elements import Markup, el, folded, joined, line, row, table
from doctor.report.view import outcomes as ends
from doctor.report.view import unreached as reached
from doctor.report.view import words
from doctor.report.view.deselected import deselected
from doctor.report.view.newer_tables import beyond

_MARKS = {Verdict.PASSED: "✓", Verdict.SKIPPED: "–", Verdict.BROKEN: "?"}
_SHORT = {Verdict.BROKEN: "broken", Verdict.TIMED_OUT: "timed out"}
_HEADS = ("check", "verdict", "device", "time", "what it says")
_LOG_LINES = 80
_MOST_CASES = 40
_ELSEWHERE = ("requires", "packages", "compat")
"""Facts that other parts of the page tell."""
_FIRST = (
    "torch",
    "triton",
    "cuda",
    "nvidia",
    "gpu",
    "metal",
    "compiler",
    "build",
    "python",
    "host",
    "env",
    "libs",
    "files",
)


def checks(outcomes: Sequence[Outcome], facts: Facts) -> Markup:
    """Return the checks as a table; devices on which one ended alike share a row."""
    if not outcomes:
        return el("p", "No check ran.", class_="quiet")
    body = el("tbody", *map(_check, ends.grouped(outcomes, facts)))
    return el(
        "div", table("The checks, how they ended and why", _HEADS, body, "checks"), class_="wide"
    )


def _kind(verdict: Verdict) -> str:
    return (
        "violated"
        if verdict in RED
        else {Verdict.PASSED: "fits", Verdict.SKIPPED: "not-here"}.get(verdict, "unknown")
    )


def _check(alike: tuple[Outcome, ...]) -> Markup:
    first, kind = alike[0], _kind(alike[0].verdict)
    seconds = (
        ""
        if first.verdict is Verdict.SKIPPED
        else f"{sum(outcome.seconds for outcome in alike):.1f} s"
    )
    said = _SHORT.get(first.verdict, first.verdict.value)
    mark = el(
        "span",
        el("span", _MARKS.get(first.verdict, "✗"), aria_hidden="true"),
        f" {said}",
        class_=f"verdict {kind}",
    )
    because = ends.because(first)
    told = [el("p", line(text, 1000)) for text in (because, *ends.remarks(alike)) if text]
    cells = (mark, line(ends.devices(alike), 80), seconds, joined(*told, _cases(first, because)))
    return row(line(first.id, 60), *cells, class_=kind)


def _cases(outcome: Outcome, said: str) -> Markup:
    """Return the cases that did not pass and that nothing has been said of."""
    other = [
        (name, case) for name, case in outcome.cases.items() if case.verdict is not Verdict.PASSED
    ]
    told = [(name, case) for name, case in other if f"{name}: {case.reason}" not in said]
    items = [
        el("li", el("code", line(name, 80)), f" {case.verdict.value} ", line(case.reason, 400))
        for name, case in told[:_MOST_CASES]
    ]
    return el("ul", *items) if items else Markup("")


def logs(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, Markup]]:
    """Yield the last lines of what red and broken checks printed, each with its name."""
    for outcome in outcomes:
        if outcome.log.strip() and (outcome.verdict in RED or outcome.verdict is Verdict.BROKEN):
            where = line(f"{outcome.id} on {outcome.device}" if outcome.device else outcome.id, 120)
            lines, before = ends.log_tail(outcome.log, _LOG_LINES)
            text = "\n".join([*([f"… {before} lines before"] if before else []), *lines])
            yield (
                f"the log of {where}",
                folded(f"Log of {where}", el("pre", text, class_="log"), class_="card"),
            )


def rest(report: Report) -> Markup:
    """Return what was not checked, is undecided or ruled out."""
    seen, judged = report.observation, report
    told = (
        *ends.cached(seen),
        *reached.unreached(seen.facts, seen.outcomes),
        *beyond(seen.facts),
        *deselected(seen),
    )
    unseen = [line(text, 600) for text in told]
    open_ = [
        _issue(one.id, one.title, f"needs {words.facts_wanted(one.missing_facts)}")
        for one in judged.undecided
    ]
    out = [_issue(one.id, one.title, one.why) for one in judged.ruled_out]
    groups = (
        _listed("Not checked", unseen),
        _listed("Undecided: facts are missing", open_),
        _listed("Ruled out", out),
    )
    return joined(*groups)


def _listed(name: str, items: Sequence[str]) -> Markup:
    return (
        folded(
            f"{name}: {len(items)}", el("ul", *(el("li", item) for item in items)), class_="card"
        )
        if items
        else Markup("")
    )


def _issue(name: str, title: str, why: str) -> Markup:
    return joined(
        line(title, 300), " ", el("code", line(name, 120)), el("p", line(why, 600), class_="source")
    )


def facts(known: Facts) -> Iterator[tuple[str, Markup]]:
    """Yield every fact in tables by subject, each with its name; packages come last."""
    groups: dict[str, dict[str, Fact]] = {}
    for name, fact in sorted(known.items()):
        if (subject := name.partition(".")[0]) not in _ELSEWHERE:
            groups.setdefault(subject, {})[name] = fact
    order = {subject: number for number, subject in enumerate(_FIRST)}
    for subject in sorted(
        groups,
        key=lambda one: (order.get(one, len(order)) + (one in ("package", "extension")), one),
    ):
        title = joined(
            line(subject, 60), " ", el("span", str(len(groups[subject])), class_="source")
        )
        yield f"the facts about {line(subject, 60)}", folded_table(title, groups[subject])
    if isinstance(packages := value_of(known, "packages"), dict):
        listed = ", ".join(f"{name} {version}" for name, version in packages.items())
        yield (
            "the list of packages",
            el(
                "details",
                el("summary", "packages"),
                el("p", line(listed, 12000)),
                class_="card",
                open="",
            ),
        )


def folded_table(title: Markup, known: Mapping[str, Fact]) -> Markup:
    """Return a table of facts that opens and closes."""
    rows = (
        row(_name(name), _value(fact), line(fact.source, 200), class_=fact.state.value)
        for name, fact in known.items()
    )
    body = el(
        "div",
        table("Facts", ("fact", "value", "source"), el("tbody", *rows), "facts"),
        class_="wide",
    )
    return el("details", el("summary", title), body, class_="card", open="")


def _name(name: str) -> Markup:
    return el("span", line(name, 120), title=FACTS.get(name))


def _value(fact: Fact) -> Markup:
    if fact.state is State.ABSENT:
        return el("span", "absent", class_="source")
    if fact.state is State.UNKNOWN:
        return el("span", "unknown: ", line(fact.why, 300), class_="source")
    return joined(line(words.value_text(fact.value), 400))
