"""A card that fails what an equal card of the same machine passes.

Both run the same code of the same stack, so the card is suspected, and not the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.facts.devices import (
    card,
    cards,
    device_name,
    is_soldered,
    seen_by_nvml,
    seen_by_torch,
)
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Condition, Recipe
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.scales import Confidence, Severity

_ENDED_ON_CARD = Pattern(
    r"unspecified launch failure|illegal memory access|illegal instruction|misaligned address"
    r"|hardware stack error|invalid program counter"
    r"|CU(?:BLAS|DNN|SPARSE|SOLVER)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)"
)
"""How CUDA says that a kernel ended while it ran.

A full memory or a kernel that lacks the architecture is no such end.
"""
_OF_CARD = "nvidia/"
"""How the ids of known issues begin that already blame a card or its driver."""


def suspected_cards(observation: Observation, told: Sequence[Detection]) -> Iterator[Detection]:
    """Yield an error for each card that alone ends kernels that an equal card runs."""
    failed: dict[str, list[tuple[Outcome, str]]] = {}
    for outcome in observation.outcomes:
        if outcome.verdict in RED and (twin := _twin(outcome, observation)):
            failed.setdefault(outcome.device or "", []).append((outcome, twin))
    for device, found in failed.items():
        sources = tuple(f"{outcome.id} on {device}" for outcome, _ in found)
        about = [one for one in told if any(_is_of(each, sources) for each in one.evidence)]
        if any(one.id.startswith(_OF_CARD) for one in about):
            continue
        yield _suspected(device, found, _follow(about, sources), observation.facts)


def _twin(outcome: Outcome, observation: Observation) -> str:
    """Return a device of the same model that passed this check; empty where there is none."""
    facts, device = observation.facts, outcome.device or ""
    words = "\n".join((outcome.reason, *(case.reason for case in outcome.cases.values())))
    if not device.startswith("cuda:") or not _ENDED_ON_CARD.search(words):
        return ""
    model = _model(seen_by_torch(device, facts))
    passed = (
        each.device or ""
        for each in observation.outcomes
        if each.id == outcome.id
        and each.target == outcome.target
        and each.verdict is Verdict.PASSED
        and each.device != device
    )
    alike = (other for other in passed if model and _model(seen_by_torch(other, facts)) == model)
    return next(alike, "")


def _model(told: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what makes two cards alike; the parts of one card (MIG) say nothing of another."""
    name = as_text(told.get("name") or "")
    return (name, as_text(told.get("capability"))) if name and " MIG " not in name else None


def _is_of(evidence: Evidence, sources: Sequence[str]) -> bool:
    return any(
        text == source or text.startswith(f"{source} ")
        for source in sources
        for text in (evidence.source, evidence.text)
    )


def _follow(about: Sequence[Detection], sources: Sequence[str]) -> tuple[str, ...]:
    """Return the findings that rest on these outcomes alone: they follow from the card."""
    return tuple(
        one.id
        for one in about
        if all(_is_of(each, sources) for each in one.evidence if each.kind is not EvidenceKind.FACT)
    )


def _suspected(
    device: str, found: Sequence[tuple[Outcome, str]], follow: tuple[str, ...], facts: Facts
) -> Detection:
    first, twin = found[0]
    red = {name: case.reason for name, case in first.cases.items() if case.verdict in RED and name}
    what = f" ({', '.join(red)})" if red else ""
    around = "its power" if _is_fixed(device, facts) else "its slot, its power"
    names = ", ".join(dict.fromkeys(outcome.id for outcome, _ in found))
    return Detection(
        id="card/one-of-several",
        target=first.target,
        title=f"{device_name(device, facts)} fails {names}{what}, and its twin {twin} passes",
        severity=Severity.ERROR,
        confidence=Confidence.MEDIUM,
        message=f"This card is suspected, or {around} or the state of its driver, and "
        f"not the program: {device_name(twin, facts)} is of the same model, and runs the same "
        "kernels with the same libraries.",
        evidence=tuple(
            Evidence(
                kind=EvidenceKind.OUTCOME,
                text=next(iter(red.values()), "") or outcome.reason
                if outcome is first
                else outcome.reason,
                source=f"{outcome.id} on {device}",
            )
            for outcome, _ in found
        ),
        recipes=_recipes(device, facts),
        symptoms=follow,
    )


def _recipes(device: str, facts: Facts) -> tuple[Recipe, ...]:
    others = _others(device, facts)
    number = seen_by_nvml(device, facts).get("index")
    linux = Condition(fact="host.os", equals="linux")
    bare = (linux, *(Condition(fact=f"host.{one}", absent=True) for one in ("container", "wsl")))
    named = card(device, facts) or device
    recipes = [
        Recipe(
            title="Look in the kernel's log for what the driver says of the card (Xid)",
            use_if=(linux,),
            note="In a container the log is that of the host.",
            steps=(Action(run=("sh", "-c", "dmesg | grep -i xid"), sudo=True),),
            lasting=False,
        )
    ]
    before = "" if _is_fixed(device, facts) else "; try another slot and cable before"
    if others:
        recipes.insert(
            0,
            Recipe(
                title=f"Leave this card out until it has been examined: {named}",
                note="The numbers are CUDA's, not those of nvidia-smi.",
                steps=(Action(env={"CUDA_VISIBLE_DEVICES": others}),),
            ),
        )
    if number is not None:
        recipes += [
            Recipe(
                title="Reset the card, and check again",
                use_if=bare,
                note="End every program that uses the card before. Where it cannot be reset, "
                "restart the machine.",
                steps=(Action(run=("nvidia-smi", "--gpu-reset", "-i", str(number)), sudo=True),),
                lasting=False,
            ),
            Recipe(
                title="Have NVIDIA's diagnosis test the card",
                use_if=(*bare, "DCGM is installed (datacenter-gpu-manager)"),
                note="It loads the card for some minutes. A card that fails it is one for its "
                f"seller{before}.",
                steps=(Action(run=("dcgmi", "diag", "-r", "3", "-i", str(number))),),
                lasting=False,
            ),
        ]
    return tuple(recipes)


def _is_fixed(device: str, facts: Facts) -> bool:
    return is_soldered(as_text(seen_by_torch(device, facts).get("name") or ""))


def _others(device: str, facts: Facts) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES that leaves a device out.

    Where the variable is set, its own entries stand for the numbers of torch.
    """
    every = [as_text(entry.get("index")) for entry in cards(facts, "torch.cuda_devices")]
    left = [number for number in every if f"cuda:{number}" != device]
    chosen = value_of(facts, "env.CUDA_VISIBLE_DEVICES")
    if not isinstance(chosen, str) or not chosen:
        return ",".join(left)
    named = [one.strip() for one in chosen.split(",")]
    if len(named) != len(every) or not all(number.isdecimal() for number in left):
        return ""
    return ",".join(named[int(number)] for number in left if int(number) < len(named))
