"""What `doctor init` can see of a project: how it is installed, its Python and its main branch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.base.toml import TomlError, parse_toml
from doctor.host.reading import read_regular

_LARGEST = 1_000_000
_PYTHONS = ("3.12", "3.13", "3.11", "3.14", "3.10")
"""Releases for which most frameworks have wheels, the most usual one first."""
_TOOLS = "python3 -m venv .tools"
_BRANCH = re.compile(r"ref: refs/remotes/origin/([A-Za-z0-9][\w./-]{0,99})\s*")


class Setup(NamedTuple):
    """How a project is installed: `install` makes `.venv`, `image` are lines of a Dockerfile.

    `by` names the file that says so; empty where none does.
    """

    by: str
    install: tuple[str, ...]
    image: tuple[str, ...]
    python: str = _PYTHONS[0]
    branch: str = "main"


_VENV = "python3 -m venv .venv"
_REQUIREMENTS = Setup(
    "requirements.txt",
    (_VENV, ".venv/bin/python -m pip install -r requirements.txt"),
    ("COPY requirements.txt .", "RUN python -m pip install --no-cache-dir -r requirements.txt"),
)
USUAL = _REQUIREMENTS._replace(by="")
"""Where nothing is there to be seen."""
_WAYS = (
    # https://docs.astral.sh/uv/concepts/projects/config/#project-environment-path
    Setup(
        "uv.lock",
        (_TOOLS, ".tools/bin/python -m pip install uv", ".tools/bin/uv sync --frozen"),
        (
            "COPY . .",
            "RUN python -m pip install --no-cache-dir uv \\",
            "    && UV_PROJECT_ENVIRONMENT=/usr/local uv sync --frozen --inexact --no-dev",
        ),
    ),
    # https://python-poetry.org/docs/configuration/#virtualenvsin-project
    Setup(
        "poetry.lock",
        (
            _TOOLS,
            ".tools/bin/python -m pip install poetry",
            "POETRY_VIRTUALENVS_IN_PROJECT=true .tools/bin/poetry install",
        ),
        (
            "COPY . .",
            "RUN python -m pip install --no-cache-dir poetry \\",
            "    && POETRY_VIRTUALENVS_CREATE=false poetry install --only main",
        ),
    ),
    _REQUIREMENTS,
)
_PACKAGE = Setup(
    "pyproject.toml",
    (_VENV, ".venv/bin/python -m pip install ."),
    ("COPY . .", "RUN python -m pip install --no-cache-dir ."),
)


def setup_of(folder: Path) -> Setup:
    """Return how the project of a folder is set up, from its files alone."""
    project = _project(folder)
    found = next((way for way in _WAYS if (folder / way.by).is_file()), None)
    way = found or (_PACKAGE if project else USUAL)
    return way._replace(python=_python(folder, project), branch=_branch(folder))


def _project(folder: Path) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml, empty where there is none."""
    try:
        table = parse_toml(_text(folder / "pyproject.toml")).get("project")
    except TomlError:
        return {}
    return table if isinstance(table, dict) else {}


def _python(folder: Path, project: dict[str, Any]) -> str:
    if found := re.match(r"\s*(?:cpython-?)?(3\.\d{1,2})\b", _text(folder / ".python-version")):
        return found[1]
    try:
        wanted = SpecifierSet(str(project.get("requires-python", "")))
    except InvalidSpecifier:
        return _PYTHONS[0]
    # The newest patch release that there may be: ">=3.12.4" does not exclude 3.12.
    return next((each for each in _PYTHONS if f"{each}.99" in wanted), _PYTHONS[0])


def _branch(folder: Path) -> str:
    found = _BRANCH.fullmatch(_text(folder / ".git" / "refs" / "remotes" / "origin" / "HEAD"))
    return found[1] if found else "main"


def _text(path: Path) -> str:
    return (read_regular(path, _LARGEST) or b"").decode("utf-8", "replace")
