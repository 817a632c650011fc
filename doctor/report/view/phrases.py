"""How facts about the machine become parts of a sentence."""

from __future__ import annotations

import re
from typing import Any

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, State, value_of

_DERIVED_FROM_NOTHING = "not known: "
"""How the reason begins where a fact is derived from facts that nobody looked for."""


def listed(*parts: str) -> str:
    """Join what there is to say with commas."""
    return ", ".join(part for part in parts if part)


def stated(facts: Facts, name: str, form: str = "{}", *, absent: str = "", called: str = "") -> str:
    """Say a fact: its value in `form`, `absent` where it is not there, why it is unknown.

    Nothing where nobody looked.
    """
    fact = facts.get(name)
    if fact is None:
        return ""
    if fact.state is State.UNKNOWN:
        looked = called and not fact.why.startswith(_DERIVED_FROM_NOTHING)
        return f"{called} not known: {fact.why}" if looked else ""
    return form.format(as_text(fact.value)) if fact.state is State.PRESENT else absent


def either(facts: Facts, name: str, true: str, false: str) -> str:
    """Say one of two things, by a fact that is true or false; nothing where it is neither."""
    value = value_of(facts, name)
    return true if value is True else false if value is False else ""


def gib(size: Any) -> str:
    """Say how much memory that is: `80 GiB`; nothing for what cannot be."""
    if not isinstance(size, int) or not 0 < size < 2**60:
        return ""
    return f"{size / 2**30:.0f} GiB" if size >= 10 * 2**30 else f"{size / 2**30:.1f} GiB"


def first_sentence(text: str) -> str:
    """Return a text up to its first full stop."""
    return re.split(r"(?<=[\w)`\"'])\.\s", text.strip(), maxsplit=1)[0]
