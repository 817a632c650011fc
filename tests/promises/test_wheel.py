"""The wheel holds the package, the checks, the matrices and two commands, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from doctor.catalog.loading import COMPILED, compiled, load_folder
from doctor.catalog.reference import FAMILIES, compiled_name, compiled_tables
from tests import environments

_ROOT = Path(__file__).resolve().parents[2]
_DATA = "doctor/_bundled"


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    """Return what the wheel holds, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _sources(folder: str) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder]
    listed = subprocess.run(
        command, cwd=_ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in listed if (_ROOT / name).is_file()]


def test_the_wheel_holds_exactly_these_files(contents: dict[str, bytes]) -> None:
    package = _sources("doctor")
    data = [f"{_DATA}/{name}" for folder in ("checks", "matrices") for name in _sources(folder)]
    found = [name for name in contents if ".dist-info/" not in name]
    assert sorted(found) == sorted(
        [
            *(*package, *data, "canary_doctor.py", f"{_DATA}/matrices/{COMPILED}"),
            *(f"{_DATA}/matrices/{compiled_name(family)}" for family in FAMILIES),
        ]
    )


def test_two_names_at_the_top_beside_the_metadata(contents: dict[str, bytes]) -> None:
    tops = {name.split("/")[0] for name in contents}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"canary_doctor.py", "doctor"}


def test_the_compiled_catalog_is_that_of_the_matrices(contents: dict[str, bytes]) -> None:
    assert contents[f"{_DATA}/matrices/{COMPILED}"] == compiled(load_folder(_ROOT / "matrices"))


def test_the_compiled_reference_tables_are_those_of_the_matrices(
    contents: dict[str, bytes],
) -> None:
    for name, data in compiled_tables(_ROOT / "matrices").items():
        assert contents[f"{_DATA}/matrices/{name}"] == data


@pytest.mark.patient
def test_the_wheel_runs_where_the_checkout_is_not(installed_doctor: Path, tmp_path: Path) -> None:
    """The whole catalog is linted in the checkout, and the wheel's is the same."""
    site = environments.site_packages(installed_doctor.with_name("python"))
    bundled = site / _DATA / "matrices"
    shutil.copytree(bundled / "issues" / "numpy", tmp_path / "some" / "issues" / "numpy")
    (tmp_path / "build.log").write_text(
        "RuntimeError: operator torchvision::nms does not exist\n", encoding="utf-8"
    )

    def says(*words: str) -> str:
        ran = subprocess.run(
            [installed_doctor, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (int(words[0] == "diagnose"), "")
        return ran.stdout

    assert says("lint", "some") == "some: no faults\n"
    assert "torchvision/other-torch" in says("diagnose", "build.log")
    assert not list(site.glob("tests*"))
