"""Forms: how one program words one kind of event."""

from __future__ import annotations

from typing import NamedTuple

from doctor.model.events import Level

ANYBODY = "a program"
"""Who speaks where a wording does not show which program it is."""


class Form(NamedTuple):
    """One wording of one kind of event.

    `pattern` is searched for in a single line, by an engine that never goes back; case counts
    unless it begins with `(?i)`. Its named groups are the objects of the event. `words` are
    lower-case texts of at least four characters: a line is only searched if one of them stands in
    it, whatever its case. `joined` searches the line together with the next one, for messages that
    break there. `general` marks a wording that only shows that something failed.
    """

    kind: str
    pattern: str
    words: tuple[str, ...]
    level: Level = Level.FAILURE
    joined: bool = False
    general: bool = False


class Voice(NamedTuple):
    """All forms of one program."""

    speaker: str
    forms: tuple[Form, ...]
