"""Patterns are searched in linear time, by RE2 or the automaton, and mean what `re` means."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable

import pytest

from doctor.base.patterns import (
    PatternError,
    PatternMatch,
    Searcher,
    compile_for_fact,
    compile_pattern,
    pattern_error,
)
from doctor.base.patterns.automaton import Automaton
from doctor.catalog.loading import load

_ENGINES = (pytest.param(compile_pattern, id="re2"), pytest.param(Automaton, id="automaton"))


def _by_re(pattern: str, text: str) -> PatternMatch | None:
    found = re.compile(pattern, re.MULTILINE).search(text)
    return found and PatternMatch(
        found.start(), found[0], {name: value for name, value in found.groupdict().items() if value}
    )


@pytest.mark.parametrize("engine", _ENGINES)
def test_every_signature_finds_in_its_examples_what_re_finds(
    engine: Callable[[str], Searcher],
) -> None:
    compared = 0
    every = 1 if engine is compile_pattern else 5  # the automaton takes its time
    for name, issue in list(load().issues.items())[::every]:
        text = "\n".join(example.log for example in issue.examples)
        for signature in issue.signatures:
            for pattern in (signature.pattern, *signature.also, *signature.unless):
                expected = _by_re(pattern, text)
                assert engine(pattern).search(text) == expected, f"{name}: {pattern}"
                compared += expected is not None
    assert compared > 1500 // every


@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?P<path>/home/[\w/]+)/x", "in /home/Žofie/日本語/x"),
        (r"‘(?P<name>\w+)’", "no ‘member’ here"),
        (r"a\sb", "a\u00a0b"),
        (r"a\s+b", "a\v\x1c \u3000\nb"),
        (r"a\Sb", "a\u00a0b aéb"),
        (r"[\s\w]+$", "é 1\n!"),
        (r"\Wb", "éb-b"),
        (r"end\Z", "end\nend"),
        (r"^end$", "the end\nend\nends"),
        (r"a{,2}b", "caaab"),
        (r"[{,3}]+", "x{,3}"),
        (r"\u2018x\x41", "‘xA"),
        (r"(?i:FOO) bar", "Foo bar"),
        (r"(?P<one>a|ab)(?P<two>c|bcd)(?P<three>d*)", "abcd"),
        (r"(?P<least>a+?)(?P<rest>a*)", "aaa"),
        (r"(?P<last>a|b)*c", "abac"),
        (r"(?P<maybe>x)?y", "y"),
        (r"\bno\B", "no nod"),
        (r"(?:a*)*b", "aac"),
        (r"[^\d\n]{2,3}", "1a2\nbcde"),
    ],
)
def test_an_engine_finds_what_re_finds(
    engine: Callable[[str], Searcher], pattern: str, text: str
) -> None:
    assert engine(pattern).search(text) == _by_re(pattern, text)


@pytest.mark.parametrize("engine", _ENGINES)
def test_half_a_surrogate_pair_moves_no_place(engine: Callable[[str], Searcher]) -> None:
    found = engine(r"lib(?P<name>\w+)\.so").search("é\udcff libx.so")
    assert found == PatternMatch(3, "libx.so", {"name": "x"})


@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize(
    "pattern",
    [
        r"(?=a)b",
        r"(?<!a)b",
        r"(a)\1",
        r"(?P<x>a)(?P=x)",
        r"a{1,1001}",
        r"(a){1,900}{1,900}",
        "(a",
        "a**",
        "a\\",
    ],
)
def test_what_needs_to_go_back_is_refused(engine: Callable[[str], Searcher], pattern: str) -> None:
    with pytest.raises(PatternError):
        engine(pattern)
    assert repr(pattern) in pattern_error(pattern)


@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+$", "a" * 4000 + "b"),
        (r"(a|aa)+c", "a" * 4000),
        (r"(?:.*a){12}b", "a" * 2000),
        (r"(?:a?){30}a{30}c", "a" * 2000),
        (r"\w+ \S+ [\w ]+ .*x", "a " * 2000),
        (r"\s*\s*\s*\s*x", " " * 4000),
    ],
)
def test_a_bomb_is_searched_in_linear_time(
    engine: Callable[[str], Searcher], pattern: str, text: str
) -> None:
    searcher = engine(pattern)
    started = time.process_time()
    assert searcher.search(text) is None
    assert time.process_time() - started < 5  # `re` needs from a minute to the age of the universe


def test_a_fact_without_repetition_is_searched_without_an_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "re2", None)  # to import it would fall back to the automaton
    kinds = {
        pattern: type(compile_for_fact(pattern)).__name__
        for pattern in (r"^(pytorch-)?triton", "a?b?c?d?e", "(a+)+$", "x{2}")
    }
    compile_pattern.cache_clear()
    compile_for_fact.cache_clear()
    assert kinds == {
        r"^(pytorch-)?triton": "_Re",
        "a?b?c?d?e": "Automaton",
        "(a+)+$": "Automaton",
        "x{2}": "Automaton",
    }


def test_where_re2_is_not_the_automaton_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "re2", None)
    searcher = compile_pattern(r"no kernel (?P<what>\w+)")
    compile_pattern.cache_clear()
    assert isinstance(searcher, Automaton)
    assert searcher.search("RMSNorm: no kernel image") == PatternMatch(
        9, "no kernel image", {"what": "image"}
    )
