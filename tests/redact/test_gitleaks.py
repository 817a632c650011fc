"""The rules of gitleaks become shapes that find what gitleaks finds, and more."""

from __future__ import annotations

import re

import msgspec
import pytest

from doctor.redact import gitleaks, shapes
from doctor.site.generate import ROOT, SHAPES


@pytest.mark.parametrize(
    ("regex", "made", "found"),
    [
        (
            r"""\b(p8e-(?i)[a-z0-9]{4})(?:[\x60'"\s;]|\\[nr]|$)""",
            r"\b(p8e-(?i:[a-z0-9]{4}))",
            "x p8e-aB3d)",
        ),
        (r"a(?:b(?i)c)d\z", r"a(?:b(?i:c))d\z", ""),
        (
            r"\b(pat[[:alnum:]]{3}\.[a-f0-9]{2})\b",
            r"\b(pat[0-9A-Za-z]{3}\.[a-f0-9]{2})\b",
            "patAb1.0f",
        ),
        (
            (
                r"""(?i)[\w.-]{0,50}?(?:snyk)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:)"""
                r"""[\x60'"\s=]{0,5}([a-f0-9]{4})(?:[\x60'"\s;]|\\[nr]|$)"""
            ),
            r"""(?i)(?:snyk)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:)[\x60'"\s=]{0,5}([a-f0-9]{4})""",
            "MY_SNYK_TOKEN = 'beef', x",
        ),
    ],
)
def test_a_pattern_of_go_is_one_of_python(regex: str, made: str, found: str) -> None:
    assert gitleaks.pattern(regex).removesuffix(r"\b") == made.removesuffix(r"\b")
    assert not found or re.search(gitleaks.pattern(regex), found)


def test_every_shape_is_a_pattern_with_keywords() -> None:
    told = msgspec.json.decode(SHAPES.read_bytes())
    assert told["source"] == gitleaks.SOURCE
    assert told["left_out"] == gitleaks.LEFT_OUT
    assert len(told["shapes"]) > 200
    for shape in shapes.shapes():
        re.compile(shape.pattern)
        assert shape.keywords
        assert all(word == word.lower() and len(word) > 1 for word in shape.keywords), shape


def test_the_licence_of_the_rules_is_kept() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "MIT License" in notice
    assert gitleaks.SOURCE in notice
