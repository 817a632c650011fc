"""Every format, of a report whose every text is hostile: valid, escaped, bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from doctor.model.report import Report
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.report.markdown import step_summary
from doctor.report.structured import fingerprints as anchors
from doctor.report.structured import github, gitlab, junit, nhc, sarif
from doctor.report.structured import json_document as json
from doctor.report.terminal import document as terminal
from tests.report import readers
from tests.report.hostile import TEXTS, all_of, hostile

_OWN_COMMANDS = re.compile(r"::(error|warning|notice) ")
_FORMATS: dict[str, Callable[[Report], str]] = {
    "text": partial(terminal.render, verbosity=1, width=100, colour=False, unicode=True),
    "json": json.render,
    "sarif": sarif.render,
    "junit": junit.render,
    "gitlab": gitlab.render,
    "github": github.render,
    "nhc": nhc.render,
    "markdown": markdown.render,
    "html": html.render,
    "summary": step_summary.render,
}
_WHOLE = {"json"}
"""Formats that carry all that was seen; the others are held to a size."""


@pytest.fixture(scope="module")
def report() -> Report:
    return hostile()


@pytest.mark.parametrize("kind", _FORMATS)
def test_no_line_is_a_command_to_a_runner(kind: str, report: Report) -> None:
    text = _FORMATS[kind](report)
    assert "##[" not in text
    for line in text.splitlines():
        command = line.lstrip().startswith("::")
        assert not command or (kind == "github" and _OWN_COMMANDS.match(line)), line


@pytest.mark.parametrize("kind", _FORMATS)
def test_nothing_controls_a_terminal_and_all_of_it_is_unicode(kind: str, report: Report) -> None:
    text = _FORMATS[kind](report)
    text.encode()
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cs")} <= {"\n", "\t"}


@pytest.mark.parametrize("kind", _FORMATS)
def test_the_size_is_bounded(kind: str, report: Report) -> None:
    size = len(_FORMATS[kind](report).encode())
    assert size < (60_000_000 if kind in _WHOLE else 3_000_000)


def test_readers_take_it(report: Report) -> None:
    assert len(readers.sarif_run(report)["results"]) == len(TEXTS) * 3 + 1
    assert list(readers.junit_suites(report)) == ["checks", "findings"]
    assert len(readers.violations(report)) == len(TEXTS) * 3
    assert [name for name, _, _ in readers.commands(report)] == ["error"] * 10 + [
        "warning"
    ] * 10 + ["notice"] * 10


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_readers_take_each_text_alone(text: str) -> None:
    report = all_of(text)
    assert readers.sarif_run(report)["results"]
    assert readers.junit_suites(report)
    assert readers.violations(report)
    assert len(readers.commands(report)) == 1


def test_no_path_leads_out_of_the_project(report: Report) -> None:
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in readers.sarif_run(report)["results"]
    ]
    paths = [one["location"]["path"] for one in readers.violations(report)]
    files = [
        properties["file"] for _, properties, _ in readers.commands(report) if "file" in properties
    ]
    for path in (*uris, *paths, *files):
        assert not path.startswith(("/", "\\"))
        assert ".." not in Path(path).parts
        assert path.count("\n") == 0


def test_addresses_are_addresses(report: Report) -> None:
    links = [
        rule["helpUri"]
        for rule in readers.sarif_run(report)["tool"]["driver"]["rules"]
        if "helpUri" in rule
    ]
    assert set(links) == {"https://example.org/a%20b#c"}


def test_markup_means_nothing_in_the_summary_of_a_step(report: Report) -> None:
    from markdown_it import MarkdownIt

    page = MarkdownIt("gfm-like", {"linkify": False}).render(step_summary.render(report))
    assert "<script" not in page
    assert not re.findall(r"<img|<h1", page)
    addresses = set(re.findall(r'<a href="([^"]*)', page))
    assert addresses == {"https://example.org/a%20b#c"}


def test_the_summary_of_a_step_keeps_to_the_room_that_is_left(report: Report) -> None:
    for room in (0, 100, 1_000, 10_000, step_summary.LIMIT):
        text = step_summary.render(report, room=room)
        assert len(text.encode()) <= room
    assert "more findings do not fit here" in step_summary.render(report, room=10_000)


def test_only_paths_inside_a_project_are_shown() -> None:
    wrong = (
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "C:\\x",
        "\\\\host\\x",
        "~/x",
        "$HOME/x",
        "a\nb",
        "a\x00",
        "x" * 2000,
        "a\\..\\b",
    )
    assert [path for path in wrong if anchors.is_inside(path)] == []
    assert all(
        anchors.is_inside(path)
        for path in ("pyproject.toml", "a b/c.txt", "docker/Dockerfile.gpu", "..x/y", "北.txt")
    )
