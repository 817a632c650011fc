"""Each promise of SECURITY.md says where its tests lie, and they lie there."""

from __future__ import annotations

import re

from tests.promises.sources import ROOT

_TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_promise_names_tests_that_are_there() -> None:
    promises = re.findall(
        r"(?ms)^\*\*.*?(?=\n\n)", _TEXT.partition("## What it promises")[2].partition("\n## ")[0]
    )
    assert len(promises) >= 8
    named = [re.findall(r"`(tests/[\w./]+)`", promise) for promise in promises]
    assert all(named), promises
    assert not [path for paths in named for path in paths if not (ROOT / path).exists()]


def test_nobody_is_named_to_whom_faults_could_be_sent_in_public() -> None:
    assert "private vulnerability reporting" in _TEXT
    assert "@" not in _TEXT
