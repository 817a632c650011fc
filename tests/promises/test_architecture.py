"""The architecture page stays one page, and it and the site name what is there."""

from __future__ import annotations

import re

from doctor.site.site import COPIES
from tests.promises.sources import ROOT
from tests.promises.test_floors import FLOORS

_DOCS = ROOT / "docs"
_PAGE = (_DOCS / "architecture.md").read_text(encoding="utf-8")
_RECORDS = sorted((_DOCS / "decisions").glob("[0-9]*.md"))
_FIVE_MINUTES = 950
"""Words that a newcomer reads in five minutes, at 190 words a minute."""


def test_the_table_names_the_packages_in_the_order_of_their_imports() -> None:
    assert tuple(re.findall(r"^\| `(\w+)` \|", _PAGE, re.MULTILINE)) == FLOORS


def test_the_page_is_read_in_five_minutes() -> None:
    assert len(_PAGE.split()) <= _FIVE_MINUTES


def test_every_file_that_a_document_names_exists() -> None:
    folders = "benchmarks|checks|doctor|docs|fixtures|integrations|matrices|tests"
    wrong = [
        (path.name, named)
        for path in [*ROOT.glob("*.md"), *_DOCS.glob("*.md"), *_RECORDS]
        for named in re.findall(rf"`((?:{folders})/[\w./]*)`", path.read_text(encoding="utf-8"))
        if not (ROOT / named).exists()
    ]
    assert wrong == []


def test_every_document_is_part_of_the_site() -> None:
    written = {path.relative_to(ROOT).as_posix() for path in [*_DOCS.glob("*.md"), *_RECORDS]}
    assert written <= set(COPIES)


def test_every_decision_record_has_its_three_parts_and_stands_in_the_index() -> None:
    index = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert len(_RECORDS) >= 16
    for number, path in enumerate(_RECORDS, 1):
        text = path.read_text(encoding="utf-8")
        title = re.match(rf"# {number}\. (.+)\n", text)
        assert title, path.name
        assert f"{number}. [{title[1]}]({path.name})\n" in index
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequence",
        ]
        assert len(text.splitlines()) <= 25
