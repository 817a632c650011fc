"""Text that comes from elsewhere, and wishes it were more than text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from doctor.model.facts import Fact, absent, present, unknown
from doctor.model.fixes import Command, Fix, Step
from doctor.model.report import Report
from doctor.report.terminal import document as terminal
from tests.report import reports
from tests.report.hostile import NAMES, all_of

SGR = re.compile(r"\x1b\[[0-9;]*m")


def render(report: Report, **look: Any) -> str:
    """Render wide and in full unless told otherwise."""
    return terminal.render(
        report, **{"verbosity": 1, "width": 100, "colour": False, "unicode": True, **look}
    )


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize(
    "markup",
    ["[bold]x[/bold]", "[/x]", "[link=http://x]y[/link]", ":warning:", "\\[red]", "{0} %s"],
)
def test_markup_is_shown_as_it_is(markup: str, verbosity: int) -> None:
    """Nothing that comes from elsewhere is markup."""
    assert markup in render(all_of(markup), verbosity=verbosity)


@pytest.mark.parametrize(
    "text",
    [
        "::error file=x::y",
        "  ::set-output name=a::b",
        "x\n::stop-commands::t",
        "##[error]no",
        "a ##[group]b",
        "::" * 9,
    ],
)
@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_line_is_a_command_to_the_runner_of_a_workflow(
    text: str, width: int, verbosity: int
) -> None:
    """The runner trims a line before it looks for `::`, so an indent alone does not help.

    `##[` counts anywhere.
    """
    for line in render(all_of(text), width=width, verbosity=verbosity).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_a_name_in_c_plus_plus_is_left_alone() -> None:
    """Colons inside of a line stay."""
    assert "undefined symbol: c10::Error" in render(all_of("undefined symbol: c10::Error"))


def test_lines_of_ten_thousand_characters_are_cut_or_wrapped() -> None:
    """Everything but what is copied stays within the screen, and the report within reason."""
    report = all_of("x" * 10_000)
    only_words = msgspec.structs.replace(report.findings[0], fixes=(), references=())
    report = msgspec.structs.replace(report, findings=(only_words,))
    for verbosity in (-1, 0, 1):
        lines = render(report, verbosity=verbosity).splitlines()
        assert max(map(len, lines)) <= 100
        assert len(lines) < 1500


@pytest.mark.parametrize(
    "text", ["北京的图形处理器坏了" * 20, "🔥🚒 brennt " * 20, "é" * 300, "a\u0301" * 200]
)
def test_wide_characters_are_counted_in_cells(text: str) -> None:
    """A character of two cells counts for two."""
    report = reports.report(
        reports.wrong_torch(title=text, message=text, fixes=(), references=(), evidence=())
    )
    for line in render(report, width=60, verbosity=0).splitlines():
        assert cell_len(line) <= 60


def test_a_terminal_without_unicode_is_given_escapes() -> None:
    """What it cannot show is spelled out."""
    assert "\\u5317" in render(all_of("北"), unicode=False)


def test_a_command_is_never_cut() -> None:
    """However long it is, and whatever stands in it."""
    long = "/opt/" + "x" * 5000 + "[bold]/python"
    found = reports.wrong_torch(
        fixes=(
            Fix(
                kind="pin", title="Pin it", steps=(Step(command=Command(argv=(long, "-m", "pip"))),)
            ),
        )
    )
    for width in (40, 80):
        assert f"{long}' -m pip" in render(reports.report(found), width=width)


texts = st.text(max_size=60) | st.sampled_from(
    [
        "\x1b[31mred\x1b[0m",
        "\x9b31m",
        "a\rb",
        "\x07",
        "\u202egnp",
        "\u2028x",
        "\ud800",
        "\x1b]8;;x\x07",
        "\x00",
    ]
)
values = (
    st.none()
    | st.booleans()
    | st.integers()
    | texts
    | st.lists(texts, max_size=3)
    | st.dictionaries(texts, texts, max_size=3)
)


def fact(value: Any) -> Fact:
    """Make a fact of any state."""
    return (
        absent("test")
        if value is None
        else unknown(value)
        if value == ""
        else present(value, "test")
    )


looks = st.fixed_dictionaries(
    {
        "width": st.integers(-1, 200),
        "verbosity": st.sampled_from([-1, 0, 1]),
        "colour": st.booleans(),
        "unicode": st.booleans(),
    }
)


@given(
    text=texts,
    facts=st.dictionaries(st.sampled_from(NAMES), values.map(fact), max_size=12),
    look=looks,
)
@settings(max_examples=300, deadline=None)
def test_whatever_comes_is_rendered_and_controls_nothing(
    text: str, facts: dict[str, Fact], look: dict[str, Any]
) -> None:
    """Rendering never fails, and writes no control character but line feeds and colours."""
    report = all_of(text)
    report = msgspec.structs.replace(
        report, observation=msgspec.structs.replace(report.observation, facts=facts)
    )
    shown = render(report, **look)
    rest = SGR.sub("", shown) if look["colour"] else shown
    assert {
        char for char in rest if unicodedata.category(char) in ("Cc", "Cs", "Cf", "Zl", "Zp")
    } <= {"\n"}
    assert look["unicode"] or rest.isascii()
    assert shown.endswith("\n")
