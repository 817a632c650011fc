"""Check scripts may not import each other; what they all carry is the same to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checks.trial import SCRIPTS

BLOCK = re.compile(r"^# --- (\w+): the same in every .*?^# --- end of \1 ---\n", re.MULTILINE | re.DOTALL)


def blocks(script: Path) -> dict[str, str]:
    """Return the marked blocks of a script by name."""
    return {found[1]: found[0] for found in BLOCK.finditer(script.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_report_block_is_in_every_script(script: Path) -> None:
    assert "report" in blocks(script)


@pytest.mark.parametrize("name", sorted({name for script in SCRIPTS for name in blocks(script)}))
def test_blocks_of_one_name_are_identical(name: str) -> None:
    copies = {script.stem: blocks(script)[name] for script in SCRIPTS if name in blocks(script)}
    differing = sorted(stem for stem, text in copies.items() if text != next(iter(copies.values())))
    assert not differing, f"block `{name}` of {', '.join(differing)} differs from the one of {next(iter(copies))}"
