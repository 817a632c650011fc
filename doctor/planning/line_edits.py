"""The edit of the line at which a finding is shown, from facts alone.

A report may come from another machine, so no file is read here. What needs more than one line (the
page of an index, a tag of an image, a list that a tool writes) is left to `doctor.planning.pins`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from doctor.base.requirements import InvalidRequirement, normalize_name, read_line
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding
from doctor.model.plans import Plan
from doctor.observe.manifests.pins import Syntax
from doctor.planning.edits.versions import rewritten

_LONGEST = 300
_FROM_PAGE = frozenset({"torch", "torchvision", "torchaudio"})
_VERBS = frozenset({"install", "add"})


class LineEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Put `after` in the place of `before`, which begins at a column of a line, both from 1.

    Columns count Unicode code points. `line_after` is the whole line afterwards, empty where it
    holds more than a requirement.
    """

    path: str
    line: int
    column: int
    before: str
    after: str
    line_after: str = ""

    @property
    def place(self) -> str:
        """Return `requirements.txt:3`."""
        return f"{self.path}:{self.line}"


def line_edits(found: Finding, facts: Facts, plan: Plan | None) -> tuple[LineEdit, ...]:
    """Return the edits at the place of a finding: what the plan installs, else its first fix."""
    if found.place is None:
        return ()
    releases = dict(_releases(found, plan))
    moves_torch = "torch" in releases
    edits: list[LineEdit] = []
    for name, pin in _pins_at(found.place.path, found.place.line, facts):
        release = releases.get(normalize_name(name))
        if release and not (pin["page"] and moves_torch and name in _FROM_PAGE):
            edits += _edit(pin, release)
    return tuple(edits)


def _pins_at(path: str, line: int, facts: Facts) -> Iterator[tuple[str, dict[str, Any]]]:
    for fact in facts:
        name = fact.removeprefix("pin.")
        if fact == name:
            continue
        # The version may stand on another line than the name: `ARG TORCH=2.5.1`.
        match value_of(facts, f"manifest.{name}"), value_of(facts, fact):
            case {"path": str(at), "line": int(number)}, {
                "path": str(),
                "line": int(),
                "column": int(),
                "text": str(),
                "syntax": str(),
                "whole": str(),
                "page": bool(),
            } as pin if (at, number) == (path, line) and pin["path"] == path:
                yield name, pin
            case _:
                pass


def _releases(found: Finding, plan: Plan | None) -> Iterator[tuple[str, str]]:
    if plan is not None and plan.changes:
        yield from (
            (normalize_name(one.name), one.after)
            for one in plan.changes
            if one.after and one.before != one.after
        )
        return
    for command in found.fixes[0].commands if found.fixes else ():
        verbs = [place for place, word in enumerate(command.argv) if word in _VERBS]
        for word in command.argv[verbs[0] + 1 :] if verbs else ():
            name, release = _exact(word)
            if release:
                yield name, release


def _exact(word: str) -> tuple[str, str]:
    """Return the name and release of `torch==2.13.0`; the release is empty for any other word."""
    if word.startswith("-") or "==" not in word or len(word) > _LONGEST:
        return "", ""
    try:
        line = read_line(word)
    except InvalidRequirement:
        return "", ""
    release = line.specifier.removeprefix("==")
    plain = line.specifier.startswith("==") and not set(",*=<>") & {*release}
    return normalize_name(line.name), release if plain else ""


def _edit(pin: dict[str, Any], release: str) -> Iterator[LineEdit]:
    try:
        syntax = Syntax(pin["syntax"])
    except ValueError:
        return
    before, start = pin["text"], pin["column"] - 1
    after = rewritten(syntax, before, release)
    if after is None or after == before or start < 0:
        return
    whole, end = pin["whole"], start + len(before)
    same = bool(whole) and whole[start:end] == before
    yield LineEdit(
        path=pin["path"],
        line=pin["line"],
        column=pin["column"],
        before=before,
        after=after,
        line_after=whole[:start] + after + whole[end:] if same else "",
    )
