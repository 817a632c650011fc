"""What a text costs the scrubber grows with its length, whatever stands in it."""

from __future__ import annotations

import time

import pytest

from doctor.redact import names, secrets, shapes, without_secrets
from doctor.redact.people import without_names
from tests.redact import aside, corpus
from tests.redact.lines import made

_SIZE = 60_000
_SECONDS = 4.0
"""Of the processor: what these texts take is below one."""
_PIECES = (
    *(
        "token=",
        "token='",
        "token=$",
        "password is ",
        "key:",
        "://",
        "https://a:",
        "https://a:b@",
        "a@",
        "a:b@c ",
        "bearer ",
        "basic ",
    ),
    *(
        "cookie: a=",
        "authorization: ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
    ),
    *(
        "docker login ",
        "login -p ",
        "curl -u a:",
        "echo ",
        "echo a | --password-stdin ",
        "mysql -p",
        "wandb login --a ",
        "name: a_key value: ",
    ),
    *(
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "ghp_",
        "xoxb-1",
        "/webhooks/",
        "AKIA",
        "pypi-",
        "sk-",
        "1//0",
        "aQ~",
        "password",
        "password for a: ",
    ),
    *(
        "_pat=",
        "auth=(",
        "auth=('a', ",
        "\\",
        '"',
        "'",
        "A" * 40 + "\n",
        "tok\nen=",
        "HF_TOKEN=hf_" + "a" * 60 + "\n",
    ),
)


@pytest.mark.parametrize("piece", _PIECES)
def test_a_text_of_one_piece_costs_linear_time(piece: str) -> None:
    text = (piece * (_SIZE // len(piece) + 1))[:_SIZE]
    for change in (without_secrets, without_names):
        started = time.process_time()
        change(text)
        assert time.process_time() - started < _SECONDS


@pytest.mark.parametrize("piece", ["key:", "key=", "token:", "login -p "])
def test_a_megabyte_of_one_name_costs_little(piece: str) -> None:
    secrets.load_rules()
    assert _seconds(piece * ((1 << 20) // len(piece))) < _SECONDS


def test_every_keyword_again_and_again_costs_linear_time() -> None:
    words = sorted(
        {word for shape in shapes.shapes() for word in shape.keywords} | set(names.WORDS)
    )
    for separator in (" ", "=", "", "-"):
        text = (separator.join(words) * 1000)[:_SIZE]
        started = time.process_time()
        without_secrets(text)
        assert time.process_time() - started < _SECONDS


def test_twice_the_secrets_cost_twice_the_time() -> None:
    text = "\n".join(line.text for line in made((*corpus.SECRETS, *aside.SECRETS)))
    secrets.load_rules()
    once, many = (min(_seconds(text * times) for _ in range(2)) for times in (1, 8))
    assert many < 20 * once


def _seconds(text: str) -> float:
    started = time.process_time()
    without_secrets(text)
    return time.process_time() - started


def test_a_log_of_a_megabyte_costs_a_fraction_of_a_second() -> None:
    text = ("\n".join(corpus.HARMLESS) + "\n") * (1 + (1 << 20) // sum(map(len, corpus.HARMLESS)))
    assert _seconds(text[: 1 << 20]) < 3
