"""An editable install whose sources were moved comes from where they lie today."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.model.facts import present
from doctor.observe.installed.distributions import installed
from doctor.repair.failures import failure_of
from doctor.repair.lists import Bound
from doctor.repair.moved import moved_editables, other_sources
from doctor.repair.standing import asked_by_project


def test_the_sources_are_found_by_the_name_of_their_project(tmp_path: Path) -> None:
    """In one place alone, and with the module that is missing."""
    site, project = tmp_path / "site", tmp_path / "project"
    info = site / "labkit-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: labkit\nVersion: 1.0\n")
    address = {"url": (tmp_path / "lab").as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(address))
    place = project / "packages/labkit"
    (place / "src/labkit").mkdir(parents=True)
    (place / "pyproject.toml").write_text('[project]\nname = "LabKit"\n')
    here = {one.name: one for one in installed([str(site)])}
    facts = {"python.executable": present("/e/bin/python", "sys")}

    def found(error: str) -> list[str]:
        ways = moved_editables(failure_of(error), here, facts, [project])
        return [step.command.argv[-1] for _, steps, _ in ways for step in steps if step.command]

    assert found("ModuleNotFoundError: No module named 'labkit'") == [str(place)]
    assert found("ModuleNotFoundError: No module named 'other'") == []
    assert found("ImportError: labkit is broken") == []
    (project / "copy/labkit").mkdir(parents=True)
    (project / "copy/setup.cfg").write_text("[metadata]\nname = labkit\n")
    assert found("ModuleNotFoundError: No module named 'labkit'") == []


def test_what_was_set_aside_comes_back_in_its_release() -> None:
    facts = {
        "python.interrupted": present(["requests==2.31.0", "idna==3.7"], "site-packages"),
        "project.asked": present({"idna": "3.4"}, "project"),
    }
    assert asked_by_project(facts, {}) == {"requests": "2.31.0", "idna": "3.4"}
    assert asked_by_project(facts, {"requests": "2.32.0"}) == {"idna": "3.4"}


def test_the_folder_that_the_project_names(tmp_path: Path) -> None:
    """An old copy is installed; the lists ask for the release of another folder."""
    site, project = tmp_path / "site", tmp_path / "project"
    info = site / "labkit-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: labkit\nVersion: 1.0\n")
    for folder, version in (("old", "1.0"), ("libs", "2.1"), ("next", "2.4")):
        (project / folder).mkdir(parents=True)
        text = f'[project]\nname = "labkit"\nversion = "{version}"\n'
        (project / folder / "pyproject.toml").write_text(text)
    address = {"url": (project / "old").as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(address))
    here = {one.name: one for one in installed([str(site)])}
    facts = {"python.executable": present("/e/bin/python", "sys")}

    def found(specifier: str, error: str = "ImportError: no 'peak' in 'labkit'") -> list[str]:
        bound = Bound("labkit", specifier, "pyproject.toml:5", leads=True)
        ways = other_sources(failure_of(error), [bound], here, facts, project)
        return [step.command.argv[-1] for _, steps, _ in ways for step in steps if step.command]

    assert found(">=2") == []  # two folders have such a release
    assert found("<2.2,>=2") == [str(project / "libs")]
    named = '[tool.uv.sources]\nlabkit = { path = "libs", editable = true }\n'
    (project / "pyproject.toml").write_text(named)
    assert found(">=2") == [str(project / "libs")]
    assert found(">=3") == []
    assert found(">=2", "ImportError: no 'peak' in 'other'") == []
