"""`doctor new-issue`.

From a log to a file that lint finds unfinished, and then to one that it accepts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.command import doctor

_LOG = (
    "compiling\nsome.tool: error: the flux of 2.5.1 is not compensated\nmake: *** [all] Error 1\n"
)


def test_a_skeleton_is_unfinished_until_it_is_filled(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(_LOG, encoding="utf-8")
    file = tmp_path / "matrices/issues/some/flux.yaml"
    file.parent.mkdir(parents=True)
    assert doctor("new-issue", "log", "-o", file, cwd=tmp_path).code == 0
    said = doctor("lint", tmp_path / "matrices", cwd=tmp_path)
    assert said.code == 1
    for place in (
        "cause: still",
        "fixes[0].title: still",
        "references[0].url",
        "examples[1].log: still",
        "title: '2.5.1' is the value of one log",
    ):
        assert place in said.out
    head, _, rest = file.read_text(encoding="utf-8").partition("\n")
    assert head.startswith("title: ")
    text = f"title: The flux is not compensated\n{rest}"
    for asked, told in (
        (
            (
                "(In words that a newcomer understands: what does not fit, and why that shows "
                "as this message.)"
            ),
            "The flux is off.",
        ),
        (
            (
                "title: (What to do first; which steps does it take, of install, run, env, "
                "edit and system?)"
            ),
            "title: Turn it on\n    steps: [{env: {FLUX: full}}]",
        ),
        ("https://\n", "https://example.org/1\n"),
        ("(what is to be found there)", "the report"),
        ("(where this log comes from)", "a build"),
        ("(the nearest message that means something else)", "another error"),
        ("(its text)", "some.tool: error: no flux at all"),
    ):
        assert asked in text
        text = text.replace(asked, told)
    file.write_text(text, encoding="utf-8")
    assert doctor("lint", tmp_path / "matrices", cwd=tmp_path).out.strip().endswith("no faults")
    assert doctor("diagnose", "log", "--matrices", tmp_path / "matrices", cwd=tmp_path).code == 1


@pytest.mark.parametrize(
    "before", ["    foo = bar()\n", "\tx: y\n", "  - a: [\n", "   '''\n", "  #\n"]
)
def test_a_log_that_begins_with_an_indented_line_stays_as_it_is(
    tmp_path: Path, before: str
) -> None:
    log = f"{before * 6}ZorkError: the flux is gone\n"
    (tmp_path / "log").write_text(log, encoding="utf-8")
    written = yaml.safe_load(doctor("new-issue", "log", cwd=tmp_path).out)
    assert before.strip() in written["examples"][0]["log"]
    assert written["examples"][0]["log"].startswith(before[0]) == before[0].isspace()


def test_what_is_known_already_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "RuntimeError: operator torchvision::nms does not exist\n", encoding="utf-8"
    )
    assert "matches this log already" in doctor("new-issue", "log", cwd=tmp_path).err


def test_mistakes_are_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("all is well\n", encoding="utf-8")
    assert doctor("new-issue", "log", cwd=tmp_path).code == 2
    (tmp_path / "there").write_text("x", encoding="utf-8")
    assert doctor("new-issue", "log", "-o", "there", cwd=tmp_path).code == 2
