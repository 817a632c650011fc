"""Tell secrets from words, from code and from placeholders."""

from __future__ import annotations

import math
from collections import Counter
from typing import TypeAlias

from doctor.base.lazy_pattern import Pattern
from doctor.redact.words import words

Span: TypeAlias = tuple[int, int]
"""Where something stands in a text: its first character, and the one after its last."""
HIDDEN = "[hidden]"

_PLACEHOLDER = Pattern(
    r"(?i)^(?:<.*|\[(?:hidden|masked|redacted|filtered|removed|secret|pad|unk|cls|sep|mask|bos|eos"
    r"|inst)\].*|\*+|x{3,}|\.{2,}|…+|-+|_+"
    r"|[$%@]\S*|\{.*|\\u[0-9a-f]{4}.*|none|null|nil|true|false|yes|no|not|empty|undefined|unset"
    r"|missing|redacted|dummy|changeme|n/a"
    r"|str|string|int|bool|bytes|float|any|object|optional\b.*|list\b.*|dict\b.*|tuple\b.*"
    r"|union\b.*|callable\b.*|secretstr)$"
)
_PROSE = words("prose")
_PATH = Pattern(r"^(?:~|\.{0,2}/|[A-Za-z]:[\\/]|\w{1,20}://|[\w.-]+/[\w./-]+\.\w{1,8}$)")
_DOTTED = Pattern(
    r"^(?:self|cls|args|config|cfg|os|kwargs|settings|[a-z_]\w*)(?:\.[A-Za-z_]\w*)+(?:[(\[].*)?$"
    r"|^[a-z_]\w*[(\[].*$"
)
_NUMBER = Pattern(r"^[-+]?[\d.,_:%]{1,400}(?:e[-+]?\d+)?[a-zA-Z%/]{0,8}$|^0x[0-9a-fA-F]+$")
_LETTER, _DIGIT = Pattern(r"[A-Za-z]"), Pattern(r"\d")
_SMALL, _LARGE = Pattern(r"[a-z]"), Pattern(r"[A-Z]")
_WORDS = Pattern(r"^[A-Z]?[a-z]*(?:[-_. ][A-Z]?[a-z]*)*$")
_SECRET_LETTERS = Pattern(r"^[\w+/=.~:@!#$%^&*-]+$")


def is_placeholder(value: str) -> bool:
    """Say whether a value is a placeholder: None, `<pad>`, `$NAME`, `***`, a type's name."""
    return _PLACEHOLDER.match(value.strip()) is not None


def is_prose(value: str) -> bool:
    """Say whether a value is the next word of a sentence rather than a password."""
    return value.lower().strip(".,;:!?'\"") in _PROSE


def is_code(value: str) -> bool:
    """Say whether a value is a path, an address, a number, or an expression of a program."""
    return bool(_PATH.match(value) or _NUMBER.match(value) or _DOTTED.match(value))


def entropy(value: str) -> float:
    """Return the entropy of a text by its own letters, in bits for each (C. E.

    Shannon), as gitleaks weighs what it found.
    """
    total = len(value)
    return (
        -sum(count / total * math.log2(count / total) for count in Counter(value).values())
        if total
        else 0.0
    )


def looks_random(value: str, least: int = 8) -> bool:
    """Say whether a word looks random: letters with digits or in both cases, and no identifier."""
    if len(value) < least or not _SECRET_LETTERS.match(value) or is_placeholder(value):
        return False
    if _DIGIT.search(value) and _LETTER.search(value):
        return True
    mixed = bool(_SMALL.search(value) and _LARGE.search(value)) and not _WORDS.match(value)
    return mixed and len(value) >= 2 * least
