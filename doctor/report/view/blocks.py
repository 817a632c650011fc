"""The blocks that a report is made of: what is said, before any format gives it a shape.

Every text in a block is one line without control characters and no longer than its limit. It may
still come from elsewhere, so each format escapes it.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from doctor.model.scales import Severity


class Style(Enum):
    """How a piece of text stands out."""

    PLAIN = "plain"
    QUIET = "quiet"
    STRONG = "strong"
    WARNING = "warning"
    CODE = "code"
    PROSE = "prose"
    """A sentence of the catalog, in which code stands between backticks."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a paragraph."""

    text: str
    style: Style = Style.PLAIN


class Paragraph(msgspec.Struct, frozen=True):
    """A few sentences; `label` says what they are about, `between` stands between the pieces."""

    pieces: tuple[Piece, ...]
    label: str = ""
    between: str = " "


class Observed(msgspec.Struct, frozen=True):
    """One line of what was seen, and where."""

    text: str
    source: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """What speaks for a finding; `more` counts the lines that are left out."""

    items: tuple[Observed, ...]
    more: int = 0


class Commands(msgspec.Struct, frozen=True):
    """Lines to copy, all for one shell; `label` names the shell where there are several."""

    lines: tuple[str, ...]
    language: str = "sh"
    label: str = ""


class Change(msgspec.Struct, frozen=True):
    """Lines of a change, each behind `-`, `+` or a blank; `where` is the file or the code."""

    lines: tuple[str, ...]
    where: str = ""


class Step(msgspec.Struct, frozen=True):
    """One step of a fix."""

    title: str
    blocks: tuple[Commands | Change, ...]


class Steps(msgspec.Struct, frozen=True):
    """The steps of a fix, in order."""

    items: tuple[Step, ...]


class Fix(msgspec.Struct, frozen=True):
    """One way to mend a finding: when to use it, its title, what to know first, what to do."""

    label: str
    use_if: str
    title: str
    flags: str
    blocks: tuple[Paragraph | Steps | Change | Commands, ...]


class Consequence(msgspec.Struct, frozen=True):
    """Another finding that goes away with this one."""

    severity: Severity
    title: str
    id: str


class Consequences(msgspec.Struct, frozen=True):
    """What follows from a finding."""

    items: tuple[Consequence, ...]


class Links(msgspec.Struct, frozen=True):
    """Addresses to read on."""

    label: str
    addresses: tuple[str, ...]


Block: TypeAlias = "Paragraph | Evidence | Fix | Consequences | Links | Commands"


class Finding(msgspec.Struct, frozen=True):
    """A finding: its head, then its blocks.

    `place` is `file:line` in the project. `about` is the target, where there are several. `folded`
    asks a format that can fold to show the head alone.
    """

    severity: Severity
    title: str
    id: str
    confidence: str
    about: str
    place: str
    folded: bool
    blocks: tuple[Block, ...]


class Suppressed(msgspec.Struct, frozen=True):
    """A finding that does not count, and why."""

    severity: Severity
    title: str
    id: str
    why: str
