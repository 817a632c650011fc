"""The documentation site.

A page for everything that is known, links that lead somewhere, and foreign text that stays text.
"""

from __future__ import annotations

import html
import importlib.util
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from doctor.catalog import loading as catalog
from doctor.catalog.check_headers import load_checks
from doctor.model.issues import Action, Edit, Example, Expect, Recipe
from doctor.site import generate
from doctor.site.issues import issue_page
from doctor.site.markdown import block, code, plain, prose
from doctor.site.site import COPIES, relinked, site
from tests import toy
from tests.conftest import missing
from tests.promises.sources import ROOT

_LINE = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Zs"))) | st.text(
    "`*_#+-.|<>&~[](){}\\! 1a"
)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The whole site."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in COPIES}
    return site(catalog.load(), load_checks(), texts)


def test_everything_that_is_known_has_a_page(pages: dict[str, str]) -> None:
    known = catalog.load()
    for id_, issue in known.issues.items():
        text = pages[f"issues/{id_}.md"]
        assert f"`{id_}`" in text
        assert all(reference.url in text for reference in issue.references)
        assert f"]({id_.partition('/')[2]}.md)" in pages[f"issues/{id_.partition('/')[0]}/index.md"]
    assert {f"checks/{id_}.md" for id_ in load_checks()} <= set(pages)
    assert {f"tables/{id_}.md" for id_ in known.tables} <= set(pages)


def test_every_link_leads_to_a_page(pages: dict[str, str]) -> None:
    reader, count = MarkdownIt(), 0
    for here, text in pages.items():
        tokens = (
            [child for token in reader.parse(text) for child in token.children or ()]
            if here.endswith(".md")
            else []
        )
        for token in tokens:
            address = str(token.attrs.get("href") or token.attrs.get("src") or "")
            if not address or re.match(r"\w+:|#", address):
                continue
            count += 1
            assert (
                posixpath.normpath(
                    posixpath.join(posixpath.dirname(here), address.partition("#")[0])
                )
                in pages
            ), (here, address)
    assert count > 2 * len(catalog.load().issues)


def test_mkdocs_has_nothing_to_say_against_it(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        missing("mkdocs is not installed; it comes with the development dependencies")
    assert generate.main(["site", str(tmp_path / "docs" / "site")]) == 0
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs" / "theme", tmp_path / "docs" / "theme")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    built = (tmp_path / "build/site/issues/torchvision/other-torch/index.html").read_text(
        encoding="utf-8"
    )
    assert "<title>torchvision was built for another torch" in built
    assert "<code>requires.torchvision.torch.met is false</code>" in built


@given(_LINE)
def test_foreign_text_stays_text(text: str) -> None:
    text = " ".join(text.split())
    assert MarkdownIt().render(plain(text)) == (
        f"<p>{html.escape(text, quote=False)}</p>\n" if text else ""
    ).replace('"', "&quot;")


@given(_LINE)
def test_code_stays_code(text: str) -> None:
    text = " ".join(text.split())
    if text:
        assert MarkdownIt().render(
            "x " + code(text)
        ) == f"<p>x <code>{html.escape(text)}</code></p>\n".replace("&#x27;", "'")
        shown = MarkdownIt().render(block([text]))
        assert (
            shown
            == f'<pre><code class="language-text">{html.escape(text)}\n</code></pre>\n'.replace(
                "&#x27;", "'"
            )
        )


def test_code_may_stand_in_prose() -> None:
    assert prose("call `a_b(<c>)` and *not*\n  d") == r"call `a_b(<c>)` and \*not\* d"
    assert prose("`a' without an end") == r"\`a' without an end"


def test_a_page_says_all_that_an_entry_says() -> None:
    wrong = toy.issue(
        fixes=(
            Recipe(
                title="Change <it>",
                use_if=("you must",),
                steps=(Action(sudo=True, edit=Edit(file="a.py", before="x = 1", after="x = 2")),),
                verify=("see",),
            ),
        ),
        examples=(Example(name="one", expect=Expect.MATCH),),
        symptoms=("torch/other",),
    )
    known = toy.catalog(
        torch__wrong_sum=wrong, torch__other=toy.issue(related=("torch/wrong-sum",))
    )
    text = issue_page("torch/wrong-sum", known, {})
    expected = (
        'title: "torch … adds wrongly"',
        "`torch before 2.0`",
        r"sum is off by (?P<amount>\d+)",
        "the check `toy-add`, case `sum`",
        "Change &lt;it&gt;",
        "If you must.",
        "*needs sudo, changes your source*",
        "+ x = 2",
        "- x = 1\n+ x = 2",
        "[report](https://example.org/1)",
        "It explains [`torch/other`](other.md)",
    )
    for said in expected:
        assert said in text
    assert "It may be explained by [`torch/wrong-sum`](wrong-sum.md)" in issue_page(
        "torch/other", known, {}
    )


def test_a_link_out_of_the_site_becomes_a_name() -> None:
    text = (
        "[a](../README.md#use) [b](../doctor/model/report.py) [c](https://example.org) "
        "![d](terminal.svg)"
    )
    assert (
        relinked("docs/api.md", text)
        == "[a](index.md#use) b [c](https://example.org) ![d](terminal.svg)"
    )


def test_another_folder_only_gains_files(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine", encoding="utf-8")
    assert generate.main(["site", str(tmp_path)]) == 0
    assert (tmp_path / "mine.md").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "issues" / "index.md").is_file()
