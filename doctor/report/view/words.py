"""Words that every format for people shares."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from doctor.base.text import one_line, shorten
from doctor.model.facts import State
from doctor.model.fixes import Fix, Step
from doctor.model.issues import Action, Recipe
from doctor.model.observation import TargetKind
from doctor.model.outcomes import refused_what
from doctor.model.report import Report
from doctor.model.vocabulary import FACTS
from doctor.report.view.summary import summary
from doctor.report.view.unreached import unreached_gpus
from doctor.report.view.unrecognised import not_recognised

_OLD = 180
"""Days after which what is known is called old."""


def count(number: int, what: str) -> str:
    """Return a number with its noun: `1 error`, `2,000 errors`, `2 fixes`."""
    return f"{number:,} {what}" + ("" if number == 1 else "es" if what.endswith("x") else "s")


def flat(text: str, most: int = 4000) -> str:
    """Make foreign text one line without control characters, of no more than `most` characters."""
    return one_line(text, most)


def code_text(text: str, most: int) -> str:
    """Make a command or a line of code fit to be shown: it keeps its blanks and its lines."""
    return shorten(text, most)


def facts_wanted(names: Iterable[str]) -> str:
    """Name facts that are missing, each with what it means."""
    return ", ".join(f"{name} ({FACTS[name]})" if name in FACTS else name for name in names)


def flags(fix: Fix | Recipe) -> str:
    """Say what to know before a fix is tried."""
    asks = fix.asks if isinstance(fix, Fix) else fix.ask
    warnings = {
        f"replace {', '.join(f'<{name}>' for name in asks)}": bool(asks),
        "needs sudo": any(step.sudo for step in fix.steps),
        "reboot afterwards": any(step.reboot for step in fix.steps),
        "changes your source": fix.snippet is not None or any(map(_of_source, fix.steps)),
        "workaround": not fix.lasting,
        "risky: read it first": not fix.safe and not asks,
    }
    return ", ".join(warning for warning, holds in warnings.items() if holds)


def _of_source(step: Step | Action) -> bool:
    """Say whether a step edits a file of the reader's own, not one of an environment."""
    return step.edit is not None and not step.edit.file.endswith(".pth")


def nothing(report: Report) -> str:
    """Say what it means that nothing was found: `Nothing found: ` only where checks passed."""
    if report.exit_code == 4:
        return (
            not_recognised(report)
            if report.command in ("diagnose", "run")
            else _why_nothing(report)
        )
    if report.observation.interrupted:
        return "Nothing found so far; the examination was interrupted."
    gpus = unreached_gpus(report.observation.facts, report.observation.outcomes)
    if gpus:
        return f"Nothing found that counts on what was reached, but {gpus}."
    if report.findings:
        return "Nothing found that counts."
    if summary(report).checked:
        return "Nothing found: the checks passed, and no known issue applies."
    return "Nothing found, but no check ran either: this speaks of versions and files only."


def is_pasted(report: Report) -> bool:
    """Return whether the report is of a text that describes another machine."""
    return [one.chosen_by for one in report.observation.targets] == ["a pasted environment"]


def _why_nothing(report: Report) -> str:
    """Say why there was nothing to judge, by what was looked at."""
    if refused := next(
        (one.reason for one in report.observation.outcomes if refused_what(one.reason)), ""
    ):
        return f"Nothing to judge: no check could run. {refused[:1].upper()}{refused[1:]}."
    if is_pasted(report):
        if report.findings:
            return "The text names no release of a framework, so nothing else was judged."
        return (
            "Nothing to judge: the text names no release of a framework that doctor knows "
            "(torch, JAX, TensorFlow, ONNX Runtime, Candle), and no check ran."
        )
    if [target.kind for target in report.observation.targets] != [TargetKind.CARGO]:
        return (
            "Nothing to judge: this interpreter holds no framework that doctor knows "
            "(torch, JAX, TensorFlow, ONNX Runtime, Candle), and no check ran. "
            "--python PATH examines another one; `doctor demo` shows what a report looks like."
        )
    candle = report.observation.facts.get("crate.candle-core.version")
    reasons = {State.PRESENT: "no check ran", State.ABSENT: "it builds on no Candle"}
    why = reasons.get(
        candle.state if candle else State.UNKNOWN, "what this workspace builds on is not known"
    )
    return (
        f"Nothing to judge: {why}. --project DIR examines another workspace, "
        "--python PATH an interpreter."
    )


def counts(report: Report) -> str:
    """Count what was found, as a headline does: `2 errors, 1 note`."""
    total = summary(report)
    found = {"error": total.error, "warning": total.warning, "note": total.note}
    gpus = unreached_gpus(report.observation.facts, report.observation.outcomes)
    none = (
        "nothing to judge"
        if report.exit_code == 4
        else f"nothing found, but {gpus}"
        if gpus
        else "nothing found"
    )
    return ", ".join(count(number, what) for what, number in found.items() if number) or none


def catalog(report: Report) -> list[str]:
    """Say which catalog was used, whether it is old, and when the machine was examined."""
    known, taken = report.catalog, report.observation.taken
    issues = count(known.issues, "known issue")
    parts = [f"{issues} of {known.newest_source}" if known.newest_source else issues]
    if (age := _days(known.newest_source, taken)) > _OLD:
        parts.append(f"{age // 30} months old then: upgrade canary-doctor")
    if taken:
        parts.append(
            f"{'recorded' if report.observation.recording else 'seen'} "
            f"{taken[:16].replace('T', ' ')} UTC"
        )
    return parts


def value_text(value: object) -> str:
    """Write the value of a fact in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(item) for item in value) or "none"
    if isinstance(value, dict):
        return " ".join(f"{key}={value_text(item)}" for key, item in value.items())
    return str(value)


def _days(older: str, newer: str) -> int:
    try:
        return (date.fromisoformat(newer[:10]) - date.fromisoformat(older[:10])).days
    except ValueError:
        return 0
