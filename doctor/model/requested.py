"""What `doctor plan` answers: a plan that the installer confirmed, or two rules that conflict."""

from __future__ import annotations

import msgspec

from doctor.model.document import PlanDocument
from doctor.model.plans import Plan


class ToolDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The doctor that wrote the answer."""

    name: str
    version: str


class ConflictDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no choice of releases: `rules` exclude each other.

    `statement` is the installer's own text where it was the one to say so.
    """

    rules: tuple[str, ...]
    statement: str = ""


class Requested(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request.

    `machine` says for which machine it holds, `requests` what was asked. `plan` is None where the
    requests exclude each other (`conflict`); its alternatives are then in `ways_out`. `fault` says
    why the installer could not be asked; a plan beside it comes from tables alone.
    """

    requests: tuple[str, ...]
    machine: tuple[str, ...]
    plan: Plan | None = None
    conflict: ConflictDocument | None = None
    ways_out: tuple[Plan, ...] = ()
    fault: str = ""
    packages: dict[str, str] = msgspec.field(default_factory=dict)
    index: str = ""

    @property
    def exit_code(self) -> int:
        """Return 0 for a plan, 1 for a conflict, 3 where the installer could not be asked."""
        return 1 if self.conflict else 3 if self.fault else 0


class RequestedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `doctor plan`: the plan as in a report, or `conflict.rules` and `ways_out`.

    `packages` are all releases that the installer chose, by name.
    """

    schema_version: int
    doctor: ToolDocument
    exit_code: int
    requests: tuple[str, ...]
    machine: tuple[str, ...]
    plan: PlanDocument | None
    conflict: ConflictDocument | None = None
    ways_out: tuple[PlanDocument, ...] = ()
    fault: str = ""
    packages: dict[str, str] = msgspec.field(default_factory=dict)
