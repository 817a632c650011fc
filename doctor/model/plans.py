"""A plan: one sequence of steps for all findings of a target, its changes and its proof."""

from __future__ import annotations

from enum import Enum

import msgspec

from doctor.model.fixes import Step


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One package that a plan moves: from a release to another, None where it is absent."""

    name: str
    before: str | None = msgspec.field(default=None, name="from")
    after: str | None = msgspec.field(default=None, name="to")


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan costs: bytes to download and seconds, None where nobody measured them."""

    download_bytes: int | None = None
    seconds: float | None = None
    sudo: bool = False
    reboot: bool = False


class ProofVerdict(Enum):
    """What came of a plan in a clone of the environment."""

    PROVED = "proved"
    NOT_PROVED = "not_proved"
    NOT_POSSIBLE = "not_possible"


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the plan in a clone showed.

    `why` says what is still wrong, or why no proof is possible here. `left` are ids of findings
    that stay. `open` are things that this machine cannot show, such as a kernel without a GPU.
    """

    verdict: ProofVerdict
    seconds: float = 0.0
    why: str = ""
    left: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Steps in order: afterwards the findings `solves` are gone, and those of `leaves` stay.

    `changes` are the packages that move; `resolved` says whether the installer itself confirmed
    them by a dry run, otherwise they come from tables alone. `alternatives` differ in kind, best
    first, and have none of their own. A plan without steps and without `leaves` has nothing to do.
    """

    title: str
    steps: tuple[Step, ...] = ()
    changes: tuple[Change, ...] = ()
    solves: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cost: Cost = Cost()
    resolved: bool = False
    proof: Proof | None = None
    alternatives: tuple[Plan, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.steps and not self.leaves
