"""The files that `doctor init` writes, and where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from doctor import __version__
from doctor.cli.project_setup import USUAL, Setup


class Place(NamedTuple):
    """A template, the file that it becomes, and what to do where there is such a file already."""

    template: str
    path: str
    otherwise: str


PLACES = {
    "github": Place(
        "github.yml", ".github/workflows/doctor.yml", "Choose another name with --output."
    ),
    "gitlab": Place(
        "gitlab.yml",
        ".gitlab-ci.yml",
        "Write it elsewhere (--output .gitlab/doctor.yml) and include that file as `local`.",
    ),
    "pre-commit": Place(
        "pre-commit.yaml", ".pre-commit-config.yaml", "Add its entry to your `repos`."
    ),
    "docker": Place("docker.Dockerfile", "doctor.Dockerfile", "Choose another name with --output."),
    "buildkite": Place("buildkite.yml", ".buildkite/pipeline.yml", "Add its step to your `steps`."),
    "jenkins": Place("jenkins.groovy", "Jenkinsfile", "Add its stage to your `stages`."),
}
"""What can be written, by the name that is typed."""


def filled(kind: str, setup: Setup = USUAL) -> str:
    """Return the text of a template, for a project and with this release of doctor in it."""
    template = Path(__file__).resolve().parent / PLACES[kind].template
    text = template.read_text(encoding="utf-8")
    for mark, lines in (("@INSTALL@", setup.install), ("@IMAGE@", setup.image)):
        text = "".join(_repeated(line, mark, lines) for line in text.splitlines(keepends=True))
    words = {"@VERSION@": __version__, "@PYTHON@": setup.python, "@BRANCH@": setup.branch}
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _repeated(line: str, mark: str, words: tuple[str, ...]) -> str:
    """Return a line once for each of its fillings, each with what stands around the mark."""
    return "".join(line.replace(mark, word) for word in words) if mark in line else line
