"""A known issue begun from a log."""

from __future__ import annotations

import re
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from doctor.events.owner import owning_event
from doctor.events.reading import events_of
from doctor.logs.skeleton import _UNPRINTABLE, pattern, skeleton
from doctor.model.events import Event
from doctor.model.observation import Log

_LOG = """building
  /home/ada/x.py:3: in f
some.lib.FooError: tensor 0x7fff2312 of version 2.5.1 is "odd" (it's {x}): C:\\Users\\ada\\x.py
make: *** [all] Error 1"""


def _event(at: int, text: str) -> Event:
    return Event(speaker="Python", kind="exception", text=text, source="log", at=at, line=at + 1)


def test_a_skeleton_recognises_its_own_log() -> None:
    lines = _LOG.split("\n")
    line = owning_event(events_of(Log(source="log", lines=tuple(lines))))
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
    lines = [text, f"some.lib.FooError: {text}", text]
    line = owning_event(events_of(Log(source="log", lines=tuple(lines))))
    assert line is not None
    issue = yaml.safe_load(skeleton(lines, line, date(2026, 11, 21)))
    assert re.search(issue["signatures"][0]["pattern"], line.text)


_LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=40), max_size=6)


@given(_LINES, _LINES)
def test_whatever_a_log_says_the_skeleton_is_yaml_and_quotes_it(
    above: list[str], below: list[str]
) -> None:
    lines = [*above, "some.lib.FooError: it's {x}: - #1", *below]
    line = _event(len(above), lines[len(above)])
    issue = yaml.safe_load(skeleton(lines, line, date(2026, 11, 21)))
    log = issue["examples"][0]["log"]
    assert re.search(issue["signatures"][0]["pattern"], log)
    shown = [
        _UNPRINTABLE.sub("\ufffd", each.rstrip())
        for each in lines[max(0, line.at - 6) : line.at + 7]
    ]
    assert log.rstrip("\n") == "\n".join(shown).rstrip("\n")


@pytest.mark.parametrize(
    "first",
    [
        '  File "x.py", line 1, in f',
        "\ttab",
        "      six",
        " ",
        "---",
        "%YAML",
        "# no comment",
        "\u2028",
        "\ufeff",
    ],
)
def test_the_first_line_that_is_shown_may_begin_with_anything(first: str) -> None:
    lines = [first, "some.lib.FooError: broken"]
    issue = yaml.safe_load(skeleton(lines, _event(1, lines[1]), date(2026, 11, 21)))
    assert issue["examples"][0]["log"].split("\n")[1] == lines[1]
