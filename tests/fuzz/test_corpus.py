"""Every target reads the corpus again: whole, in parts, reversed and doubled."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from doctor.catalog import loading
from tests.fuzz.targets import CORPUS, TARGETS, _folder, corpus

_OTHERS = 3


def _changed(data: bytes) -> Iterator[bytes]:
    """Yield the bytes, and the same few distortions of them each time."""
    chance = random.Random(len(data))
    yield data
    for _ in range(_OTHERS if data else 0):
        one, two = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        turned = bytes([data[one - 1] ^ (1 << chance.randrange(8))])
        yield chance.choice(
            [
                data[:one] + data[two:],
                data[:two] + data[one:],
                data[: one - 1] + turned + data[one:],
                data[:two],
            ]
        )


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_its_corpus(name: str) -> None:
    files = list(corpus(name))
    assert files
    for path in files:
        for data in _changed(path.read_bytes()):
            TARGETS[name](data)


def test_every_corpus_has_a_target_and_is_small() -> None:
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 256 << 10


@pytest.mark.parametrize(("name", "folder"), [("issue", "own-issues"), ("table", "own-tables")])
def test_the_catalog_that_fuzzing_begins_with_fits_the_schema(name: str, folder: str) -> None:
    TARGETS["catalog"]((CORPUS / "catalog" / name).read_bytes())
    found = loading.load_folder(_folder() / folder)
    assert [*found.issues, *found.tables]
