"""The files that `doctor init` writes, and where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from doctor import __version__


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


def filled(kind: str) -> str:
    """Return the text of a template, with this release of doctor in it."""
    template = Path(__file__).resolve().parent / PLACES[kind].template
    return template.read_text(encoding="utf-8").replace("@VERSION@", __version__)
