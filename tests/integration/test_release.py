"""What a release is made of: packages, archive, image, site and forms."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from integrations import release
from tests.promises.sources import ROOT

_FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
_WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


def _project(tmp_path: Path, *, version: str, changelog: str, readme: str) -> Path:
    for name in ("pyproject.toml", "pytest-plugin/pyproject.toml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'[project]\nversion = "{version}"\n', encoding="utf-8")
    (tmp_path / "doctor").mkdir()
    (tmp_path / "doctor" / "__init__.py").write_text(
        f'"""A package."""\n\n__version__ = "{version}"\n', encoding="utf-8"
    )
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    for arguments in (("init", "-q"), ("add", ".")):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    return tmp_path


_CHANGES = "# Changelog\n\n## 1.2.0 (2026-12-01)\n\n- One.\n\n## 1.1.0\n\n- Zero.\n"


def test_a_release_that_agrees_with_its_tag_has_the_notes_of_its_section(tmp_path: Path) -> None:
    root = _project(tmp_path, version="1.2.0", changelog=_CHANGES, readme="pipx install it\n")
    assert list(release.faults(root, "v1.2.0")) == []
    assert release.notes(root, "1.2.0") == "- One.\n"


def test_each_disagreement_is_named(tmp_path: Path) -> None:
    readme = "It is not on a package\nindex yet.\n"
    root = _project(tmp_path, version="1.3.0", changelog=_CHANGES, readme=readme)
    assert len(list(release.faults(root, "v1.3.0"))) == 2
    assert len(list(release.faults(root, "v1.2.0"))) == 4
    assert any("form" in fault for fault in release.faults(root, "1.3"))


def test_nothing_can_be_released_as_long_as_the_documents_deny_it() -> None:
    """The day of the first release makes them true: this test goes with those sentences."""
    named = [fault for fault in release.faults(ROOT, "v0.1.0") if "package index" in fault]
    assert any(fault.startswith("README.md") for fault in named)
    assert any("templates" in fault for fault in named)


def test_the_archive_of_the_release_is_that_of_a_fleet() -> None:
    (module,) = set(re.findall(r"from (doctor\.\S+) import build", _WORKFLOW))
    if importlib.util.find_spec(module) is None:
        pytest.skip("fleets have no archive yet")
    assert callable(importlib.import_module(module).build)


def test_only_the_job_that_publishes_gets_an_identity_for_the_index() -> None:
    jobs = yaml.safe_load(_WORKFLOW)["jobs"]
    assert {name for name, job in jobs.items() if "id-token" in job["permissions"]} == {
        "attest",
        "publish",
    }
    assert {name for name, job in jobs.items() if "environment" in job} == {"publish"}
    assert "secrets." not in _WORKFLOW


def test_the_image_copies_what_the_wheel_is_built_from() -> None:
    """An image is built from what .dockerignore lets in, so a wheel must build from that alone."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    entries = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    assert [name for name in entries if not (ROOT / name).exists()] == []
    build = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + (
        ROOT / "hatch_build.py"
    ).read_text(encoding="utf-8")
    named = {"LICENSE", "NOTICE", "README.md", "canary_doctor.py", "hatch_build.py"}
    assert named | {"checks", "doctor", "matrices", "pyproject.toml"} == set(entries)
    assert all(
        name in build or name == "pyproject.toml" for name in entries if name != "hatch_build.py"
    )


@pytest.mark.patient
def test_a_wheel_builds_from_what_the_image_gets(tmp_path: Path) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    source = tmp_path / "source"
    source.mkdir()
    for name in (line.removeprefix("!") for line in ignored if line.startswith("!")):
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheels")],
        cwd=source,
        check=True,
        capture_output=True,
    )
    assert list((tmp_path / "wheels").glob("canary_doctor-*.whl"))


@pytest.mark.parametrize(
    "path", [form for form in _FORMS if form.stem != "config"], ids=lambda path: path.stem
)
def test_each_form_asks_for_a_report_that_is_fit_to_be_posted(path: Path) -> None:
    """GitHub's rules: https://docs.github.com/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert all(form[key] for key in ("name", "description", "body"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}
    (report,) = (field for field in fields if field["id"] == "report")
    commands = re.findall(r"`canary-doctor ([^`]+)`", report["attributes"]["description"])
    assert commands
    assert all("--report markdown=report.md" in command for command in commands)
