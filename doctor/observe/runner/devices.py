"""How torch is proved alive.

The import and the processor first, then the search for devices, then each device in a process of
its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.model.checks import Check
from doctor.model.facts import Facts, value_of
from doctor.model.outcomes import Outcome, Verdict
from doctor.observe.runner.units import Plan, Unit, lanes

_GRACE_SECONDS = 15.0
"""For each GPU that a driver wakes.

A context takes seconds where no daemon keeps the driver loaded.
"""


MOST_DEVICES = 64
"""How many devices are proved; the largest machines have 16 GPUs, or seven parts of each of 8."""


def first_step(check: Check, plan: Plan) -> Unit:
    """Return the unit that imports torch, says how it was built, and proves the processor."""
    return Unit(check=check, plan=plan, asked="cpu", lanes=frozenset({"cpu"}))


def next_steps(check: Check, plan: Plan, before: Unit, facts: Facts) -> tuple[Unit, ...]:
    """Return what follows a step.

    The search where a driver has to be asked, then one unit for each device that was found.
    """
    if before.device is None and value_of(facts, "torch.cuda_available") is None:
        if value_of(facts, "torch.devices") is None:
            return ()  # torch was not imported
        kind = (
            "cuda"
            if value_of(facts, "torch.cuda_version") or value_of(facts, "torch.hip_version")
            else "xpu"
        )
        gpus = len(value_of(facts, "nvidia.gpus") or ())
        return (_unit(check, plan, kind, _GRACE_SECONDS * gpus),)
    if before.device in (None, "cuda", "xpu"):
        return tuple(
            _unit(check, plan, device, _GRACE_SECONDS) for device in _found(facts)[:MOST_DEVICES]
        )
    return ()


def beyond(facts: Facts) -> str:
    """Say how many devices are left out because there are more than doctor proves.

    Empty where all of them are proved.
    """
    count = len(_found(facts)) - MOST_DEVICES
    return (
        f"{count} further devices were left out: doctor examines {MOST_DEVICES} of one machine"
        if count > 0
        else ""
    )


def _unit(check: Check, plan: Plan, device: str, grace: float) -> Unit:
    return Unit(
        check=check, plan=plan, device=device, lanes=lanes(check, plan, device), grace=grace
    )


def _found(facts: Facts) -> list[str]:
    cards = [
        f"{kind}:{card['index']}"
        for kind in ("cuda", "xpu")
        for card in value_of(facts, f"torch.{kind}_devices") or ()
    ]
    return [*dict.fromkeys(cards)] + ["mps"] * bool(value_of(facts, "torch.mps_available"))


def answered(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Return the devices that computed, the processor first."""
    alive = {
        outcome.device
        for outcome in outcomes
        if outcome.device and outcome.verdict is Verdict.PASSED
    }
    return tuple(
        sorted(
            alive,
            key=lambda device: (
                device != "cpu",
                device.partition(":")[0],
                int(device.partition(":")[2] or 0),
            ),
        )
    )
