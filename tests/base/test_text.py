"""Foreign text: escapes, and commands of runners."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.base.text import neutralize_commands, one_line, sanitize, shorten


def test_escapes_and_control_characters_go() -> None:
    assert sanitize(
        "\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x00\x08 a\u202eb\r\nc\rd\te"
    ) == "red link abc\nd\te".replace("abc", "ab\nc")


@given(st.text())
def test_plain_text_controls_nothing(text: str) -> None:
    assert not [char for char in sanitize(text) if ord(char) < 32 and char not in "\n\t"]
    assert sanitize(sanitize(text)) == sanitize(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "token" * 40_000,
        "://" * 60_000,
        "x=" * 90_000,
        "bearer " * 30_000,
        "https://a:" + "b" * 150_000,
    ],
)
def test_long_lines_cost_linear_time(text: str) -> None:
    started = time.process_time()
    sanitize(text)
    assert time.process_time() - started < 5


def test_sequences_of_every_kind_go() -> None:
    assert sanitize("to\x1b(Bk\x9b31me\x1b[0;1mn") == "token"


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("a\n  ::error::x\n##[group]y std::vector", "a\n  : :error::x\n# #[group]y std::vector"),
        (
            "x ##vso[task.setvariable variable=PATH]/evil",
            "x # #vso[task.setvariable variable=PATH]/evil",
        ),
        ("##teamcity[buildStatus status='SUCCESS']", "# #teamcity[buildStatus status='SUCCESS']"),
        (
            "section_start:1700000000:build[collapsed=true]",
            "section_start :1700000000:build[collapsed=true]",
        ),
        ("section_end:1700000000:build", "section_end :1700000000:build"),
        ("####vso[x] ## heading [link]", "### #vso[x] ## heading [link]"),
    ],
)
def test_nothing_commands_a_runner(text: str, broken: str) -> None:
    assert neutralize_commands(text) == broken
    assert neutralize_commands(broken) == broken


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n b\t c", "a b c"), ("\x1b[31mred\x1b[0m", "red"), ("abcdef ghij", "abcdef…"), ("", "")],
)
def test_foreign_text_becomes_one_short_line(text: str, line: str) -> None:
    assert one_line(text, 7) == line


def test_a_shortened_text_keeps_its_lines() -> None:
    assert shorten("a\n  b\n  c", 6) == "a\n  b\n …"
