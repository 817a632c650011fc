"""What is started at once, a check on one device or on the host.

And which of them may run side by side.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.host import Host
from doctor.model.checks import Check, Reach
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.scales import Tier

HOST = "host"
"""The lane of what runs about the machine."""
ALL_GPUS = "gpus"
"""The lane of whatever opens a GPU where each takes one process at a time."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run checks.

    With which command in front, for which target, on which devices, within which bounds (seconds,
    bytes).
    """

    command: tuple[str, ...]
    target: str
    host: Host
    devices: tuple[str, ...] = ()
    tier: Tier = Tier.QUICK
    timeout: float | None = None
    memory: int | None = None
    deadline: float = float("inf")
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    precompiled: bool = True
    exclusive: bool = False


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one check; it has its lanes to itself.

    `asked` is what the script is told to try, where that is not the device of the unit; `grace` are
    seconds on top of its bound. `alone` keeps it out of the fork server, whose variables are those
    of its start.
    """

    check: Check
    plan: Plan
    device: str | None = None
    asked: str | None = None
    lanes: frozenset[str]
    grace: float = 0.0
    alone: bool = False

    @property
    def name(self) -> str:
        """The name of its folder.

        Unique within a run, since a check has one unit for each device.
        """
        return (
            self.check.id
            if self.device is None
            else f"{self.check.id}-{self.device.replace(':', '-')}"
        )

    @property
    def kind(self) -> str:
        """The kind of its device, without a number; empty where it is about the machine."""
        return (self.device or "").partition(":")[0]

    def skipped(self, why: str) -> Outcome:
        """Make the outcome of a unit that was not started."""
        return msgspec.structs.replace(skipped(self.check, self.plan, why), device=self.device)


def units(check: Check, plan: Plan) -> tuple[Unit, ...]:
    """Return what a check comes to on the devices of a plan.

    Where they are not known, the script finds them out by itself.
    """
    if check.header.devices is Reach.EACH and plan.devices:
        return tuple(
            Unit(check=check, plan=plan, device=device, lanes=lanes(check, plan, device))
            for device in plan.devices
        )
    return (Unit(check=check, plan=plan, lanes=lanes(check, plan)),)


def lanes(check: Check, plan: Plan, device: str | None = None) -> frozenset[str]:
    """Return what a start of a check has to itself.

    Its device, and the others of that kind where it exchanges something with them.
    """
    # A check of torch that knows no device computes on the processor.
    own = device or ("cpu" if "torch" in check.header.needs else HOST)
    kind = own.partition(":")[0]
    others = (
        [other for other in plan.devices if device is None or other.partition(":")[0] == kind]
        if check.header.peers
        else []
    )
    gpus = [ALL_GPUS] if plan.exclusive and device not in ("cpu", "mps") else []
    return frozenset([own, *others, *gpus])


def skipped(check: Check, plan: Plan, why: str) -> Outcome:
    """Make the outcome of a check that was not started."""
    return Outcome(id=check.id, target=plan.target, verdict=Verdict.SKIPPED, reason=why)
