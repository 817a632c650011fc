"""What an installer answers to a dry run: a resolution, a conflict, or no answer and why."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from doctor.model.plans import Change


class NoAnswerReason(Enum):
    """Why an installer gave no answer about the requirements themselves."""

    NETWORK = "network"
    NO_INSTALLER = "no-installer"
    EXTERNALLY_MANAGED = "externally-managed"
    READ_ONLY = "read-only"
    TIMEOUT = "timeout"
    NEEDS_BUILD = "needs-build"
    NO_ENVIRONMENT = "no-environment"
    NO_DRY_RUN = "no-dry-run"
    FAILED = "failed"


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What a command would change.

    `download_bytes` is the size of what is not in the cache yet, None where nobody knows it.
    `builds` are the distributions without a wheel: their source would be compiled here.
    """

    changes: tuple[Change, ...] = ()
    download_bytes: int | None = None
    builds: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def is_no_op(self) -> bool:
        """Return whether the command would change nothing."""
        return not self.changes


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements that no choice of releases meets.

    `text` is the installer's own statement, `rules` the two of it that exclude each other.
    """

    text: str
    rules: tuple[str, ...] = ()


class NoAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The dry run said nothing about the requirements; `text` is what it said instead."""

    why: NoAnswerReason
    text: str = ""


Answer: TypeAlias = Resolution | Conflict | NoAnswer
