"""Workflows, hooks and templates, held against the tools that read them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from doctor.cli.templates import PLACES, filled
from tests.promises.sources import ROOT

_WORKFLOWS = tuple(sorted((ROOT / ".github" / "workflows").glob("*.yml")))
_OURS = (*_WORKFLOWS, ROOT / "action.yml", ROOT / ".github" / "dependabot.yml")
_PINNED = re.compile(r"uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<ref>\S+)(?: # (?P<version>v[\d.]+))?")
_TEXTS = (
    *_OURS,
    ROOT / "docs" / "ci.md",
    *(ROOT / "doctor" / "cli" / "templates" / place.template for place in PLACES.values()),
)


def _tool(name: str) -> str:
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name) or pytest.skip(f"{name} is not installed")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The workflow that `doctor init github` writes, where it belongs."""
    path = tmp_path / PLACES["github"].path
    path.parent.mkdir(parents=True)
    path.write_text(filled("github"), encoding="utf-8")
    return path


def _clean(command: list[str]) -> None:
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_actionlint_has_nothing_to_say(written: Path) -> None:
    _clean([_tool("actionlint"), "-no-color", *map(str, _WORKFLOWS), str(written)])


def test_zizmor_has_nothing_to_say(written: Path) -> None:
    _clean(
        [_tool("zizmor"), "--offline", "--no-progress", "--quiet", *map(str, _OURS), str(written)]
    )


def test_actions_are_pinned_by_their_commit_and_everywhere_by_the_same() -> None:
    found = [
        match
        for path in _TEXTS
        for match in _PINNED.finditer(path.read_text(encoding="utf-8"))
        if match["action"] != "OWNER/doctor"
    ]
    assert found
    assert all(re.fullmatch(r"[0-9a-f]{40}", match["ref"]) and match["version"] for match in found)
    pins = {match.groups() for match in found}
    assert len(pins) == len({match["action"] for match in found})


def test_a_workflow_asks_for_no_right_that_its_job_does_not_name() -> None:
    for text in (*(path.read_text(encoding="utf-8") for path in _WORKFLOWS), filled("github")):
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] == {}
        assert all(job["permissions"] for job in workflow["jobs"].values())
        assert all(job["timeout-minutes"] for job in workflow["jobs"].values())


def test_no_expression_stands_in_a_script() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)


def test_every_input_reaches_the_step_and_is_read_there() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = action["runs"]["steps"]
    script = (ROOT / "integrations" / "github_step.py").read_text(encoding="utf-8")
    assert step["env"] == {
        f"INPUT_{name.replace('-', '_').upper()}": f"${{{{ inputs.{name} }}}}"
        for name in action["inputs"]
    }
    assert all(f'"{name}"' in script for name in action["inputs"])


def test_pre_commit_takes_the_hooks_and_the_template(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(filled("pre-commit"), encoding="utf-8")
    _clean(
        [
            sys.executable,
            "-m",
            "pre_commit",
            "validate-manifest",
            str(ROOT / ".pre-commit-hooks.yaml"),
        ]
    )
    _clean([sys.executable, "-m", "pre_commit", "validate-config", str(config)])


def test_the_hook_is_the_template_of_the_hook() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (written,) = yaml.safe_load(filled("pre-commit"))["repos"][0]["hooks"]
    assert {
        name: hook[name] for name in ("id", "entry", "language", "pass_filenames", "files")
    } == {name: written[name] for name in ("id", "entry", "language", "pass_filenames", "files")}


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("requirements.txt", True),
        ("app/requirements-dev.in", True),
        ("pyproject.toml", True),
        ("uv.lock", True),
        ("app/Dockerfile", True),
        ("environment.yml", True),
        ("app/environment-gpu.yaml", True),
        ("Pipfile", True),
        ("pixi.toml", True),
        ("rust/Cargo.lock", False),
        ("requirements.py", False),
        ("src/main.rs", False),
        ("my-pyproject.toml", False),
    ],
)
def test_the_hook_watches_what_pins_packages_and_nothing_else(name: str, watched: bool) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert bool(re.search(hook["files"], name)) is watched
