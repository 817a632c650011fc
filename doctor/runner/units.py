"""What is run at once: a check on one device, on several together, or on the host; and which of them may run side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from doctor.host import Host
from doctor.model.checks import Check, Reach, Tier
from doctor.model.outcomes import Outcome, Verdict

HOST = "host"
"""The lane of what runs about the machine."""

Lane: TypeAlias = str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run checks: in which interpreter, for which target, on which devices, within which bounds (seconds, bytes of memory)."""

    executable: str
    target: str
    host: Host
    devices: tuple[str, ...] = ()
    tier: Tier = Tier.QUICK
    timeout: float | None = None
    memory: int | None = None
    deadline: float = float("inf")
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    precompiled: bool = True


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one check; it has its lanes to itself."""

    check: Check
    plan: Plan
    devices: tuple[str, ...] = ()
    lanes: frozenset[Lane]

    @property
    def name(self) -> str:
        """The name of its folder: unique within a run, since a check has one unit for each device."""
        return "-".join((self.check.id, *self.devices[:1])).replace(":", "-") if self.check.header.devices is Reach.EACH else self.check.id

    def skipped(self, why: str) -> Outcome:
        """Make the outcome of a unit that was not started."""
        device = self.devices[0] if self.check.header.devices is Reach.EACH and self.devices else None
        return msgspec.structs.replace(skipped(self.check, self.plan, why), device=device)


def units(check: Check, plan: Plan) -> tuple[Unit, ...]:
    """Return what a check comes to on the devices of a plan; where they are not known, the script finds them out by itself."""
    match check.header.devices:
        case Reach.EACH if plan.devices:
            return tuple(Unit(check=check, plan=plan, devices=(device,), lanes=frozenset({device})) for device in plan.devices)
        case Reach.TOGETHER if plan.devices:
            return (Unit(check=check, plan=plan, devices=plan.devices, lanes=frozenset(plan.devices)),)
        case _:
            # A check of torch that knows no device computes on the processor.
            return (Unit(check=check, plan=plan, lanes=frozenset({"cpu" if "torch" in check.header.needs else HOST})),)


def skipped(check: Check, plan: Plan, why: str) -> Outcome:
    """Make the outcome of a check that was not started."""
    return Outcome(id=check.id, target=plan.target, verdict=Verdict.SKIPPED, reason=why)
