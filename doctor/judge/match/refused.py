"""What this machine did not grant to checks and probes.

Told once for each thing, and never of the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Recipe
from doctor.model.observation import Observation
from doctor.model.outcomes import REFUSED, Verdict, refused_what
from doctor.model.scales import Confidence, Severity

_LONGEST_TITLE, _LONGEST_REASON = 160, 400
_ELSEWHERE = Recipe(
    title="Free some space there, or let temporary files go where there is room",
    steps=(
        Action(
            run=("doctor", "check", "--python", "{python.executable}"), env={"TMPDIR": "<folder>"}
        ),
    ),
    lasting=False,
)


def _for_now(title: str, script: str, *more: str) -> tuple[Recipe, ...]:
    """Return what a shell does about a limit of its own; `more` are what the script is given."""
    return (
        Recipe(
            title=title,
            steps=(Action(run=("sh", "-c", script, *more)),),
            lasting=False,
        ),
    )


def _lifted(title: str, limit: str) -> tuple[Recipe, ...]:
    again = ("doctor", "check", "--python", "{python.executable}")
    return _for_now(title, f'{limit} && "$@"', "sh", *again)


_RECIPES: Mapping[str, tuple[Recipe, ...]] = {
    "room": (_ELSEWHERE,),
    "rights": (_ELSEWHERE,),
    "files": _lifted("Let a process open more files", "ulimit -n 1024"),
    "memory": _lifted(
        "Lift the bound on memory of this shell, or of the job that it belongs to",
        "ulimit -v unlimited",
    ),
    "time": _lifted(
        "Lift the bound on processor time of this shell, or of the job that it belongs to",
        "ulimit -t unlimited",
    ),
    "processes": _for_now(
        (
            "See how many processes this user may have; a container has a limit of its own "
            "(--pids-limit)"
        ),
        "ulimit -u",
    ),
}


def refused_runs(observation: Observation, target: str) -> Iterator[Detection]:
    """Yield a warning for each refused resource, with the checks that did not run for it."""
    told = [
        (refused_what(one.reason), one.reason, one.id)
        for one in observation.outcomes
        if one.verdict is Verdict.SKIPPED
    ]
    told += [
        (refused_what(one.why), one.why, f"probe {one.probe}") for one in observation.probe_failures
    ]
    for what in REFUSED:
        undone = list(dict.fromkeys(name for each, _, name in told if each == what))
        reason = next((reason for each, reason, _ in told if each == what), "")
        if undone:
            yield Detection(
                id=f"machine/{what}",
                target=target,
                title=_title(what, reason),
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                message=(
                    "The machine refused this to doctor, so what is listed was not looked at. "
                    "It says nothing about the stack."
                ),
                evidence=(
                    Evidence(
                        kind=EvidenceKind.OUTCOME,
                        text=reason[:_LONGEST_REASON],
                        source="this machine",
                    ),
                    Evidence(
                        kind=EvidenceKind.OUTCOME,
                        text=f"not looked at: {', '.join(undone)}",
                        source="this machine",
                    ),
                ),
                recipes=_RECIPES[what],
            )


def _title(what: str, reason: str) -> str:
    """Return the reason as a headline; without what a compiler, say, told at length."""
    short = reason if len(reason) <= _LONGEST_TITLE else f"a check had {REFUSED[what]}"
    return short[:1].upper() + short[1:]
