"""GPUs that the machine shows and that a framework built for them does not reach.

The rule that needs no catalog entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from doctor.base.globs import matches_any
from doctor.facts.placeholders import as_text
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.reach_candle import candle_missed
from doctor.judge.match.reach_fixes import FIXES
from doctor.judge.match.reach_some import all_taken
from doctor.judge.match.reach_words import known_of, shown
from doctor.judge.match.said import FRAMEWORKS, Framework, error_fact, taken
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome
from doctor.model.scales import Confidence, Severity

_AT_START = (
    "The container was started without GPUs: whoever starts it decides, and to change the "
    "variable inside changes nothing."
)
_SPELLED = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "Intel GPUs (XPU)"}


def missed_gpus(observation: Observation, told: Sequence[Detection]) -> Iterator[Detection]:
    """Yield an error for each framework that reaches no GPU, unless a known issue says why."""
    facts = observation.facts
    for framework in FRAMEWORKS:
        build = value_of(facts, f"{framework.name}.unreached")
        if str(build) not in _SPELLED or _is_red(framework, observation.outcomes):
            continue
        if state := taken(framework, facts):
            yield all_taken(framework, state, observation)
            continue
        weight = _weight(str(build), facts)
        name = f"reach/{build if framework.name == 'torch' else framework.name}"
        cited = (f"{framework.name}.unreached", error_fact(framework, facts))
        if not any(_is_as_grave(found, weight) and explains(found, name, cited) for found in told):
            yield msgspec.structs.replace(
                _none_reached(name, framework, str(build), observation), severity=weight
            )
    for missed in candle_missed(observation):
        grave = [found for found in told if _is_as_grave(found, missed.severity)]
        if not any(
            explains(found, name, ()) for found in grave for name in (missed.id, "reach/cuda")
        ):
            yield missed
    yield from _hidden(facts, observation)


def explains(found: Detection, name: str, facts: Iterable[str]) -> bool:
    """Say whether a finding accounts for GPUs that are not reached.

    It cites them, or names the rule among its symptoms.
    """
    if found.confidence is Confidence.LOW:
        return False
    return matches_any(name, found.symptoms) or any(
        evidence.fact in facts for evidence in found.evidence
    )


def _weight(build: str, facts: Facts) -> Severity:
    """Return how bad it is.

    A container into which no GPU was handed shows those of its host, and may well be meant for the
    CPU.
    """
    empty = value_of(facts, "host.container") and value_of(facts, "nvidia.device_nodes") is False
    return (
        Severity.WARNING
        if build == "cuda" and empty and not value_of(facts, "nvidia.nodes_refused")
        else Severity.ERROR
    )


def _is_as_grave(found: Detection, weight: Severity) -> bool:
    return found.severity >= weight


def _is_red(framework: Framework, outcomes: Sequence[Outcome]) -> bool:
    """Say whether the check that asks a framework went red by itself, off the CPU.

    Then that is what is told.
    """
    return any(
        each.id == framework.check and each.verdict in RED and each.device != "cpu"
        for each in outcomes
    )


def _none_reached(
    name: str, framework: Framework, build: str, observation: Observation
) -> Detection:
    facts = observation.facts
    said = as_text(value_of(facts, error_fact(framework, facts)) or "").strip()
    chosen = value_of(facts, "nvidia.visible_error") if build == "cuda" else None
    but = f"{framework.spelled} is built for {_SPELLED[build]} and reaches no GPU"
    seen = [fact for fact in known_of(build) if value_of(facts, fact) not in (None, [])]
    words = (
        [
            Evidence(
                kind=EvidenceKind.FACT,
                text=said,
                source=framework.check,
                fact=error_fact(framework, facts),
            )
        ]
        if said
        else []
    )
    return Detection(
        id=name,
        target=observation.targets[0].name if observation.targets else "",
        title=f"{but}: {as_text(chosen)}"
        if chosen
        else f"{but}, though this machine has {shown(build, facts)}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message=_message(framework, said),
        evidence=(*words, *(fact_evidence(fact, facts) for fact in seen)),
        recipes=FIXES[build],
    )


def _message(framework: Framework, said: str) -> str:
    why = (
        f'{framework.spelled} says: "{said}".' if said else f"{framework.spelled} gives no reason."
    )
    return f"Programs run on the CPU, or end as soon as they ask for the GPU. {why}"


def _hidden(facts: Facts, observation: Observation) -> Iterator[Detection]:
    """Yield a note where somebody keeps all GPUs from torch on purpose.

    Nothing was checked on them.
    """
    by = value_of(facts, "gpu.hidden_by")
    at_start = as_text(by or "").startswith("NVIDIA_VISIBLE_DEVICES")
    if by and value_of(facts, "torch.cuda_available") is False:
        yield Detection(
            id="reach/hidden",
            target=observation.targets[0].name if observation.targets else "",
            title=f"{as_text(by)} keeps the GPUs of this machine from torch",
            severity=Severity.NOTE,
            confidence=Confidence.HIGH,
            message="So it seems meant: everything runs on the CPU, and no check ran on a GPU. "
            + (_AT_START if at_start else "Without the variable doctor tries them."),
            evidence=(fact_evidence("gpu.hidden_by", facts),),
            recipes=FIXES["hand in"] if at_start else (),
        )
