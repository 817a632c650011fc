"""The report as Markdown that fits into an issue.

Findings come first; the rest is folded, with the machine in the form of `collect_env`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.text import neutralize_commands
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.report import Report
from doctor.report.markdown.blocks import MARKS as SEVERITIES
from doctor.report.markdown.blocks import blocks, finding
from doctor.report.markdown.text import cell, code, code_cell, fenced, folded, in_html, prose
from doctor.report.structured import collect_env
from doctor.report.view import machine, words
from doctor.report.view import outcomes as ends
from doctor.report.view import unreached as reached
from doctor.report.view.assumptions import as_if
from doctor.report.view.blocks import Suppressed
from doctor.report.view.check_plan import at_end
from doctor.report.view.deselected import deselected
from doctor.report.view.detail import ISSUE
from doctor.report.view.findings import findings, on_windows, suppressed
from doctor.report.view.newer_tables import beyond
from doctor.report.view.size_limit import Part, fitted, names_of_lost
from doctor.report.view.summary import summary

_MOST = 60_000
"""Characters; GitHub takes 65,536, and people want to add words of their own."""
_WORD = 600
"""Of these, characters kept free to say what was left out."""
_LOG_LINES = 30

MARKS = {
    Verdict.PASSED: "✅",
    Verdict.FAILED: "❌",
    Verdict.CRASHED: "❌",
    Verdict.TIMED_OUT: "❌",
    Verdict.SKIPPED: "➖",
    Verdict.BROKEN: "⚠️",
}


def render(report: Report) -> str:
    """Return the report as GitHub's Markdown, no longer than an issue may be."""
    return neutralize_commands(_fitted(list(_parts(report)), _MOST))


def _fitted(parts: list[Part], most: int) -> str:
    kept, lost = fitted(parts, most - _WORD)
    texts = [part.text for part in kept]
    if lost:
        texts.insert(
            1,
            f"> **Cut to fit into an issue.** Left out: {names_of_lost(lost)}. "
            "`doctor check --format json` holds everything.",
        )
    return "\n\n".join(texts) + "\n"


def _parts(report: Report) -> Iterator[Part]:
    counted = findings(report, ISSUE)
    yield Part("\n\n".join(_head(report)), "the head", 0)
    if not counted or report.exit_code == 4:
        seen = report.observation
        unseen = (*reached.unreached(seen.facts, seen.outcomes), *beyond(seen.facts))
        yield Part("\n\n".join(map(prose, (words.nothing(report), *unseen))), "what it means", 1)
    for number, found in enumerate(counted):
        yield Part(
            finding(found),
            f"finding {number + 1} ({code(found.id, 40)})",
            10 + number,
        )
    if end := "\n\n".join(_plan(report)):
        yield Part(end, "the plan", 1)
    if quiet := suppressed(report):
        yield Part(
            folded(f"{words.count(len(quiet), 'finding')} suppressed", _suppressed(quiet)),
            "what is suppressed",
            5000,
        )
    yield Part(_checks(report), "the checks", 3000)
    yield Part(_machine(report), "the machine", 2)
    yield Part(_environment(report), "the environment", 3)
    for outcome in report.observation.outcomes:
        if outcome.log.strip() and (outcome.verdict in RED or outcome.verdict is Verdict.BROKEN):
            yield Part(_log(outcome), f"the log of {code(outcome.id, 40)}", 4000)
    yield Part(_rest(report), "what was not checked", 6000)
    yield Part(f"<sub>{in_html(' · '.join(words.catalog(report)))}</sub>", "the date", 4)


def _head(report: Report) -> Iterator[str]:
    seen, total = report.observation, summary(report)
    yield f"## canary-doctor: {words.counts(report)}"
    if seen.recording:
        yield "> **A recording** of another machine."
    if seen.interrupted:
        yield "> **Interrupted**: this is not complete."
    if declared := as_if(seen.facts):
        yield f"> **Assumed**: {prose(declared, 500)}."
    targets = ", ".join(code(machine.target_name(target), 300) for target in seen.targets[:4])
    checks = f"{total.checked} checked, {total.skipped} skipped, {total.broken} broken"
    what = prose(f"canary-doctor {report.doctor_version}, {report.command}", 200)
    yield f"{what}{f' of {targets}' if targets else ''}: {checks}"
    yield " · ".join(f"**{prose(entry, 80)}**" for entry in machine.wheel_tuple(seen.facts)[:12])


def _plan(report: Report) -> Iterator[str]:
    shown = tuple(at_end(report, ISSUE, windows=on_windows(report)))
    if shown:
        yield "### Plan for all findings"
        yield from blocks(shown)


def _suppressed(quiet: Sequence[Suppressed]) -> str:
    return "\n".join(
        f"- {SEVERITIES[one.severity]} {code(one.id)}: {prose(one.title)} ({prose(one.why)})"
        for one in quiet
    )


def _machine(report: Report) -> str:
    rows = machine.rows(report.observation.facts)
    if not rows:
        return ""
    return "\n".join(
        [
            "### Machine",
            "",
            "| | |",
            "| --- | --- |",
            *(f"| {label} | {cell(text, 600)} |" for label, text in rows),
        ]
    )


def _checks(report: Report) -> str:
    groups = ends.grouped(report.observation.outcomes, report.observation.facts)
    if not groups:
        return ""
    lines = [
        "### Checks",
        "",
        "| | check | device | seconds | |",
        "| --- | --- | --- | ---: | --- |",
    ]
    return "\n".join([*lines, *map(_check, groups)])


def _check(alike: tuple[Outcome, ...]) -> str:
    first = alike[0]
    seconds = (
        ""
        if first.verdict is Verdict.SKIPPED
        else f"{sum(outcome.seconds for outcome in alike):.1f}"
    )
    why = "; ".join(filter(None, [ends.why(first), *ends.remarks(alike)]))
    mark = MARKS[first.verdict]
    cells = (mark, code_cell(first.id, 60), cell(ends.devices(alike), 60), seconds, cell(why, 400))
    return f"| {' | '.join(cells)} |"


def _log(outcome: Outcome) -> str:
    lines, before = ends.log_tail(outcome.log, _LOG_LINES)
    where = f"{outcome.id} on {outcome.device}" if outcome.device else outcome.id
    text = "\n".join([f"… {before} lines before" if before else "", *lines])
    return folded(f"Log of {in_html(where, 120)}", fenced(text, "text"))


def _environment(report: Report) -> str:
    title = (
        "Environment, as <code>python -m torch.utils.collect_env</code> writes it "
        "(read without importing torch)"
    )
    return folded(title, fenced(collect_env.block(report.observation.facts), "text"))


def _rest(report: Report) -> str:
    seen, judged = report.observation, report
    lines = [
        *ends.cached(seen),
        *reached.unreached(seen.facts, seen.outcomes),
        *beyond(seen.facts),
        *deselected(seen),
    ]
    lines += [
        f"{issue.id} is undecided: {words.facts_wanted(issue.missing_facts)} is not known"
        for issue in judged.undecided
    ]
    lines += [f"{issue.id} is ruled out: {issue.why}" for issue in judged.ruled_out]
    return (
        folded(
            "Not checked, undecided, ruled out",
            "\n".join(f"- {prose(line, 400)}" for line in lines),
        )
        if lines
        else ""
    )
