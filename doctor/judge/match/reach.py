"""GPUs that the machine shows and that a framework built for them does not reach.

The rule that needs no catalog entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from doctor.base.globs import matches_any
from doctor.facts.placeholders import as_text
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.gpu_messages import (
    FRAMEWORKS,
    Framework,
    blames_driver,
    error_fact,
    gpu_obstacle,
    names_of,
)
from doctor.judge.match.reach_candle import candle_missed
from doctor.judge.match.reach_fixes import FIXES
from doctor.judge.match.reach_some import all_taken, states_of_torch
from doctor.judge.match.reach_words import gpus_of_build, known_of
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome
from doctor.model.roles import check_of, has_role
from doctor.model.scales import Confidence, Severity

_AT_START = (
    "The container was started without GPUs: whoever starts it decides, and to change the "
    "variable inside changes nothing."
)
_SPELLED = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "Intel GPUs (XPU)"}


def missed_gpus(observation: Observation, told: Sequence[Detection]) -> Iterator[Detection]:
    """Yield an error for frameworks that reach no GPU, unless a known issue says why.

    Those that the same driver turned away are one finding.
    """
    facts = observation.facts
    unexplained: dict[str, list[Framework]] = {}
    held: dict[str, list[Framework]] = {}
    for framework in FRAMEWORKS:
        build = str(value_of(facts, f"{framework.name}.unreached"))
        if build not in _SPELLED or _is_red(framework, observation.outcomes):
            continue
        if state := gpu_obstacle(framework, facts):
            held.setdefault(state, []).append(framework)
        elif not _is_explained(framework, build, told, facts):
            joins = build == "cuda" and "torch" in unexplained and blames_driver(framework, facts)
            unexplained.setdefault("torch" if joins else framework.name, []).append(framework)
    for state, frameworks in held.items():
        if state not in states_of_torch(observation):
            yield all_taken(frameworks, state, observation)
    yield from _taken_by_nvml(observation)
    for frameworks in unexplained.values():
        build = str(value_of(facts, f"{frameworks[0].name}.unreached"))
        yield msgspec.structs.replace(
            _none_reached(frameworks, build, observation), severity=_weight(build, facts)
        )
    for missed in candle_missed(observation):
        grave = [found for found in told if _is_as_grave(found, missed.severity)]
        if not any(
            explains(found, name, ()) for found in grave for name in (missed.id, "reach/cuda")
        ):
            yield missed
    yield from _hidden(facts, observation)


def _taken_by_nvml(observation: Observation) -> Iterator[Detection]:
    """Yield a warning where no check was to run, and NVML sees that others hold every GPU."""
    taken = value_of(observation.facts, "nvidia.taken")
    wanted = value_of(observation.facts, "nvidia.wanted_by")
    if observation.static and taken in ("busy", "full") and wanted:
        yield all_taken((), taken, observation)


def _is_explained(
    framework: Framework, build: str, told: Sequence[Detection], facts: Facts
) -> bool:
    """Say whether a finding that is as grave accounts for what a framework misses.

    What keeps torch from a GPU of NVIDIA's, and is no fault of torch, keeps the others from it.
    """
    cited = (f"{framework.name}.unreached", error_fact(framework, facts))
    grave = [found for found in told if _is_as_grave(found, _weight(build, facts))]
    if any(explains(found, _name(framework, build), cited) for found in grave):
        return True
    shared = build == "cuda" and blames_driver(framework, facts)
    return shared and any(
        explains(found, "reach/cuda", ()) for found in grave if not found.id.startswith("torch/")
    )


def _name(framework: Framework, build: str) -> str:
    return f"reach/{build if framework.name == 'torch' else framework.name}"


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
        has_role(each.id, framework.role) and each.verdict in RED and each.device != "cpu"
        for each in outcomes
    )


def _none_reached(
    frameworks: Sequence[Framework], build: str, observation: Observation
) -> Detection:
    facts = observation.facts
    chosen = value_of(facts, "nvidia.visible_error") if build == "cuda" else None
    one = len(frameworks) == 1
    but = f"{names_of(frameworks)} {'is' if one else 'are'} built for {_SPELLED[build]}"
    but += f" and {'reaches' if one else 'reach'} no GPU"
    seen = [fact for fact in known_of(build) if value_of(facts, fact) not in (None, [])]
    said = {framework: _said(framework, facts) for framework in frameworks}
    words = [
        Evidence(
            kind=EvidenceKind.FACT,
            text=text,
            source=check_of(framework.role),
            fact=error_fact(framework, facts),
        )
        for framework, text in said.items()
        if text
    ]
    return Detection(
        id=_name(frameworks[0], build),
        target=observation.targets[0].name if observation.targets else "",
        title=f"{but}: {as_text(chosen)}"
        if chosen
        else f"{but}, though this machine has {gpus_of_build(build, facts)}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message=_message(said),
        evidence=(*words, *(fact_evidence(fact, facts) for fact in seen)),
        recipes=FIXES[build],
    )


def _said(framework: Framework, facts: Facts) -> str:
    return as_text(value_of(facts, error_fact(framework, facts)) or "").strip()


def _message(said: Mapping[Framework, str]) -> str:
    whys = [
        f'{framework.spelled} says: "{text}".' if text else f"{framework.spelled} gives no reason."
        for framework, text in said.items()
    ]
    return f"Programs run on the CPU, or end as soon as they ask for the GPU. {' '.join(whys)}"


def _hidden(facts: Facts, observation: Observation) -> Iterator[Detection]:
    """Yield a note where somebody keeps all GPUs from torch on purpose.

    Nothing was checked on them.
    """
    by = value_of(facts, "gpu.hidden_by")
    at_start = as_text(by or "").startswith("NVIDIA_VISIBLE_DEVICES")
    # Slurm's word is nobody's wish: nvidia/job-without-gpu says what to ask for.
    job = value_of(facts, "nvidia.job_without_gpu")
    if by and not job and value_of(facts, "torch.cuda_available") is False:
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
