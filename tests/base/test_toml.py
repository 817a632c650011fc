"""TOML of strangers is a table or a sentence, never another error."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.base.toml import TomlError, parse_toml


def test_a_table_is_read() -> None:
    assert parse_toml("[tool]\nname = 'x'\n") == {"tool": {"name": "x"}}


def test_a_long_line_is_no_endless_key() -> None:
    assert parse_toml(f'a = "{"two words. " * 200}"\n# {"." * 300}\nb = [{"1.5, " * 300}]')["b"][
        :2
    ] == [1.5, 1.5]


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "a = " + "[" * 100_000,
        "a = " + "9" * 100_000,
        "a = 2026-13-45",
        "\0",
        "a.b = 1\na = 2",
        "a . " * 200_000 + "a = 1",
        "[" + "a." * 200_000 + "a]",
    ],
    ids=[
        "unfinished",
        "deep",
        "long number",
        "no such day",
        "control character",
        "two meanings",
        "endless",
        "endless table",
    ],
)
def test_what_is_no_toml_is_said_to_be_none(text: str) -> None:
    with pytest.raises(TomlError):
        parse_toml(text)


_LINES = st.lists(
    st.sampled_from(
        [
            "",
            "[a]",
            "[b]",
            "[a.b]",
            'a = "x y"',
            'b = "1.95-x86_64"',
            'a = "\\\\n"',
            "c = 1",
            'd="x"',
        ]
    ),
    max_size=6,
)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
@given(_LINES)
def test_a_text_of_strings_alone_is_read_as_the_parser_reads_it(lines: list[str]) -> None:
    import tomllib

    text = "\n".join(lines)
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(TomlError):
            parse_toml(text)
    else:
        assert parse_toml(text) == expected
