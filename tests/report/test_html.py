"""The report as a page."""

from __future__ import annotations

import re
import time
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from doctor.catalog import loading as catalog
from doctor.fixes.shell import line
from doctor.model.findings import Place, Suppression
from doctor.model.fixes import Fix
from doctor.model.issues import Snippet
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.site import generate
from tests.report import reports
from tests.report.hostile import all_of
from tests.report.pages import Page, page
from tests.report.test_markdown import TRICKS
from tests.report.test_terminal_hostile import texts

HEALTHY = Path(__file__).parents[2] / "fixtures" / "observations" / "healthy-without-gpu.json"
LIMIT = 300_000
SCRIPTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    "]]></style><style>",
    "<!--",
    "&#60;b>",
    "<a href=//x>",
)


def judged(path: Path) -> Report:
    """Judge an observation with doctor's own catalog."""
    return assess(read_observation(path), catalog.load())


@pytest.mark.parametrize("name", reports.REPORTS)
def test_a_page_loads_and_runs_nothing(name: str) -> None:
    seen = page(reports.REPORTS[name]())
    assert not {"script", "img", "iframe", "object", "form", "base", "svg"} & set(seen.tags)
    assert not [
        name
        for _, given in seen.elements
        for name in given
        if name.startswith("on") or name in ("style", "src", "srcset")
    ]
    assert [value[:5] for tag, value in seen.having("href") if tag == "link"] == ["data:"]
    assert "url(" not in "".join(data for place, data in seen.texts if place == "style")


def test_the_policy_lets_this_very_style_through_and_nothing_else() -> None:
    seen = page(reports.sick())
    policy = next(
        given["content"]
        for tag, given in seen.elements
        if given.get("http-equiv") == "Content-Security-Policy"
    )
    style = "".join(data for place, data in seen.texts if place == "style")
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", reports.REPORTS)
def test_a_page_can_be_walked_by_keyboard_and_read_aloud(name: str) -> None:
    seen = page(reports.REPORTS[name]())
    ids = [value for _, value in seen.having("id")]
    assert len(ids) == len(set(ids))
    targets = [
        value[1:] for tag, value in seen.having("href") if tag == "a" and value.startswith("#")
    ]
    assert targets[0] == "findings"
    assert set(targets) <= set(ids)
    assert seen.tags.count("h1") == seen.tags.count("main") == 1
    assert seen.tags.count("details") == seen.tags.count("summary")
    assert seen.tags.count("table") == seen.tags.count("caption")
    assert all(given.get("scope") in ("row", "col") for tag, given in seen.elements if tag == "th")
    assert dict(seen.elements)["html"]["lang"] == "en"


def test_commands_are_written_as_they_are_to_be_run() -> None:
    found = reports.wrong_torch()
    seen = page(reports.report(found))
    commands = [data for place, data in seen.texts if place == "code" and data.endswith("\n")]
    assert found.fixes[0].verify
    assert commands[:2] == [
        f"{line(found.fixes[0].commands[0])}\n",
        f"{line(found.fixes[0].verify)}\n",
    ]
    assert ("del", "- boxes = toyvision.nms(boxes)\n") in seen.texts


def test_a_long_edit_says_how_much_more_there_is() -> None:
    edit = Fix(
        kind="edit",
        title="Rewrite it",
        snippet=Snippet(where="it", before="old\n" * 300, after="new\n" * 300),
    )
    seen = page(reports.report(reports.wrong_torch(fixes=(edit,))))
    assert (seen.tags.count("del"), seen.tags.count("ins")) == (300, 100)
    assert "… 200 more lines" in seen.text()


def test_a_sick_report_tells_everything_once() -> None:
    text = page(reports.sick()).text()
    for words in (
        "1 error, 1 warning, 2 notes",
        "Do first: Take the toyvision that goes with torch 2.7.0",
        "A recording of another machine.",
        "RuntimeError: operator toyvision::nms does not exist",
        "train.log:41",
        "needs sudo, reboot afterwards, risky: read it first",
        "by SIGSEGV: no result; signal 11",
        "the end",
        "toy.fact",
        "unknown: no answer within 5 s",
        "7 known issues of 2026-11-20",
    ):
        assert words in text
    assert text.count("toyvision was built for another torch") == 1


def test_a_note_is_folded_and_the_rest_is_open() -> None:
    found = [
        given
        for tag, given in page(reports.sick()).elements
        if tag == "details" and "finding" in given.get("class", "")
    ]
    assert [("open" in given, given["class"]) for given in found] == [
        (True, "finding error"),
        (True, "finding warning"),
        (False, "finding note"),
        (False, "finding note"),
    ]


def test_what_is_suppressed_does_not_count_and_a_place_is_named() -> None:
    quiet = reports.wrong_torch(
        suppressed=Suppression(by="ignore", reason="we do not import it", until="2027-01-31")
    )
    placed = reports.lesser(
        Severity.WARNING, "toy/placed", place=Place(path="pyproject.toml", line=12)
    )
    text = page(reports.report(quiet, placed)).text()
    assert "1 warning" in text
    assert "1 error" not in text
    assert "in pyproject.toml:12" in text
    assert "ignore, we do not import it, until 2027-01-31" in text


@pytest.mark.parametrize(
    ("name", "words", "mark"),
    [
        ("healthy", "Nothing found: the checks passed", "good"),
        ("empty", "Nothing to judge", "note"),
        ("cargo", "Interrupted: this is not complete", "note"),
    ],
)
def test_green_is_for_what_was_checked_and_found_well(name: str, words: str, mark: str) -> None:
    seen = page(reports.REPORTS[name]())
    assert words in seen.text()
    assert any(given.get("class") == f"mark {mark}" for _, given in seen.elements)


def test_what_no_check_reached_stands_at_the_top() -> None:
    text = page(reports.no_gpu()).text()
    assert text.index("no check ran on cuda") < text.index("Machine")


@pytest.mark.parametrize("form", [html, markdown], ids=["html", "markdown"])
def test_what_is_newer_than_the_tables_is_said(form: Any) -> None:
    newer = {"of": "torch", "here": "2.99.0", "ends": "2.13.0", "read": "2026-11-21"}
    text = form.render(
        reports.report(facts=reports.facts(compat__torch__beyond=newer), outcomes=reports.PASSED)
    )
    assert (
        "the table torch ends at torch 2.13.0 (read on 2026-11-21); nothing is known of 2.99.0"
        in text
    )


@pytest.mark.parametrize("path", [HEALTHY, generate.RECORDING], ids=["healthy", "demo"])
def test_a_real_report_is_a_small_page_with_every_fact(path: Path) -> None:
    report = judged(path)
    text = html.render(report)
    assert len(text.encode()) < LIMIT
    words = Page(text).text()
    shown = [
        name
        for name in report.observation.facts
        if name.partition(".")[0] not in ("requires", "compat", "packages")
    ]
    assert [name for name in shown if name not in words] == []
    assert "nvidia-cudnn-cu13 9.20.0.48" in words


def test_the_grid_says_in_words_what_it_shows_in_colours() -> None:
    seen = page(judged(generate.RECORDING))
    chips = [
        given["class"]
        for tag, given in seen.elements
        if tag == "li" and given.get("class", "").startswith("chip")
    ]
    assert (chips.count("chip violated"), chips.count("chip not-here")) == (2, 1)
    assert chips.count("chip fits") > 30
    text = seen.text()
    assert "2 violated, 1 not here" in text
    assert "✗ violated" in text
    assert "==2.4.1" in text
    assert {head for tag, head in seen.having("data-head") if tag == "td"} == {"wanted", "here"}


@pytest.mark.parametrize("trick", [*SCRIPTS, *TRICKS])
def test_no_text_becomes_an_element_or_an_attribute(trick: str) -> None:
    def shape(text: str) -> list[tuple[str, tuple[str, ...]]]:
        # What stands in backticks is code in a finding's message, and a fix has as many lines as
        # its text.
        elements = page(all_of(text)).elements
        return [
            (tag, tuple(sorted(given)))
            for tag, given in elements
            if tag not in ("code", "del", "ins")
        ]

    assert shape(trick) == shape("\n".join("word" for _ in trick.splitlines()))
    flat = " ".join(trick.split())
    assert flat in page(all_of(trick)).text() or "`" in trick


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "https://x.example/ <b>",
        "data:text/html,x",
        "//x.example",
        "vbscript:x",
    ],
)
def test_only_addresses_of_the_web_become_links(address: str) -> None:
    seen = page(
        reports.report(reports.wrong_torch(references=(address, "https://x.example/a?b=1&c='2")))
    )
    assert [
        value for tag, value in seen.having("href") if tag == "a" and not value.startswith("#")
    ] == []
    assert address in seen.text()


def test_a_link_leads_where_it_says_and_tells_nothing_of_this_page() -> None:
    seen = page(reports.report(reports.wrong_torch(references=("https://x.example/a?b=1&c=2",))))
    links = [
        given for tag, given in seen.elements if tag == "a" and given["href"].startswith("http")
    ]
    assert links == [{"href": "https://x.example/a?b=1&c=2", "rel": "noreferrer"}]


@pytest.mark.parametrize(
    "text",
    ["::error file=x::y", "  ::set-output name=a::b", "x\n::stop-commands::t", "##[error]no"],
)
def test_no_line_is_a_command_to_the_runner_of_a_workflow(text: str) -> None:
    for each in html.render(all_of(text)).splitlines():
        assert not each.lstrip().startswith("::")
        assert "##[" not in each


def test_a_page_stays_small_and_says_what_was_cut() -> None:
    many = tuple(
        reports.wrong_torch(id=f"toy/number-{number}", message="long " * 700)
        for number in range(120)
    )
    logs = tuple(
        reports.outcome(f"toy-{number}", "failed", log="x" * 900 + "\n" + "line\n" * 100_000)
        for number in range(5)
    )
    text = html.render(reports.report(*many, outcomes=logs))
    assert len(text.encode()) < LIMIT
    seen = Page(text)
    assert "This page is cut. Left out: finding" in seen.text()
    assert "toy/number-0" in seen.text()
    assert {"toy-0", "toy-4"} <= {data for _, data in seen.texts}


def test_even_one_huge_text_in_every_place_stays_small() -> None:
    started = time.process_time()
    for piece in ("x", "`", "<", "&", "\n", "北", "'", "::\n"):
        text = html.render(all_of(piece * 150_000))
        assert len(text.encode()) < LIMIT
        Page(text)
    assert time.process_time() - started < 15


@given(text=texts)
@settings(max_examples=40, deadline=None)
def test_whatever_comes_is_a_page_that_controls_nothing(text: str) -> None:
    shown = html.render(all_of(text))
    Page(shown)
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff\ufffe\uffff]", shown
    )
