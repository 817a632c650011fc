"""Fill placeholders, `{torch.release}` or `{log.version}`, with facts and captures.

A placeholder may bring the text for where there is no value: `{log.library|a CUDA library}`.
Nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.model.facts import Facts, State

HOLE = Pattern(r"\{([a-z][A-Za-z0-9_.*-]*)(?:\|([^{}|]*))?\}")
"""A placeholder: its name, and the text for where there is no value."""

_BRACKETS = Pattern(rf" ?\({HOLE.pattern}\)")
_OPEN = Pattern(rf"( ?){HOLE.pattern}")
PLACEHOLDER = Pattern(r"<[a-z]+(?:-[a-z]+)*>")
"""What a person has to put in, `<package>`.

No installer takes it for a name, and no shell for a file once it is quoted.
"""

_UNSAFE = Pattern(r"[\x00-\x1f\x7f]")


def names(template: str) -> tuple[str, ...]:
    """Return the names of the placeholders in a template."""
    return tuple(hole[1] for hole in HOLE.finditer(template))


def placeholders(words: Iterable[str]) -> tuple[str, ...]:
    """Return what a person has to put into these words before they can be used, each once."""
    return tuple(dict.fromkeys(found for word in words for found in PLACEHOLDER.findall(word)))


def placeholder_value(name: str, facts: Facts, captures: Mapping[str, str]) -> Any:
    """Return what fills a placeholder.

    A value captured from a log (`log.NAME`) or the value of a fact; None where there is none.
    """
    if name.startswith("log."):
        return captures.get(name[4:])
    fact = facts.get(name)
    return fact.value if fact is not None and fact.state is State.PRESENT else None


def as_text(value: Any) -> str:
    """Write a value the way a sentence or a command wants it.

    Lists with commas, no control characters.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, dict):
        return as_text(
            value.get("path")
            or value.get("name")
            or ", ".join(f"{key} {as_text(item)}" for key, item in value.items())
        )
    return _UNSAFE.sub(" ", str(value))


def fill(
    template: str, facts: Facts, captures: Mapping[str, str], *, quote: Callable[[str], str] = str
) -> str | None:
    """Return the template with every placeholder filled, or None where one cannot be.

    `quote` is applied to what fills a placeholder.
    """
    values: dict[str, Any] = {}
    for hole in HOLE.finditer(template):
        value = placeholder_value(hole[1], facts, captures)
        values[hole[0]] = hole[2] if value is None or value == [] else value
    if any(value is None for value in values.values()):
        return None
    return HOLE.sub(lambda hole: quote(as_text(values[hole[0]])), template)


def fill_known(template: str, facts: Facts, captures: Mapping[str, str]) -> str:
    """Fill a sentence.

    A placeholder without a value becomes the text that it brings, else it goes, with the blank
    before it and with brackets that hold nothing else. So an author writes it behind the word that
    it specifies: `torch {torch.release}`.
    """

    def text(hole: re.Match[str]) -> str:
        value = placeholder_value(hole[2], facts, captures)
        shown = hole[3] if value is None else as_text(value)
        return hole[1] + shown if shown else ""

    def bracket(one: re.Match[str]) -> str:
        hole = HOLE.search(one[0])
        there = hole and (hole[2] or placeholder_value(hole[1], facts, captures) is not None)
        return one[0] if there else ""

    return _OPEN.sub(text, _BRACKETS.sub(bracket, template)).strip()


def fill_each(
    templates: tuple[str, ...], facts: Facts, captures: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Fill the arguments of a command.

    An argument that is one placeholder for a list becomes as many arguments.
    """
    filled: list[str] = []
    for template in templates:
        whole = HOLE.fullmatch(template)
        value = placeholder_value(whole[1], facts, captures) if whole else None
        if isinstance(value, list | tuple) and value:
            filled += [as_text(item) for item in value]
        elif (text := fill(template, facts, captures)) is None:
            return None
        else:
            filled.append(text)
    return tuple(filled)
