"""`doctor fmt` changes the form of an entry and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from doctor.base.bundled import bundled
from doctor.lint.formatting import formatted

_FILES = sorted(bundled("matrices").rglob("*.yaml"))


@pytest.mark.parametrize("path", _FILES[::29], ids=lambda path: path.stem)
def test_the_data_and_the_comments_stay(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    form = formatted(text, table="compat" in path.parts)
    assert yaml.safe_load(form) == yaml.safe_load(text)
    comments = [line.strip() for line in text.splitlines() if line.lstrip().startswith("# ")]
    assert sorted(comments) == sorted(
        line.strip() for line in form.splitlines() if line.lstrip().startswith("# ")
    )
    assert formatted(form, table="compat" in path.parts) == form


def test_keys_have_one_order_and_long_texts_are_folded() -> None:
    text = (
        "cause: "
        + "It is short of memory. " * 10
        + "\nfixes:\n  - steps:\n      - options: [upgrade]\n        install: [a]\n"
        "    title: Take another\ntitle: Short\naffected:\n  - packages:\n"
        '      a: [{introduced: "1"}]\n'
    )
    lines = formatted(text).splitlines()
    assert lines[:3] == [
        "title: Short",
        "cause: >-",
        "  " + ("It is short of memory. " * 5) + "It is short",
    ]
    assert lines[-5:] == [
        "fixes:",
        "  - title: Take another",
        "    steps:",
        "      - install: [a]",
        "        options: [upgrade]",
    ]
    assert '      a: [{introduced: "1"}]' in lines
