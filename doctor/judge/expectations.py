"""Devices that somebody expects to answer (`--expect`), held against what the checks reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding
from doctor.model.observation import Observation, TargetKind
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.roles import Role, has_role
from doctor.model.scales import Confidence, Severity

WORDS = ("cuda", "rocm", "xpu", "mps", "candle-cuda", "candle-metal")
"""What can be expected; `cuda:2` asks for two GPUs, and so do `rocm:2` and `xpu:2`."""

_WORD = Pattern(r"(?:cuda|rocm|xpu)(?::[1-9][0-9]{0,3})?|mps|candle-cuda|candle-metal")
_ERRORS = {"cuda": "torch.cuda_error", "rocm": "torch.cuda_error", "xpu": "torch.xpu_error"}
_BUILT = "compile"
"""The case of Candle's canaries that needs no device."""


def is_device(word: str) -> bool:
    """Say whether a word names something that can be expected."""
    return _WORD.fullmatch(word) is not None


def unmet(expected: Iterable[str], seen: Observation) -> tuple[Finding, ...]:
    """Return an error for each expected device that no check reached, with the known reason."""
    return tuple(
        _of_candle(word, seen) if word.startswith("candle-") else _of_torch(word, seen)
        for word in expected
        if not _met(word, seen)
    )


def _met(word: str, seen: Observation) -> bool:
    kind, _, count = word.removeprefix("candle-").partition(":")
    if word.startswith("candle-"):
        return any(_computed(outcome) for outcome in _candles(kind, seen.outcomes))
    return len(_alive(kind, seen.facts)) >= int(count or 1)


def _alive(kind: str, facts: Facts) -> list[str]:
    """Return the devices of a kind that answered.

    Torch calls AMD's GPUs cuda:N as well, and only its build tells them apart.
    """
    told = value_of(facts, "torch.devices")
    if kind == "rocm" and value_of(facts, "torch.build") != "rocm":
        return []
    called = "cuda" if kind == "rocm" else kind
    return [
        str(name)
        for name in (told if isinstance(told, list) else [])
        if str(name).partition(":")[0] == called
    ]


def _candles(kind: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [
        each
        for each in outcomes
        if has_role(each.id, Role.RUNS_CANDLE) and (each.device or "").partition(":")[0] == kind
    ]


def _computed(outcome: Outcome) -> bool:
    """Say whether a program of Candle's computed a right number there; a build is not enough."""
    if not outcome.cases:
        return outcome.verdict is Verdict.PASSED
    return any(
        case.verdict is Verdict.PASSED for name, case in outcome.cases.items() if name != _BUILT
    )


def _of_torch(word: str, seen: Observation) -> Finding:
    kind, _, count = word.partition(":")
    alive = _alive(kind, seen.facts)
    why = (
        _other_build(kind, seen.facts) or value_of(seen.facts, _ERRORS.get(kind, ""))
        if not alive
        else None
    )
    said = (
        f"{len(alive)} of {count} answered: {', '.join(alive)}."
        if alive
        else str(why or _unseen(seen) or "None of that kind did.")
    )
    return _finding(
        word,
        "interpreter",
        f"{count} devices that answer" if count else "a device that answers",
        said,
    )


def _other_build(kind: str, facts: Facts) -> str:
    build = value_of(facts, "torch.build")
    return (
        f"This torch is built for {build}."
        if kind in ("rocm", "xpu") and build and build != kind
        else ""
    )


def _unseen(seen: Observation) -> str:
    return (
        ""
        if any(has_role(each.id, Role.PROVES_TORCH) for each in seen.outcomes)
        else "The check that asks torch for its devices did not run."
    )


def _of_candle(word: str, seen: Observation) -> Finding:
    tried = _candles(word.removeprefix("candle-"), seen.outcomes)
    why = next((each.reason for each in tried if each.reason), "")
    cases = [case.reason for each in tried for case in each.cases.values() if case.reason]
    left = [check.id for check in seen.deselected if has_role(check.id, Role.RUNS_CANDLE)]
    if why or cases:
        said = why or cases[0]
    elif left:
        said = (
            f"{left[0]} can tell, and was left out: --tier deep runs it, and so does every run "
            "once the workspace has built candle-core."
        )
    elif not any(target.kind is TargetKind.CARGO for target in seen.targets):
        said = "There is no Cargo workspace here: --project names one."
    else:
        said = "Candle is not built for it with these features: --features turns them on."
    return _finding(word, "cargo", "a program on this workspace's Candle that computes there", said)


def _finding(word: str, target: str, what: str, why: str) -> Finding:
    return Finding(
        id=f"expect/{word.replace(':', '-')}",
        target=target,
        title=f"{word} was expected, and no check reached it",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message=f"--expect {word} asks for {what}. {why}",
    )
