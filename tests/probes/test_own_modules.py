"""Distributions whose own module is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import own_modules
from tests.hosts import facts_of, values
from tests.sites import install, seen_at, seen_of, site_of

CV2 = {
    "cv2/__init__.py": "from .cv2 import *",
    "cv2/gapi/__init__.py": "x = 1",
    "cv2/cv2.abi3.so": "elf",
}


def seen(prefix: Path) -> dict[str, object]:
    """Return what the probe finds."""
    facts = facts_of(own_modules.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def test_uninstalling_one_takes_the_module_of_the_other(tmp_path: Path) -> None:
    install(tmp_path, "opencv-python-headless", "4.12", files=CV2)
    assert seen(tmp_path) == {}
    shutil.rmtree(site_of(tmp_path) / "cv2")
    gone = [str(site_of(tmp_path) / "cv2/__init__.py")]
    assert seen(tmp_path) == {
        "modules.gone": gone,
        "modules.gone_packages": ["opencv-python-headless==4.12"],
    }


@pytest.mark.parametrize(
    "path", ["tests/__init__.py", "google/cloud/__init__.py", "numpy/core/__init__.py"]
)
def test_what_is_no_module_of_its_own_may_be_gone(tmp_path: Path, path: str) -> None:
    install(tmp_path, "some-package", "1.0", files={path: "x = 1"})
    (site_of(tmp_path) / path).unlink()
    assert seen(tmp_path) == {}


def test_an_empty_module_makes_no_difference(tmp_path: Path) -> None:
    install(tmp_path, "some-package", "1.0", files={"space/__init__.py": ""})
    (site_of(tmp_path) / "space/__init__.py").unlink()
    assert seen(tmp_path) == {}


def test_no_release_is_named_where_the_metadata_names_two(tmp_path: Path) -> None:
    for version in ("4.12", "4.11"):
        install(tmp_path, "opencv-python", version, files=CV2)
    shutil.rmtree(site_of(tmp_path) / "cv2")
    assert seen(tmp_path)["modules.gone_packages"] == ["opencv-python"]


def test_a_module_with_nothing_in_it_is_gone(tmp_path: Path) -> None:
    install(tmp_path, "opencv-python", "4.12", files=CV2)
    (site_of(tmp_path) / "cv2/__init__.py").write_bytes(b"")
    assert seen(tmp_path)["modules.gone_packages"] == ["opencv-python==4.12"]


@pytest.mark.parametrize("name", ["torch", "flash-attn", "jax", "onnxruntime-gpu", "triton"])
def test_a_folder_that_nothing_lists_any_more(tmp_path: Path, name: str) -> None:
    info = install(tmp_path, name, "1.0")
    (info / "RECORD").unlink()
    folder = site_of(tmp_path) / {"flash-attn": "flash_attn", "onnxruntime-gpu": "onnxruntime"}.get(
        name, name
    )
    assert seen(tmp_path) == {}
    folder.mkdir()
    assert seen(tmp_path) == {
        "modules.gone": [str(folder / "__init__.py")],
        "modules.gone_packages": [f"{name}==1.0"],
    }


def test_images_without_an_installer_are_fine(tmp_path: Path) -> None:
    install(tmp_path, "pip", "26.0", files={"pip/__init__.py": "x = 1"})
    shutil.rmtree(site_of(tmp_path) / "pip")
    assert seen(tmp_path) == {}


@pytest.mark.parametrize(
    "record",
    [
        "",
        "cv2/__init__.py",
        "cv2/__init__.py,",
        "/__init__.py,,5",
        "\0/__init__.py,x,5",
        "cv2/__init__.py,x,many",
    ],
)
def test_a_garbled_record_harms_nobody(tmp_path: Path, record: str) -> None:
    (install(tmp_path, "cv", "1.0") / "RECORD").write_text(record, encoding="utf-8")
    assert seen(tmp_path) == {}


@pytest.mark.patient
def test_a_real_environment_has_its_modules(torch_python: Path) -> None:
    assert {fact.state for fact in facts_of(own_modules.probe(seen_of(torch_python))).values()} == {
        State.ABSENT
    }
