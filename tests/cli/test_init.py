"""`doctor init`: files for continuous integration, never over one that is there."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from doctor import __version__
from doctor.cli.templates import PLACES, filled
from tests.command import doctor

_COMMAND = re.compile(r"\bdoctor\"? (check (?:[^\n&]|\\\n)*)")
KINDS = sorted(PLACES)


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each `doctor check` in a template, its folded lines put together."""
    unfolded = re.sub(r"\\?\n +(?=--)", " ", text)
    return [
        shlex.split(found[1].replace(" || code=$$?", "")) for found in _COMMAND.finditer(unfolded)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_written_where_it_belongs_and_asks_for_this_release(
    kind: str, tmp_path: Path
) -> None:
    said = doctor("init", kind, cwd=tmp_path)
    assert (said.code, said.out) == (0, "")
    text = (tmp_path / PLACES[kind].path).read_text(encoding="utf-8")
    assert f"canary-doctor=={__version__}" in text
    assert "@VERSION@" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_there_stays_and_what_would_be_written_is_shown(kind: str, tmp_path: Path) -> None:
    path = tmp_path / PLACES[kind].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    said = doctor("init", kind, cwd=tmp_path)
    assert (said.code, said.out, path.read_text(encoding="utf-8")) == (2, filled(kind), "mine")
    assert PLACES[kind].otherwise in said.err


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_that_leads_nowhere_is_there_as_well(tmp_path: Path) -> None:
    (tmp_path / "Jenkinsfile").symlink_to(tmp_path / "gone")
    assert doctor("init", "jenkins", cwd=tmp_path).code == 2
    assert not (tmp_path / "gone").exists()


def test_it_is_printed_or_written_elsewhere(tmp_path: Path) -> None:
    said = doctor("init", "gitlab", "--output", "-", cwd=tmp_path)
    assert (said.code, said.out, list(tmp_path.iterdir())) == (0, filled("gitlab"), [])
    assert doctor("init", "gitlab", "-o", "ci/doctor.yml", cwd=tmp_path).code == 0
    assert (tmp_path / "ci/doctor.yml").read_text(encoding="utf-8") == filled("gitlab")


def test_a_folder_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / ".github").touch()
    said = doctor("init", "github", cwd=tmp_path)
    assert said.code == 3
    assert "cannot be written" in said.err


def test_an_unknown_kind_is_a_mistake(tmp_path: Path) -> None:
    said = doctor("init", "gitlub", cwd=tmp_path)
    assert said.code == 2
    assert "did you mean gitlab?" in said.err


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("docker", "jenkins")])
def test_what_is_written_can_be_read(kind: str) -> None:
    assert isinstance(yaml.safe_load(filled(kind)), dict)


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_declares_no_machine(kind: str) -> None:
    """A GPU and a driver that nobody has must not fail a healthy project."""
    for arguments in commands(filled(kind)):
        assert not [word for word in arguments if word.startswith(("--assume", "--expect"))]
