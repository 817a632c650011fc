"""What `doctor init` writes runs as it stands, with this checkout's wheel as the release."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from doctor.cli.templates import filled
from tests.command import environment

# Each of them brings doctor and what it requires anew, up to a minute: one runs always, the others
# among the dear tests.
pytestmark = [
    pytest.mark.patient,  # pip brings what doctor requires
    pytest.mark.skipif(os.name != "posix", reason="the templates are for Linux"),
]


def _github() -> str:
    steps = yaml.safe_load(filled("github"))["jobs"]["doctor"]["steps"]
    return "\n".join(step["run"] for step in steps if "run" in step)


def _gitlab() -> str:
    return "\n".join(yaml.safe_load(filled("gitlab"))["doctor"]["script"]).replace("/opt/", "opt/")


def _buildkite() -> str:
    return "\n".join(yaml.safe_load(filled("buildkite"))["steps"][0]["commands"]).replace("$$", "$")


def _jenkins() -> str:
    (script,) = re.findall(r"sh '''(.*?)'''", filled("jenkins"), re.DOTALL)
    return str(script)


def _docker() -> str:
    """Return what the stages run, in an environment instead of an image."""
    unfolded = filled("docker").replace("\\\n", " ").replace("/opt/", "opt/")
    runs = [line.removeprefix("RUN ") for line in unfolded.splitlines() if line.startswith("RUN ")]
    return "\n".join(("python3 -m venv image", 'PATH="$PWD/image/bin:$PATH"', *runs))


@pytest.mark.parametrize(
    ("script", "reports"),
    [
        (_github, ["doctor.sarif"]),
        pytest.param(
            _gitlab, ["gl-code-quality-report.json", "doctor.xml"], marks=pytest.mark.dear
        ),
        pytest.param(_buildkite, ["doctor.xml", "doctor.md"], marks=pytest.mark.dear),
        pytest.param(_jenkins, ["doctor.xml", "doctor.html"], marks=pytest.mark.dear),
        pytest.param(_docker, ["opt/doctor.json"], marks=pytest.mark.dear),
    ],
    ids=["github", "gitlab", "buildkite", "jenkins", "docker"],
)
def test_the_commands_run_and_leave_their_reports(
    script: Callable[[], str],
    reports: list[str],
    tmp_path: Path,
    wheel: Path,
    needs: Callable[[str], str],
) -> None:
    (tmp_path / "requirements.txt").write_text("packaging\n", encoding="utf-8")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "buildkite-agent").write_text(
        f'#!/bin/sh\ncat > "{tmp_path}/annotated"\n', encoding="utf-8"
    )
    (tools / "buildkite-agent").chmod(0o755)
    env = environment(
        {
            "PIP_FIND_LINKS": str(wheel.parent),
            "RUNNER_TEMP": str(tmp_path),
            "PATH": f"{tools}:{os.environ['PATH']}",
        }
    )
    ran = subprocess.run(
        [needs("bash"), "-e", "-c", script()],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 4, ran.stdout + ran.stderr
    assert "nothing to judge" in ran.stdout.lower()
    assert [name for name in reports if not (tmp_path / name).stat().st_size] == []
    annotated = tmp_path / "annotated"
    assert annotated.exists() is ("doctor.md" in reports)
