"""The form of a row: one way in which libraries once worked, and what took its place."""

from __future__ import annotations

from typing import NamedTuple

from doctor.model.issues import Recipe


class Edit(NamedTuple):
    """A line of code as it was written once, and as it is written today."""

    before: str
    after: str
    note: str = ""


class FormerName(NamedTuple):
    """What a message shows of code that is older, or newer, than a library.

    `pattern` is searched in a line that has `word`. Its groups fill the texts. `near`, where it
    stands, has to be found in the lines above too. `package` is the library by its import name, and
    `pins` are the releases that the old code is made for; `python` is the newest Python that they
    have wheels for. `recipes` are shown as they stand. `contradicts` are patterns of ids of known
    issues that have another message in mind. `rewriting` are shown where the line is the
    program's own.
    """

    word: str
    pattern: str
    title: str
    cause: str
    edits: tuple[Edit, ...] = ()
    package: str = ""
    pins: tuple[str, ...] = ()
    python: str = ""
    near: str = ""
    recipes: tuple[Recipe, ...] = ()
    contradicts: tuple[str, ...] = ()
    rewriting: tuple[Recipe, ...] = ()
