"""Where a project asks for the packages of the stack: which files count, and which of two."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.host import Host, UnreadableFile
from doctor.model.facts import Fact
from doctor.model.vocabulary import is_known
from doctor.observe.probes import manifests
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, put, values


def _seen(
    project: Path, *, env: dict[str, str] | None = None, workspace: Path | None = None
) -> dict[str, Any]:
    facts = facts_of(
        manifests.probe(
            ProbeInput(host=Host(env=env or {}, cwd=project), project=project, workspace=workspace)
        )
    )
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def _at(path: str, line: int) -> dict[str, Any]:
    return {"path": path, "line": line}


def test_the_line_that_says_a_version_counts_before_one_that_does_not(tmp_path: Path) -> None:
    put(tmp_path / "requirements.txt", "torch\nrequests==2\n")
    put(tmp_path / "pyproject.toml", '[project]\ndependencies = ["torch==2.7.1"]\n')
    put(
        tmp_path / "uv.lock",
        '[[package]]\nname = "torch"\n[[package]]\nname = "nvidia-nccl-cu12"\n',
    )
    assert _seen(tmp_path) == {
        "project.manifests": ["requirements.txt", "pyproject.toml", "uv.lock"],
        "project.asked": {"requests": "2", "torch": "2.7.1"},
        "project.ranges": {"torch": ""},
        "manifest.torch": _at("pyproject.toml", 2),
        "pin.torch": {
            **_at("pyproject.toml", 2),
            "column": 23,
            "text": "==2.7.1",
            "syntax": "python",
            "whole": 'dependencies = ["torch==2.7.1"]',
            "page": False,
        },
        "manifest.nvidia-nccl-cu12": _at("uv.lock", 4),
    }


def test_a_line_with_an_address_and_a_list_that_a_tool_writes_are_not_repeated(
    tmp_path: Path,
) -> None:
    put(tmp_path / "requirements.txt", "torch==2.7.1  # see https://user:secret@host/\n")
    assert _seen(tmp_path)["pin.torch"]["whole"] == ""
    put(tmp_path / "requirements.txt", "torch==2.7.1 \\\n  --hash=sha256:00\n")
    assert "pin.torch" not in _seen(tmp_path)


def test_what_people_edit_counts_before_a_lock(tmp_path: Path) -> None:
    put(tmp_path / "requirements.txt", "torch\n")
    put(tmp_path / "poetry.lock", '[[package]]\nname = "torch"\n')
    assert _seen(tmp_path)["manifest.torch"] == _at("requirements.txt", 1)


def test_the_plain_file_counts_before_its_variants(tmp_path: Path) -> None:
    for name in ("requirements-dev.txt", "requirements.txt", "requirements/gpu.txt"):
        put(tmp_path / name, "# a comment\nFlash_Attn==2.8.3\n")
    seen = _seen(tmp_path)
    assert seen["manifest.flash-attn"] == _at("requirements.txt", 2)
    assert seen["project.manifests"] == [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements/gpu.txt",
    ]


def test_a_folder_without_manifests_says_so(tmp_path: Path) -> None:
    facts = facts_of(manifests.probe(ProbeInput(host=Host(env={}), project=tmp_path)))
    assert {name: fact.state.value for name, fact in facts.items()} == {
        "project.manifests": "absent",
        "project.pinned": "absent",
        "project.asked": "absent",
        "project.ranges": "absent",
    }


def test_pins_of_absent_packages_and_ranges_are_told(tmp_path: Path) -> None:
    """A release that the project asks for counts before the package is there."""
    put(tmp_path / "requirements.txt", "responses==0.18.0\nnumpy>=1.26,<2\n")
    put(tmp_path / "constraints.txt", "numpy!=1.26.3\n")
    seen = _seen(tmp_path)
    assert seen["project.asked"] == {"responses": "0.18.0"}
    assert seen["project.ranges"] == {"numpy": ">=1.26,<2,!=1.26.3"}


def test_paths_are_told_from_the_root_of_the_repository(tmp_path: Path) -> None:
    put(tmp_path / ".git" / "HEAD")
    put(tmp_path / "services" / "train" / "requirements.txt", "torch==2.7.1\n")
    assert _seen(tmp_path / "services" / "train")["manifest.torch"] == _at(
        "services/train/requirements.txt", 1
    )


def test_a_runner_says_where_its_checkout_is(tmp_path: Path) -> None:
    put(tmp_path / "train" / "requirements.txt", "torch==2.7.1\n")
    env = {"GITHUB_WORKSPACE": str(tmp_path)}
    assert _seen(tmp_path / "train", env=env)["manifest.torch"] == _at("train/requirements.txt", 1)
    elsewhere = {"GITHUB_WORKSPACE": str(tmp_path / "other"), "CI_PROJECT_DIR": "\x00"}
    assert _seen(tmp_path / "train", env=elsewhere)["manifest.torch"] == _at("requirements.txt", 1)


def test_a_workspace_and_its_members(tmp_path: Path) -> None:
    put(tmp_path / ".git" / "HEAD")
    put(tmp_path / "Cargo.toml", '[workspace]\nmembers = [\n  "crates/*", "../out", "/etc",\n]\n')
    put(
        tmp_path / "Cargo.lock",
        '[[package]]\nname = "candle-core"\n\n[[package]]\nname = "serde"\n\n[[package]]\nname = '
        '"cudarc"\n',
    )
    put(tmp_path / "crates" / "app" / "Cargo.toml", '[dependencies]\ncandle-core = "0.9"\n')
    seen = _seen(tmp_path / "crates" / "app", workspace=tmp_path)
    assert seen["manifest.candle-core"] == _at("crates/app/Cargo.toml", 2)
    assert seen["manifest.cudarc"] == _at("Cargo.lock", 8)
    assert "manifest.serde" not in seen


def test_nothing_outside_of_the_project_is_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    outside = put(tmp_path / "secret" / "requirements.txt", "torch==2.7.1\n")
    put(project / "docs" / "x.txt")
    (project / "requirements.txt").symlink_to(outside)
    (project / "requirements").symlink_to(outside.parent)
    (project / "constraints.txt").symlink_to(project / "constraints.txt")
    (project / "pyproject.toml").mkdir()
    os.mkfifo(project / "Dockerfile")
    assert _seen(project) == {}


def test_a_link_within_the_project_is_followed(tmp_path: Path) -> None:
    put(tmp_path / "deps" / "base.txt", "torch==2.7.1\n")
    (tmp_path / "requirements.txt").symlink_to("deps/base.txt")
    assert _seen(tmp_path)["manifest.torch"] == _at("requirements.txt", 1)


@pytest.mark.parametrize("members", ['["."]', '["", "./", "..", "*"]', '["/", "a/../../*", "**"]'])
def test_a_workspace_may_be_its_own_member(tmp_path: Path, members: str) -> None:
    text = f'[workspace]\nmembers = {members}\n[dependencies]\ncandle-core = "0.9.1"\n'
    put(tmp_path / "Cargo.toml", text)
    assert _seen(tmp_path, workspace=tmp_path)["manifest.candle-core"] == _at("Cargo.toml", 4)


def test_members_without_end_cost_their_length(tmp_path: Path) -> None:
    put(tmp_path / "Cargo.toml", "[workspace]\n" + "members=[\n" * 100_000)
    begun = time.process_time()
    _seen(tmp_path, workspace=tmp_path)
    assert (
        time.process_time() - begun < 3
    )  # eight seconds where each list was looked for to its end


def test_hostile_files_cost_little_and_break_nothing(tmp_path: Path) -> None:
    put(tmp_path / "requirements.txt", b"\xff\xfe\x00torch\x00" * 100_000)
    put(tmp_path / "requirements\n::error::x.txt", "torch==1\n")
    put(tmp_path / "constraints.txt", b"torch==2.7.1\n" * 2_000_000)
    put(tmp_path / "uv.lock", b'[[package]]\nname = "torch"\n' * 200_000)
    put(
        tmp_path / "pyproject.toml",
        b"[" * 1_000_000 + b"\n" + b'[project]\ndependencies = ["torch==2.7.1"]\n',
    )
    started = time.process_time()
    told: dict[str, Fact] = {}
    with pytest.raises(UnreadableFile, match=r"constraints\.txt is larger than 4 MiB"):
        told |= manifests.probe(ProbeInput(host=Host(env={}, cwd=tmp_path), project=tmp_path))
    assert told["manifest.torch"].value["path"] == "pyproject.toml"
    assert time.process_time() - started < manifests.BOUND


@pytest.mark.parametrize(
    "members", ['["."]', '["./"]', '["", ".", "app"]', '["app", "[", "a/**b", "***"]']
)
def test_members_that_are_no_pattern_cost_no_place(tmp_path: Path, members: str) -> None:
    put(
        tmp_path / "Cargo.toml",
        f'[workspace]\nmembers = {members}\n[dependencies]\ncandle-core = "0.9"\n',
    )
    put(tmp_path / "app" / "Cargo.toml", '[dependencies]\ncandle-nn = "0.9"\n')
    seen = _seen(tmp_path, workspace=tmp_path)
    assert seen["manifest.candle-core"] == _at("Cargo.toml", 4)
    assert ("manifest.candle-nn" in seen) is ("app" in members)


def test_no_link_leads_the_members_out_of_the_workspace(tmp_path: Path) -> None:
    project = tmp_path / "project"
    put(tmp_path / "out" / "app" / "Cargo.toml", '[dependencies]\ncandle-nn = "0.9"\n')
    put(
        project / "Cargo.toml",
        '[workspace]\nmembers = ["link/*", "*/app"]\n[dependencies]\ncandle-core = "0.9"\n',
    )
    (project / "link").symlink_to(tmp_path / "out")
    seen = _seen(project, workspace=project)
    assert seen["manifest.candle-core"] == _at("Cargo.toml", 4)
    assert "manifest.candle-nn" not in seen


def test_links_in_circles_are_walked_once(tmp_path: Path) -> None:
    put(
        tmp_path / "Cargo.toml",
        '[workspace]\nmembers = ["*/*/*/*/*/*/*/*/*/*/zz"]\n[dependencies]\ncandle-core = "0.9"\n',
    )
    for number in range(10):
        (tmp_path / f"l{number}").symlink_to(".")
    begun = time.process_time()
    assert _seen(tmp_path, workspace=tmp_path)["manifest.candle-core"] == _at("Cargo.toml", 4)
    assert time.process_time() - begun < 2  # ten links in ten places are ten thousand million paths
