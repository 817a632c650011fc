"""GPUs that the machine shows and that a framework built for them does not reach: the rule that needs no catalog entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.devices import cards, is_same, of_nvml
from doctor.globs import matches_any
from doctor.holes import as_text
from doctor.match.evidence import fact_evidence
from doctor.match.reach_fixes import FIXES
from doctor.match.reach_words import known_of, shown
from doctor.match.said import FRAMEWORKS, Framework, error_fact
from doctor.model.facts import value_of
from doctor.model.findings import Evidence, EvidenceKind, Finding
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome
from doctor.model.scales import Confidence, Severity

_WITHHELD = ("permission", "not permitted")
"""In the words of NVML about a GPU that somebody keeps from this user: a job of a cluster has the GPUs that it asked for."""


def missed_gpus(observation: Observation, told: Sequence[Finding]) -> Iterator[Finding]:
    """Yield an error for each framework that reaches none of the GPUs it was built for, unless a known issue says why."""
    facts = observation.facts
    for framework in FRAMEWORKS:
        build = value_of(facts, f"{framework.name}.unreached")
        if not build or _is_red(framework, observation.outcomes):
            continue
        name = f"reach/{build if framework.name == 'torch' else framework.name}"
        if not any(explains(found, name, (f"{framework.name}.unreached", error_fact(framework, facts))) for found in told):
            yield _none_reached(name, framework, str(build), observation)
    yield from _some_missing(observation)


def explains(found: Finding, name: str, facts: Iterable[str]) -> bool:
    """Say whether a finding accounts for GPUs that are not reached: it cites them, or names the rule among its symptoms."""
    if found.confidence is Confidence.LOW or found.severity is Severity.NOTE:
        return False
    return matches_any(name, found.symptoms) or any(evidence.fact in facts for evidence in found.evidence)


def _is_red(framework: Framework, outcomes: Sequence[Outcome]) -> bool:
    """Say whether the check that asks a framework went red by itself, off the CPU: then that is what is told."""
    return any(each.id == framework.check and each.verdict in RED and each.device != "cpu" for each in outcomes)


def _none_reached(name: str, framework: Framework, build: str, observation: Observation) -> Finding:
    facts = observation.facts
    said = as_text(value_of(facts, error_fact(framework, facts)) or "").strip()
    titled = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "Intel GPUs (XPU)"}[build]
    seen = [fact for fact in known_of(build) if value_of(facts, fact) not in (None, [])]
    words = [Evidence(kind=EvidenceKind.FACT, text=said, source=framework.check, fact=error_fact(framework, facts))] if said else []
    return Finding(
        id=name,
        target=observation.targets[0].name if observation.targets else "",
        title=f"{framework.spelled} is built for {titled} and reaches no GPU, though this machine has {shown(build, facts)}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message=_message(framework, said),
        evidence=(*words, *(fact_evidence(fact, facts) for fact in seen)),
        recipes=FIXES[build],
    )


def _message(framework: Framework, said: str) -> str:
    why = f'{framework.spelled} says: "{said}".' if said else f"{framework.spelled} gives no reason."
    return f"Programs run on the CPU, or end as soon as they ask for the GPU. {why}"


def _some_missing(observation: Observation) -> Iterator[Finding]:
    """Yield an error where torch reaches some of the GPUs that it may see and not the others."""
    facts = observation.facts
    visible, reached = cards(facts, "nvidia.visible"), cards(facts, "torch.cuda_devices")
    counted = [entry for entry in visible if not any(word in as_text(entry.get("error")).lower() for word in _WITHHELD)]
    in_parts = any(entry.get("mig") for entry in visible)
    if value_of(facts, "torch.build") != "cuda" or in_parts or not reached or len(reached) >= len(counted):
        return
    compared = {of_nvml(entry): [is_same(entry, other) for other in reached] for entry in counted}
    missing = [name for name, same in compared.items() if not any(one is not False for one in same)]
    errors = {of_nvml(entry): as_text(entry["error"]) for entry in counted if entry.get("error")}
    which = ", ".join(missing) or "which one cannot be told"
    yield Finding(
        id="reach/cuda-some",
        target=observation.targets[0].name if observation.targets else "",
        title=f"torch reaches {len(reached)} of the {len(counted)} NVIDIA GPUs that it may see, and not {which}"
        if missing
        else f"torch reaches {len(reached)} of the {len(counted)} NVIDIA GPUs that it may see",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="NVML lists these GPUs and CUDA_VISIBLE_DEVICES lets them through, but torch does not count them. A GPU that was lost, "
        "or that cannot be opened, does so.",
        evidence=(
            *(Evidence(kind=EvidenceKind.FACT, text=f"{name}: {why}", source="NVML", fact="nvidia.gpus") for name, why in errors.items()),
            fact_evidence("nvidia.visible", facts),
            fact_evidence("torch.cuda_devices", facts),
        ),
        recipes=FIXES["some"],
    )
