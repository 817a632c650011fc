"""GPUs of one machine that fare differently.

Some are not reached, or are taken by other processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.facts.devices import cards, device_name, is_same, of_nvml, seen_by_nvml
from doctor.facts.placeholders import as_text
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.gpu_messages import FRAMEWORKS, Framework, names_of
from doctor.judge.match.gpu_messages import gpu_obstacle as state_of
from doctor.judge.match.reach_fixes import FIXES
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.observation import Observation
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.roles import Role, has_role
from doctor.model.scales import Confidence, Severity

_WITHHELD = ("permission", "not permitted")
"""In the words of NVML about a GPU that somebody keeps from this user.

A job of a cluster has the GPUs that it asked for.
"""
_HOLDERS = 4
_OF_MODE = ("nvidia/compute-mode-exclusive",)
"""The note that the mode is set: it says less than who holds the GPU."""


def some_missing(observation: Observation) -> Iterator[Detection]:
    """Yield an error where torch reaches some of the GPUs that it may see and not the others."""
    facts = observation.facts
    visible, reached = cards(facts, "nvidia.visible"), cards(facts, "torch.cuda_devices")
    counted = [
        entry
        for entry in visible
        if not any(word in as_text(entry.get("error")).lower() for word in _WITHHELD)
    ]
    in_parts = any(entry.get("mig") for entry in visible)
    if (
        value_of(facts, "torch.build") != "cuda"
        or in_parts
        or not reached
        or len(reached) >= len(counted)
    ):
        return
    compared = {of_nvml(entry): [is_same(entry, other) for other in reached] for entry in counted}
    missing = [name for name, same in compared.items() if not any(one is not False for one in same)]
    errors = {of_nvml(entry): as_text(entry["error"]) for entry in counted if entry.get("error")}
    which = ", ".join(missing) or "which one cannot be told"
    yield Detection(
        id="reach/cuda-some",
        target=observation.targets[0].name if observation.targets else "",
        title=(
            f"torch reaches {len(reached)} of the {len(counted)} NVIDIA GPUs that it may see, "
            f"and not {which}"
        )
        if missing
        else f"torch reaches {len(reached)} of the {len(counted)} NVIDIA GPUs that it may see",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="NVML lists these GPUs and CUDA_VISIBLE_DEVICES lets them through, but torch does "
        "not count them. A GPU that was lost, "
        "or that cannot be opened, does so.",
        evidence=(
            *(
                Evidence(
                    kind=EvidenceKind.FACT, text=f"{name}: {why}", source="NVML", fact="nvidia.gpus"
                )
                for name, why in errors.items()
            ),
            fact_evidence("nvidia.visible", facts),
            fact_evidence("torch.cuda_devices", facts),
        ),
        recipes=FIXES["some"],
    )


def gpus_in_use(observation: Observation) -> Iterator[Detection]:
    """Yield a warning for each GPU that torch finds and cannot use for now.

    Its memory is full, or another process has it for itself.
    """
    for outcome, state in _taken_from_torch(observation):
        yield _taken(outcome, outcome.device or "", state, observation.facts)


def states_of_torch(observation: Observation) -> set[str]:
    """Return what keeps torch from single GPUs: "full", "busy"."""
    return {state for _, state in _taken_from_torch(observation)}


def _taken_from_torch(observation: Observation) -> Iterator[tuple[Outcome, str]]:
    for outcome in observation.outcomes:
        state = outcome.data.get("state")
        # Of a kind (`cuda`) that CUDA could not start for, the rule for GPUs that are not reached
        # speaks.
        if (
            has_role(outcome.id, Role.PROVES_TORCH)
            and outcome.verdict is Verdict.SKIPPED
            and ":" in (outcome.device or "")
            and state in ("full", "busy")
        ):
            yield outcome, str(state)


def all_taken(frameworks: Sequence[Framework], state: str, observation: Observation) -> Detection:
    """Return a warning where CUDA does not start because other processes hold every GPU.

    Without frameworks nothing was started, and NVML alone tells.
    """
    facts = observation.facts
    reach = "reaches" if len(frameworks) == 1 else "reach"
    whose = f"{names_of(frameworks)} {reach}" if frameworks else "A program starts on"
    gpus = cards(facts, "nvidia.visible")
    what = (
        "have no memory left"
        if state == "full"
        else "are taken by other processes (compute mode exclusive process)"
    )
    return Detection(
        id=f"reach/cuda-{state}",
        target=observation.targets[0].name if observation.targets else "",
        title=f"{whose} no GPU: all that this user may see {what}{_first_holder(gpus, state)}",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        message="This is no fault of the stack, but nothing was checked on a GPU. "
        + " ".join(f"{of_nvml(gpu)}: {_holders(gpu)}" for gpu in gpus[:_HOLDERS]),
        evidence=(
            *(fact_evidence(framework.error, facts) for framework in frameworks),
            fact_evidence("nvidia.visible", facts),
        ),
        recipes=FIXES[state],
        symptoms=_OF_MODE if state == "busy" else (),
    )


def _taken(outcome: Outcome, device: str, state: str, facts: Facts) -> Detection:
    nvml = seen_by_nvml(device, facts)
    mode = nvml.get("compute_mode")
    if state == "busy" and mode == "default":
        return _unavailable(outcome, device, facts)
    barred = state == "busy" and mode == "prohibited"
    what = (
        "takes no process at all (compute mode prohibited)"
        if barred
        else _how_full(nvml)
        if state == "full"
        else _how_busy(nvml)
    )
    return Detection(
        id=f"reach/cuda-{state}",
        target=outcome.target,
        title=f"{device_name(device, facts)} {what}",
        severity=Severity.ERROR if barred else Severity.WARNING,
        confidence=Confidence.HIGH,
        message=(
            "This is no fault of the stack, but nothing more was checked on this GPU. "
            f"{_others(state, facts)}{_holders(nvml)}"
        ),
        evidence=(
            Evidence(
                kind=EvidenceKind.OUTCOME, text=outcome.reason, source=f"{outcome.id} on {device}"
            ),
        ),
        recipes=FIXES[state],
        symptoms=_OF_MODE if state == "busy" else (),
    )


def _others(state: str, facts: Facts) -> str:
    """Name the frameworks besides torch that reach no GPU for the same reason."""
    others = [
        each for each in FRAMEWORKS if each.name != "torch" and state_of(each, facts) == state
    ]
    reach = "reaches" if len(others) == 1 else "reach"
    return f"{names_of(others)} {reach} none for the same reason. " if others else ""


def _unavailable(outcome: Outcome, device: str, facts: Facts) -> Detection:
    """Return a finding for a GPU that CUDA does not open although no process holds it."""
    return Detection(
        id="reach/cuda-unavailable",
        target=outcome.target,
        title=f"{device_name(device, facts)} does not take a process, "
        "though its compute mode allows it",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="CUDA calls it busy or unavailable, and in compute mode Default no other process "
        "can be the reason. A virtual GPU "
        "without a licence, or of a profile without CUDA, says so, and a GPU in an error "
        "state that a restart ends.",
        evidence=(
            Evidence(
                kind=EvidenceKind.OUTCOME, text=outcome.reason, source=f"{outcome.id} on {device}"
            ),
        ),
        recipes=FIXES["unavailable"],
    )


def _how_full(nvml: Mapping[str, Any]) -> str:
    total, used = nvml.get("memory_bytes"), nvml.get("memory_used_bytes")
    if not isinstance(total, int) or not isinstance(used, int) or nvml.get("mig"):
        return "has no memory left"
    return (
        f"has no memory left: {max(total - used, 0) / 2**30:.1f} of {total / 2**30:.1f} GiB "
        "are free"
    )


def _how_busy(nvml: Mapping[str, Any]) -> str:
    mode = str(nvml.get("compute_mode") or "").replace("_", " ")
    return (
        f"is taken by another process (compute mode {mode})"
        if mode and mode != "default"
        else "is busy or unavailable"
    )


def _first_holder(gpus: Sequence[Mapping[str, Any]], state: str) -> str:
    """Name who holds the only GPU, which decides what to do."""
    holders = [entry for gpu in gpus for entry in gpu.get("processes") or ()]
    if state != "busy" or len(gpus) != 1 or len(holders) != 1 or not isinstance(holders[0], dict):
        return ""
    size = holders[0].get("memory_bytes")
    taken = f", {size / 2**30:.1f} GiB" if isinstance(size, int) and size else ""
    return f", process {as_text(holders[0].get('pid'))}{taken}"


def _holders(nvml: Mapping[str, Any]) -> str:
    """Name the processes that NVML sees on a card; in a container it sees none of the others."""
    entries = [entry for entry in nvml.get("processes") or () if isinstance(entry, dict)]
    told = []
    for entry in entries[:_HOLDERS]:
        size = entry.get("memory_bytes")
        told.append(
            f"process {as_text(entry.get('pid'))}"
            + (f" ({size / 2**30:.1f} GiB)" if isinstance(size, int) and size else "")
        )
    if not told:
        return "NVML names no process on it here; a container does not see those of others."
    more = f" and {len(entries) - _HOLDERS} more" if len(entries) > _HOLDERS else ""
    return f"On it: {', '.join(told)}{more}."
