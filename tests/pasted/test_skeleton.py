"""A known issue begun from a log."""

from __future__ import annotations

import re
from datetime import date

import pytest
import yaml

from doctor.model.observation import Log
from doctor.pasted.log import owner
from doctor.pasted.skeleton import pattern, skeleton

_LOG = """building
  /home/ada/x.py:3: in f
some.lib.FooError: tensor 0x7fff2312 of version 2.5.1 is "odd" (it's {x}): C:\\Users\\ada\\x.py
make: *** [all] Error 1"""


def test_a_skeleton_recognises_its_own_log() -> None:
    lines = _LOG.split("\n")
    line = owner(Log(source="log", lines=tuple(lines)))
    assert line is not None
    issue = yaml.safe_load(skeleton(lines, line, date(2026, 11, 21)))
    assert re.search(issue["signatures"][0]["pattern"], issue["examples"][0]["log"])
    assert issue["title"] == lines[2][:100]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("error in 2.5.1 at 0x12", "error in 3.0 at 0xff"),
        ("cannot open /usr/lib/x.so: no", "cannot open /opt/y.so.1: no"),
        ("libfoo.so.12: not there", "libfoo.so.13: not there"),
    ],
)
def test_numbers_and_paths_may_be_others(text: str, other: str) -> None:
    assert re.search(pattern(text), other)


@pytest.mark.parametrize("text", ["a: 'b': c", "- x", "%TAG", "\\d[", "\t", "'", "#"])
def test_any_line_makes_valid_yaml(text: str) -> None:
    lines = [text, f"error: {text}", text]
    line = owner(Log(source="log", lines=tuple(lines)))
    assert line is not None
    issue = yaml.safe_load(skeleton(lines, line, date(2026, 11, 21)))
    assert re.search(issue["signatures"][0]["pattern"], line.text)
