"""A hostile log costs a signature no more than its length."""

from __future__ import annotations

import re
import time

import pytest

from doctor.catalog import load
from doctor.literals import needed
from doctor.match.signatures import Text, find
from doctor.model.issues import Signature

_LINES, _LENGTH = 10, 4000
_PATTERNS = sorted({signature.pattern for issue in load().issues.values() for signature in issue.signatures})


def _hostile(pattern: str) -> list[str]:
    """Return texts full of beginnings: what the pattern cannot do without, alone, with filling, and with its own plain characters."""
    (text, *_) = needed(pattern)
    plain = re.sub(r"\\[A-Za-z]|\(\?(?:P<\w+>|:)|[\\\[\](){}|^$*+?]|\{[\d,]+\}", "", pattern)
    return [text, text + "a", text + " ", text + "0.", text + "/", plain, "a" * 50 + text, "'" + text]


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_signatures_take_linear_time(pattern: str) -> None:
    started = time.process_time()
    for piece in _hostile(pattern):
        line = (piece * (_LENGTH // len(piece) + 1))[:_LENGTH]
        list(find([Signature(pattern=pattern)], [Text("log", "\n".join([line] * _LINES))]))
    assert time.process_time() - started < 2
