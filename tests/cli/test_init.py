"""`doctor init`: files for continuous integration, never over one that is there."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from doctor import __version__
from doctor.cli.project_setup import setup_of
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


def _put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


_PROJECT = '[project]\nname = "a"\nrequires-python = ">=3.13"\n'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ("", "requirements.txt", "3.12")),
        ({"requirements__txt": ""}, ("requirements.txt", "requirements.txt", "3.12")),
        ({"uv__lock": "", "pyproject__toml": _PROJECT}, ("uv.lock", "uv sync --frozen", "3.13")),
        ({"poetry__lock": "", "requirements__txt": ""}, ("poetry.lock", "poetry install", "3.12")),
        ({"pyproject__toml": _PROJECT}, ("pyproject.toml", "pip install .", "3.13")),
        ({"pyproject__toml": "[tool.doctor]\n"}, ("", "requirements.txt", "3.12")),
        ({"pyproject__toml": "no toml", "__python-version": "3.11.9\n"}, ("", "", "3.11")),
        ({"__python-version": "3.12@PYTHON@: {}\n"}, ("", "", "3.12")),
        ({"__python-version": "pypy3.10\n"}, ("", "", "3.12")),
    ],
    ids=str,
)
def test_a_project_is_installed_as_its_files_say(
    files: dict[str, str], expected: tuple[str, str, str], tmp_path: Path
) -> None:
    setup = setup_of(_put(tmp_path, **files))
    by, command, python = expected
    assert (setup.by, setup.python) == (by, python)
    assert command in setup.install[-1]
    for kind in KINDS:
        text = filled(kind, setup)
        assert "@" not in re.sub(r"uses: \S+", "", text)
        assert kind in ("pre-commit", "docker") or command in text
        assert kind != "docker" or setup.image[-1] in text


def test_what_was_seen_is_named_and_the_main_branch_is_that_of_the_remote(tmp_path: Path) -> None:
    _put(tmp_path, uv__lock="")
    head = tmp_path / ".git" / "refs" / "remotes" / "origin" / "HEAD"
    head.parent.mkdir(parents=True)
    head.write_text("ref: refs/remotes/origin/trunk\n", encoding="utf-8")
    said = doctor("init", "github", cwd=tmp_path)
    assert "for uv.lock and Python 3.12; read it" in said.err
    written = (tmp_path / PLACES["github"].path).read_text(encoding="utf-8")
    assert yaml.safe_load(written)[True]["push"]["branches"] == ["trunk"]
    head.write_text('ref: refs/remotes/origin/a"], x: [\n', encoding="utf-8")
    assert setup_of(tmp_path).branch == "main"
