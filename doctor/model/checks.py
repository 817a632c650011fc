"""The header of a check script, read without running it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import msgspec

from doctor.model.observation import TargetKind
from doctor.model.roles import Role
from doctor.model.scales import Tier

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is going on and the seconds it has taken."""


class Kind(Enum):
    """A canary does the fragile thing in miniature.

    A facts script reports what only a running interpreter knows.
    """

    CANARY = "canary"
    FACTS = "facts"


class Reach(Enum):
    """What a script is about: each device, one start for one device; or the machine."""

    EACH = "each"
    HOST = "host"


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[tool.doctor]` of a check script.

    `timeout` is in seconds and bounds the whole script.

    A script with `fork_server` shares its imports with those that run after it (see
    checks/fork_server.py). `needs` names modules of an interpreter, or crates of a Cargo workspace:
    `target` says which of the two the script is about. `quick_where` names a fact: where it is
    true, a check of the deep tier takes seconds, and is part of the quick one. A script with
    `peers` opens the other devices too.
    """

    kind: Kind
    summary: str
    role: Role = Role.NONE
    target: TargetKind = TargetKind.INTERPRETER
    needs: tuple[str, ...] = ()
    tier: Tier = Tier.QUICK
    quick_where: str = ""
    timeout: float = 120.0
    devices: Reach = Reach.HOST
    fork_server: bool = False
    peers: bool = False
    cases: tuple[str, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check script: its id (the file name in kebab case), where it lies, and its header."""

    id: str
    path: Path
    header: Header
    requires_python: str = ""
    explanation: str = ""
