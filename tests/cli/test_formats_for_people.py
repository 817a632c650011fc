"""Markdown and HTML from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import doctor
from tests.report.pages import Page

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"


def _log(folder: Path, text: str = _LOG) -> str:
    path = folder / "failed.log"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(path)


@pytest.mark.parametrize("kind", ["text", "markdown", "html"])
def test_the_exit_code_is_that_of_any_format(tmp_path: Path, kind: str) -> None:
    assert doctor("diagnose", _log(tmp_path), "--format", kind, cwd=tmp_path).code == 1
    assert (
        doctor("diagnose", _log(tmp_path, "all is well\n"), "--format", kind, cwd=tmp_path).code
        == 4
    )


def test_both_are_written_to_files_with_names_masked(tmp_path: Path) -> None:
    home = tmp_path / "home-of-ada"
    log = _log(
        tmp_path, f"{_LOG}in {home}/x token=abcdefgh12345678 <script>alert(1)</script> \udcff\n"
    )
    reports = ("--report", f"markdown={tmp_path}/a.md", "--report", f"html={tmp_path}/a.html")
    said = doctor("diagnose", log, *reports, cwd=tmp_path, env={"HOME": str(home)})
    assert said.code == 1
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a.md", "a.html")]
    assert all("triton/c-compiler-missing" in text for text in texts)
    assert not [
        text
        for text in texts
        if "home-of-ada" in text or "abcdefgh12345678" in text or "<script" in text
    ]
    assert "script" not in Page(texts[1]).tags


def test_the_demo_is_a_page_as_well(tmp_path: Path) -> None:
    said = doctor("demo", "--format", "html", cwd=tmp_path)
    assert said.code == 0
    assert "A recording of another machine." in Page(said.out).text()
