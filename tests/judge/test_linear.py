"""A hostile log costs a signature no more than its length.

Lines made of what each signature itself begins with and repeats.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from doctor.base.literals import required_literals
from doctor.base.patterns.automaton import Automaton
from doctor.catalog.loading import load
from doctor.judge.match.signatures import Text, find
from doctor.model.issues import Signature

_parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_LENGTH = 3990
"""Characters of a line; longer ones are read as several."""
_SECONDS = 2.0
"""Processor time for all lines of one signature.

With an engine that goes back the worst took minutes.
"""
_PATTERNS = sorted(
    {signature.pattern for issue in load().issues.values() for signature in issue.signatures}
)
_BOMBS = [
    pattern
    for pattern in _PATTERNS
    if "executable-stack" in pattern or r"[\w.+-]+\.so[\w.]*): cannot enable" in pattern
]

Part = tuple[Any, Any]


def _sample(parts: Sequence[Part]) -> str:
    """Return a text that a sequence of parts matches."""
    return "".join(map(_of, parts))


def _of(part: Part) -> str:
    kind, value = str(part[0]), part[1]
    if kind == "LITERAL":
        return chr(value)
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return _sample(list(value[2])) * max(int(value[0]), 1)
    if kind == "SUBPATTERN":
        return _sample(list(value[3]))
    if kind == "BRANCH":
        return _sample(list(value[1][0]))
    return _letter(part) if kind in ("IN", "ANY", "NOT_LITERAL") else ""


def _letter(part: Part) -> str:
    """Return a character that a class takes, one that many classes take by preference."""
    test = Automaton("x")._test(str(part[0]), part[1])
    return next((char for char in "a0 .-_/:Az'\"(é\u2018" if test(char)), "")


def _pieces(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the beginnings of each sequence, and the bodies of its repetitions."""
    for number, part in enumerate(parts):
        kind, value = str(part[0]), part[1]
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            yield _sample(list(value[2]))
            yield _sample(parts[: number + 1])
            yield _sample(parts[number : number + 3])
            yield from _pieces(list(value[2]))
        elif kind == "SUBPATTERN":
            yield from _pieces(list(value[3]))
        elif kind == "BRANCH":
            for branch in value[1]:
                yield from _pieces(list(branch))


def _hostile(pattern: str) -> list[str]:
    """Return lines full of beginnings, with the text that the pattern needs to be tried."""
    parts = list(_parser.parse(pattern, re.MULTILINE))
    whole, texts = _sample(parts), required_literals(pattern)
    pieces = {
        *_pieces(parts),
        whole[:-1],
        whole[: len(whole) // 2],
        *texts,
        *(text + " " for text in texts),
        *(text + "a" for text in texts),
    }
    ends = [*texts[:2], whole[-40:-1]]
    lines = [
        (piece * (_LENGTH // len(piece) + 1))[: _LENGTH - len(end)] + end
        for piece in pieces
        if piece
        for end in ends
    ]
    return list(dict.fromkeys(line.replace("\n", " ") for line in lines))


def test_signatures_take_linear_time() -> None:
    spent, lines = {}, 0
    for pattern in _PATTERNS:
        hostile = _hostile(pattern)
        begun = time.process_time()
        for line in hostile:
            list(find([Signature(pattern=pattern)], [Text("log", "\n".join([line] * 3))]))
        spent[pattern] = time.process_time() - begun
        lines += len(hostile)
    assert lines > 5 * len(_PATTERNS)
    assert not {pattern: seconds for pattern, seconds in spent.items() if seconds > _SECONDS}


@pytest.mark.parametrize("pattern", _BOMBS)
def test_the_lines_are_hostile(pattern: str) -> None:
    """An engine that goes back takes more than eight times as long for four times the line."""
    worst = max(_hostile(pattern), key=lambda line: _seconds(pattern, line[:150]))
    assert _seconds(pattern, worst[:600]) > 8 * _seconds(pattern, worst[:150])


def _seconds(pattern: str, line: str) -> float:
    compiled, best = re.compile(pattern), 1e9
    for _ in range(3):
        begun = time.process_time()
        compiled.search(line)
        best = min(best, time.process_time() - begun)
    return best


def test_a_log_of_hostile_lines_takes_linear_time() -> None:
    """A mebibyte of the worst lines that are known, through all signatures."""
    signatures = [signature for issue in load().issues.values() for signature in issue.signatures]
    begun = time.process_time()
    for line in (
        "RMSNorm" * 560 + " failed with error code no kernel image is available",
        "a.so" * 997 + ": cannot enable executable stack",
    ):
        body = "\n".join([line[-_LENGTH:]] * (1024 * 1024 // _LENGTH))
        list(
            find(
                [
                    one
                    for one in signatures
                    if any(text in line for text in required_literals(one.pattern))
                ],
                [Text("log", body)],
            )
        )
    assert time.process_time() - begun < 30
