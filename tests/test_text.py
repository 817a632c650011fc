"""Foreign text: escapes, secrets, names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.text import HIDDEN, Mask, harmless, plain, without_secrets

SECRETS = [
    "HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "export AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI/K7MDENG'",
    "password: hunter2-very-long",
    '"api_key": "0123456789abcdef"',
    "https://alice:s3cr3t-value@index.example.org/simple",
    "https://ghp_0123456789abcdefghijklmnopqrstuvwxyz@github.com/x/y",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc",
    "cloning with ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "key AKIAIOSFODNN7EXAMPLE in the log",
    "OPENAI sk-abcdefghijklmnopqrstuvwxyz0123",
]
TELLING = ["hf_Ab", "wJalr", "hunter2", "0123456789abcdef", "s3cr3t", "eyJhb", "AKIAIOS", "sk-abc"]


@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_stays(text: str) -> None:
    hidden = without_secrets(text)
    assert HIDDEN in hidden
    assert not [piece for piece in TELLING if piece in hidden]


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cu130",
        "https://github.com/pytorch/pytorch/issues/136504",
        "tokenizers==0.23.2 sk-learn",
        "/home/x/.cache/triton/abc",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


def test_escapes_and_control_characters_go() -> None:
    assert plain("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x00\x08 a\u202eb\r\nc\rd\te") == "red link abc\nd\te".replace(
        "abc", "ab\nc"
    )


@given(st.text())
def test_plain_text_controls_nothing(text: str) -> None:
    assert not [char for char in plain(text) if ord(char) < 32 and char not in "\n\t"]
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "token" * 40_000, "://" * 60_000, "x=" * 90_000, "bearer " * 30_000, "https://a:" + "b" * 150_000]
)
def test_long_lines_cost_linear_time(text: str) -> None:
    started = time.process_time()
    without_secrets(text)
    plain(text)
    assert time.process_time() - started < 5


def test_names_are_masked_as_whole_words() -> None:
    mask = Mask({"$HOME": "/home/alice", "<user>": "alice", "<host>": "box1"})
    assert (
        mask("/home/alice/venv of alice on box1, malice in boxes /home/alices")
        == "$HOME/venv of <user> on <host>, malice in boxes /home/alices"
    )


def test_a_path_is_masked_behind_a_flag() -> None:
    assert Mask({"$HOME": "/home/alice"})("gcc -I/home/alice/include") == "gcc -I$HOME/include"


def test_nothing_speaks_to_a_workflow_runner() -> None:
    assert harmless("a\n  ::error::x\n##[group]y std::vector") == "a\n  : :error::x\n## [group]y std::vector"


def test_short_names_are_left_alone() -> None:
    assert Mask({"<user>": "al"})("al says hello") == "al says hello"
