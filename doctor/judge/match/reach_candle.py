"""Report a GPU that a workspace builds Candle for and that no check reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.facts.devices import texts, vendors
from doctor.facts.placeholders import as_text
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.reach_fixes import FIXES
from doctor.judge.match.reach_words import gpus_of_build, known_of
from doctor.model.facts import value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.observation import Observation, TargetKind
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.roles import Role, has_role
from doctor.model.scales import Confidence, Severity

_CLOSED = Pattern(r"the device does not open|there is no NVIDIA GPU on this machine")
"""How a check says that the GPU is the reason; any other one (no nvcc) is about the build."""


def candle_missed(observation: Observation) -> Iterator[Detection]:
    """Yield a finding where every check of Candle was skipped on the GPU it is built for."""
    facts = observation.facts
    features, wanted = texts(facts, "candle.features"), texts(facts, "nvidia.wanted_by")
    if "cuda" in features and "candle" in wanted and "nvidia" in vendors(facts):
        yield from _missed("cuda", f"this machine has {gpus_of_build('cuda', facts)}", observation)
    if "metal" in features and value_of(facts, "metal.chip"):
        yield from _missed(
            "metal", f"this Mac has {as_text(value_of(facts, 'metal.chip'))}", observation
        )


def _missed(kind: str, has: str, observation: Observation) -> Iterator[Detection]:
    tried = [
        one
        for one in observation.outcomes
        if has_role(one.id, Role.RUNS_CANDLE) and (one.device or "").partition(":")[0] == kind
    ]
    if not tried or any(one.verdict is not Verdict.SKIPPED for one in tried):
        return
    closed = [one for one in tried if _CLOSED.search(one.reason)]
    yield _finding(kind, has, closed or tried, is_closed=bool(closed), observation=observation)


def _finding(
    kind: str, has: str, tried: Sequence[Outcome], *, is_closed: bool, observation: Observation
) -> Detection:
    facts, spelled = observation.facts, {"cuda": "CUDA", "metal": "Metal"}[kind]
    known = (
        [fact for fact in known_of(kind) if value_of(facts, fact) not in (None, [])]
        if kind == "cuda"
        else []
    )
    target = next(
        (one.name for one in observation.targets if one.kind is TargetKind.CARGO), tried[0].target
    )
    return Detection(
        id="reach/candle",
        target=target,
        title=f"candle is built for {spelled} and reaches no GPU, though {has}"
        if is_closed
        else f"candle is built for {spelled}, and no check of it ran on the GPU, though {has}",
        severity=Severity.ERROR if is_closed else Severity.WARNING,
        confidence=Confidence.HIGH,
        message=f'The check says: "{tried[0].reason}".',
        evidence=(
            Evidence(
                kind=EvidenceKind.OUTCOME,
                text=tried[0].reason,
                source=f"{tried[0].id} on {tried[0].device}",
            ),
            *(fact_evidence(fact, facts) for fact in ("candle.features", *known)),
        ),
        recipes=FIXES["cuda"] if kind == "cuda" and is_closed else (),
    )
