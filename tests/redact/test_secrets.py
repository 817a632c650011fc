"""Secrets of many kinds are blanked in the lines of logs, and what only looks alike stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.redact import HIDDEN, texts_with_keywords, without_secrets
from tests.each import each
from tests.redact import aside, corpus
from tests.redact.lines import Line, made

LINES = made((*corpus.SECRETS, *aside.SECRETS))
HARMLESS = (*corpus.HARMLESS, *aside.HARMLESS)


def test_no_secret_stays() -> None:
    each([(line.name, line) for line in LINES], _goes)


def _goes(line: Line) -> None:
    assert line.left(line.text), "the line does not hold its secret"
    hidden = without_secrets(line.text)
    assert HIDDEN in hidden
    assert not line.left(hidden), hidden
    assert hidden.count("\n") == line.text.count("\n")
    assert without_secrets(hidden) == hidden


def test_what_is_no_secret_stays() -> None:
    each([(text, text) for text in HARMLESS], _stays)


def _stays(text: str) -> None:
    assert without_secrets(text) == text


def test_there_are_as_many_kinds_as_we_say() -> None:
    assert len({line.name for line in LINES}) >= 150
    assert len(set(HARMLESS)) >= 80


def test_a_secret_is_found_in_a_long_text() -> None:
    lines = [line.text for line in LINES for _ in range(3)]
    hidden = without_secrets("\n\n".join([*HARMLESS, *lines, *HARMLESS]))
    assert not [(line.name, left) for line in LINES if (left := line.left(hidden))]
    assert hidden.startswith("\n\n".join(HARMLESS))
    assert hidden.endswith("\n\n".join(HARMLESS))


def test_one_look_finds_all_that_may_hold_a_secret() -> None:
    texts = [
        text for pair in zip(HARMLESS, (line.text for line in LINES), strict=False) for text in pair
    ]
    assert {number for number, text in enumerate(texts) if without_secrets(text) != text} <= set(
        texts_with_keywords(texts)
    )


_TOLD_BY_THEIR_END = frozenset({"url-user-alone", "sentry-dsn"})
"""Without the @ behind it nobody can tell a name in an address from a host."""


def test_a_secret_that_a_tool_cut_short_goes_as_well() -> None:
    each([(line.name, line) for line in LINES if "\n" not in line.text], _goes_cut_short)


def _goes_cut_short(line: Line) -> None:
    secret = line.secrets[0]
    cut = line.text[: line.text.index(secret) + len(secret) * 2 // 3]
    if len(secret) >= 24 and line.name not in _TOLD_BY_THEIR_END:
        assert not line.left(without_secrets(cut)), without_secrets(cut)


@given(st.text())
def test_any_text_keeps_its_lines(text: str) -> None:
    assert without_secrets(text).count("\n") == text.count("\n")


@given(
    st.lists(
        st.sampled_from(
            [
                *HARMLESS,
                *(line.text for line in LINES),
                "token",
                "password",
                "=",
                "://",
                "@",
                '"',
                "'",
                ":",
                "\n",
                " ",
            ]
        )
    )
)
def test_blanking_twice_changes_nothing(parts: list[str]) -> None:
    once = without_secrets(" ".join(parts))
    assert without_secrets(once) == once


def test_a_command_far_along_a_line_is_read_as_one_at_its_start() -> None:
    command = "echo goose96432 | docker login -u bob --password-stdin"
    for between in range(560, 760, 3):
        assert "goose" not in without_secrets(
            f"{command} "
            f"{'passwd: files systemd '[:9] * (between // 9)}{' ' * (between % 9)}{command}"
        )


@pytest.mark.parametrize("name", ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"])
@pytest.mark.parametrize("blank", [" ", "\t", "\x1d", "\N{NO-BREAK SPACE}"])
@pytest.mark.parametrize("end", ["", '"', "'x'", "\n"])
def test_a_header_without_a_value_stays(name: str, blank: str, end: str) -> None:
    for count in range(12):
        text = f"{name}:{blank * count}{end}"
        assert without_secrets(text) == text


def test_a_byte_that_is_no_text_hides_no_secret() -> None:
    texts = ["\udcff\udcfe", "\udcff HF_TOKEN=Zq93kdkWm29xkd \udcff"]
    assert list(texts_with_keywords(texts)) == [1]
    assert without_secrets(texts[0]) == texts[0]
    assert without_secrets(texts[1]) == f"\udcff HF_TOKEN={HIDDEN} \udcff"
