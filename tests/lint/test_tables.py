"""What is said against a compatibility table."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.lint import lint

SOUND = """\
title: Toys that go together
newest: {release: "2.7.1", read: 2026-11-21}
columns:
  torch: {fact: torch.release, key: true}
  python: {fact: python.version}
sources:
  index: {what: the index, opened: 2026-11-21, evidence: metadata}
rows:
  - {torch: {from: "2.7.0", before: "2.8.0"}, python: {from: "3.9"}, source: [index]}
"""


def faults(tmp_path: Path, text: str) -> str:
    folder = tmp_path / "compat"
    folder.mkdir()
    (folder / "toys.yaml").write_text(text, encoding="utf-8")
    return "\n".join(lint(tmp_path, {}))


def test_a_sound_table_is_left_alone(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('newest: {release: "2.7.1", read: 2026-11-21}\n', "", "newest: say the newest release"),
        ("2.7.1", "2.8.0", "newest.release: no row is about torch 2.8.0"),
        ("2.7.1", "latest", "newest.release: latest is no version"),
        ("read: 2026", "of: python, read: 2026", "newest.of: no such key: python"),
        (', before: "2.8.0"', "", "rows[0]: torch: say where it ends"),
        ("python:", "beyond:", "columns.beyond"),
        (
            "python.version}",
            "python.version, fixes: [{title: x}]}",
            "columns.python.fixes: it does nothing",
        ),
        (
            "python.version}",
            "python.version, judge: true}",
            "columns.python.fixes: a violation ends in something to do",
        ),
        (
            "columns:",
            "applies: [{fact: torch.nosuch, equals: 1}]\ncolumns:",
            "applies: no such fact: torch.nosuch",
        ),
        ("source: [index]", "source: [web]", "rows[0]: no such source: web"),
    ],
)
def test_what_is_wrong_is_named(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    assert said in faults(tmp_path, SOUND.replace(right, wrong))
