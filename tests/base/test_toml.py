"""TOML of strangers is a table or a sentence, never another error."""

from __future__ import annotations

import pytest

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
