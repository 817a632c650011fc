"""The recorded wheels of releases, and how they are read from the names of files."""

from __future__ import annotations

import pytest
from packaging.version import Version

from doctor.timelines import wheels
from doctor.timelines.build.wheel_tags import runs


def test_every_recorded_release_can_be_read() -> None:
    for each in wheels._packages().values():
        for releases, systems in each:
            assert all(map(Version, releases.split()))
            assert set(systems) <= set(wheels.SYSTEMS)


@pytest.mark.parametrize(
    ("package", "release", "system", "first", "last"),
    [
        ("scikit-learn", "0.20.4", "", "3.4", "3.7"),
        ("numpy", "1.26.4", "linux-x86_64", "3.9", "3.12"),
        ("scipy", "1.9.3", "", "3.8", "3.11"),
    ],
)
def test_pythons_of_a_release(
    package: str, release: str, system: str, first: str, last: str
) -> None:
    found = wheels.pythons_with_wheel(package, release, system)
    assert (found[0], found[-1]) == (first, last)


def test_first_release_for_a_python() -> None:
    assert str(wheels.releases_with_wheel("scipy", "3.12")[0]) == "1.11.2"
    assert str(wheels.releases_with_wheel("sentencepiece", "3.13")[0]) == "0.2.1"


def test_a_wheel_of_the_stable_abi_serves_later_pythons() -> None:
    assert "3.14" in wheels.pythons_with_wheel("tokenizers", "0.21.0")


@pytest.mark.parametrize("release", ["", "999", "not a version", "1.0'"])
def test_what_is_not_recorded(release: str) -> None:
    assert wheels.pythons_with_wheel("numpy", release) == ()
    assert wheels.pythons_with_wheel("nobody-knows-it", "1.0") == ()
    assert not wheels.is_covered("nobody-knows-it")


def test_names_of_files() -> None:
    names = [
        "a-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "a-1.0-cp310-cp310-musllinux_1_1_x86_64.whl",
        "a-1.0-cp310-cp310-win32.whl",
        "a-1.1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "a-2.0-cp39-abi3-macosx_10_9_universal2.whl",
        "a-2.0rc1-cp39-abi3-win_amd64.whl",
        "no wheel",
    ]
    later = list(range(9, wheels.NEWEST + 1))
    assert runs(names) == [
        ("1.0 1.1", {"linux-x86_64": [10]}),
        ("2.0", {"macos-arm64": later, "macos-x86_64": later}),
    ]
