"""The recorded requirements of releases, and how they are read from an index."""

from __future__ import annotations

from email.message import Message
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from doctor.timelines import requirements as data
from doctor.timelines.build import requirements as build
from doctor.timelines.requirements import RecordedRequirement, asked_by


def test_every_recorded_requirement_can_be_read() -> None:
    for runs in data._packages().values():
        for releases, lines in runs:
            assert all(map(Version, releases.split()))
            assert all(map(Requirement, lines))


@pytest.mark.parametrize(
    ("package", "release", "asked"),
    [
        ("tensorflow", "2.15.0", RecordedRequirement("numpy", "<2.0.0,>=1.23.5", "")),
        ("TensorFlow", "2.15.0+local", RecordedRequirement("keras", "<2.16,>=2.15.0", "")),
        ("vllm", "0.5.4", RecordedRequirement("torchvision", "==0.19", "")),
        ("transformers", "4.56.1", RecordedRequirement("huggingface-hub", "<1.0,>=0.34.0", "")),
    ],
)
def test_what_a_release_asks_for(package: str, release: str, asked: RecordedRequirement) -> None:
    assert asked in asked_by(package, release)


@pytest.mark.parametrize(
    ("package", "release"),
    [("nobody-knows-it", "1.0"), ("vllm", "999.0"), ("vllm", "0.0.1"), ("vllm", "not a version")],
)
def test_what_is_not_known_asks_for_nothing(package: str, release: str) -> None:
    assert asked_by(package, release) == ()


class _File:
    """A wheel of an index."""

    package_type, is_yanked, has_metadata, url = "wheel", False, True, "https://index.example/w"

    def __init__(self, version: str) -> None:
        self.version, self.filename = version, f"toy-{version}-py3-none-any.whl"


class _Client:
    """An index with one project, whose second release asks for another numpy."""

    def get_project_page(self, _: str) -> Any:
        page = Message()
        page.packages = [_File(one) for one in ("1.0", "1.1", "2.0", "2.1rc1")]  # type: ignore[attr-defined]
        return page

    def get_package_metadata(self, file: _File, *, verify: bool) -> str:
        assert not verify
        bound = "<2" if file.version.startswith("1.") else '>=2; python_version >= "3.10"'
        return f"Name: toy\nRequires-Dist: numpy{bound}\nRequires-Dist: click>=8; extra == 'x'\n"


class _Index:
    client = _Client()


def test_releases_that_ask_for_the_same_become_one_run() -> None:
    runs = build.collect(_Index(), "toy", frozenset({"numpy", "click"}))  # type: ignore[arg-type]
    assert runs == [
        ("1.0 1.1", ["numpy<2"]),
        ("2.0", ["numpy>=2;python_version >= '3.10'"]),
    ]
