"""Everything one examination saw; the only thing that matching is shown."""

from __future__ import annotations

from enum import Enum

import msgspec

from doctor.model.facts import Fact
from doctor.model.outcomes import Outcome
from doctor.model.scales import Tier


class TargetKind(Enum):
    """What is under examination."""

    INTERPRETER = "interpreter"
    CARGO = "cargo"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One thing under examination.

    `chosen_by` says how it was found (`--python`, `VIRTUAL_ENV`, `./.venv` …), `project` is the
    folder of `--project` where that is not the current one.
    """

    name: str
    kind: TargetKind
    path: str
    chosen_by: str = ""
    project: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options with which another command of doctor takes the same target."""
        where = ("--python", self.path) if self.chosen_by == "--python" else ()
        return (*where, "--project", self.project) if self.project else where


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A text that somebody handed in: where it came from, and its lines without control characters.

    `numbers` are their numbers in the text where these are not simply counted: of a long text only
    the lines that could matter are kept.
    """

    source: str
    lines: tuple[str, ...]
    numbers: tuple[int, ...] = ()

    def number(self, index: int) -> int:
        """Return the number, from 1, of the line at an index."""
        return self.numbers[index] if self.numbers else index + 1


class ProbeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A probe that crashed or ran out of time."""

    probe: str
    why: str


class Deselected(msgspec.Struct, frozen=True, kw_only=True):
    """A check that could run here, but belongs to a tier that was not asked for.

    `seconds` is the most that it may take.
    """

    id: str
    summary: str = ""
    tier: Tier = Tier.DEEP
    seconds: float = 0.0


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """Facts, outcomes and log texts of one examination; `taken` is a UTC time in ISO 8601.

    `static` means that no check was to run (`--no-canaries`); `deselected` are the checks of
    another tier.
    """

    schema_version: int = 1
    doctor_version: str = ""
    taken: str = ""
    recording: bool = False
    interrupted: bool = False
    targets: tuple[Target, ...] = ()
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    logs: tuple[Log, ...] = ()
    probe_failures: tuple[ProbeFailure, ...] = ()
    deselected: tuple[Deselected, ...] = ()
    static: bool = False
