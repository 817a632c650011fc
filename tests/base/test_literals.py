"""The text that a pattern cannot match without."""

from __future__ import annotations

import re

import pytest

from doctor.base.literals import literals_in, required_literals
from doctor.catalog.loading import load

_PATTERNS = [
    (name, signature.pattern, "\n".join(example.log for example in issue.examples))
    for name, issue in load().issues.items()
    for signature in issue.signatures
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("no kernel image", ["no kernel image"]),
        (r"sm_(?P<sm>\d+) is not compatible", [" is not compatible"]),
        (r"undefined symbol: _Z\w*", ["undefined symbol: _Z"]),
        (r"on|another", []),
        (r"some|another", ["some", "another"]),
        (r"in (?:torchinductor|triton) of it", ["torchinductor", "triton"]),
        (r"a long beginning (?:one|two)", ["a long beginning "]),
        (r"(?:(?P<first>alpha|bravo) x|charlie)", ["alpha", "bravo", "charlie"]),
        (r"(?:alpha|bravo)?", []),
        (r"colou?r of it", ["r of it"]),
        (r"ab+cdefg", ["cdefg"]),
        (r"error\[E0384\]: x", ["error[E0384]: x"]),
        (r"(?i)Upper", []),
        (r"(?=ahead)text", []),
        (r"lhs_l: Layout \{ shape: [\[\]\d]+", ["lhs_l: Layout { shape: "]),
        (r"a{2}bcdef", ["bcdef"]),
        (r"\bfo\b", []),
        (r"(optional text)?and more", ["and more"]),
        (r"\x41BC and more", ["BC and more"]),
        (r"it is \u2018here", ["it is "]),
        (r"it is \101BC there", ["BC there"]),
    ],
)
def test_what_a_pattern_cannot_match_without(pattern: str, expected: list[str]) -> None:
    assert list(required_literals(pattern)) == expected


def test_no_match_of_the_catalog_lacks_its_text() -> None:
    matched = 0
    for name, pattern, text in _PATTERNS:
        for found in re.finditer(pattern, text):
            matched += 1
            assert not required_literals(pattern) or any(
                text in found[0] for text in required_literals(pattern)
            ), f"{name}: {pattern}"
    assert matched > 100


def test_every_pattern_of_the_catalog_has_one() -> None:
    assert not [
        f"{name}: {pattern}" for name, pattern, _ in _PATTERNS if not required_literals(pattern)
    ]


def test_what_stands_in_a_text_is_found_though_one_is_part_of_another() -> None:
    assert literals_in(["abc", "b", "abcd", "x", "cde"], "..abcde..") == {"abc", "b", "abcd", "cde"}
