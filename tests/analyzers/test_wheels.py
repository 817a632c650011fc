"""Wheels and requirements that do not fit; each text is genuine output of pip, uv or Poetry."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Precision
from tests.analyzers.packages import explained, hostile, installs, told

OFFERED = "2.2.0, 2.2.1, 2.4.0, 2.4.1, 2.5.0, 2.5.1, 2.6.0, 2.7.0, 2.13.0, 2.14.0, 2.14.1, 2.15.0"


def none(requirement: str, before: str = "") -> str:
    """Return what pip prints where an index offers nothing."""
    return (
        f"{before}ERROR: Could not find a version that satisfies the requirement {requirement} "
        f"(from versions: none)\nERROR: No matching distribution found for {requirement}"
    )


def few(requirement: str, versions: str, before: str = "") -> str:
    """Return what pip prints where an index offers other releases."""
    return none(requirement, before).replace("from versions: none", f"from versions: {versions}")


def test_a_wheel_for_another_python() -> None:
    text = (
        "Using cached numpy-2.0.0-cp312-cp312-manylinux_2_17_x86_64.whl (19 MB)\n"
        "ERROR: flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl "
        "is not"
        " a supported wheel on this platform."
    )
    found = told("wheels", text)
    assert found.precision is Precision.EXACT
    assert found.detection.title == (
        "The wheel of flash-attn 2.7.4.post1+cu12torch2.6cxx11abifalse is for Python 3.10, and "
        "this "
        "is Python 3.12"
    )


def test_a_wheel_for_another_system() -> None:
    text = (
        "Looking in links: /home/ada/wheels\n"
        "ERROR: torch-2.1.0-cp312-none-macosx_11_0_arm64.whl is not a supported wheel on this "
        "platform."
    )
    found = told("wheels", text)
    assert found.detection.title in (
        "The wheel of torch 2.1.0 is for macOS, and this is Linux",
        "The wheel of torch 2.1.0 is only for Python 3.12 macOS arm64",
    )


def test_a_release_for_another_python() -> None:
    """The log lists what it left out, and what that asks for."""
    text = (
        "ERROR: Ignored the following versions that require a different python version: 1.21.5 "
        "Requires-Python >=3.7,<3.11; 1.21.6 Requires-Python >=3.7,<3.11\n"
        + few("numpy==1.21.6", "1.3.0, 1.4.1, 1.21.0, 1.21.1, 1.22.0, 2.4.6")
    )
    found = told("index_answers", text)
    assert found.detection.title == "numpy 1.21.6 requires Python >=3.7,<3.11"
    assert found.detection.recipes[0].steps[0].run[:4] == ("uv", "venv", "--python", "3.10")


def test_torch_for_another_python() -> None:
    text = few("torch==2.1.0", "2.5.0, 2.5.1, 2.6.0", "Python 3.13.0\n")
    found = told("index_answers", text)
    assert found.detection.title == (
        "torch 2.1.0 has no wheels for Python 3.13: it has them for Python 3.8 to 3.11"
    )


def test_a_build_of_another_index() -> None:
    found = told("index_answers", few("torch==2.6.0+cu124", OFFERED))
    assert found.detection.title == "torch 2.6.0+cu124 is not on the index that was asked"
    assert found.detection.recipes[0].steps[0].index == "https://download.pytorch.org/whl/cu124"


def test_a_build_that_was_never_made() -> None:
    """The table of architectures knows the CUDA releases of each torch."""
    found = told("index_answers", few("torch==2.6.0+cu128", OFFERED))
    assert found.detection.title == "There is no torch 2.6.0 for CUDA 12.8"
    assert "Builds for CUDA 12.8 exist of torch 2.7.0 to 2.11.0" in found.detection.message
    assert found.detection.recipes[0].steps[0].index == "https://download.pytorch.org/whl/cu126"


@pytest.mark.parametrize(
    ("requirement", "title"),
    [
        ("pickle", "pickle is a part of Python and is not installed by pip"),
        ("cv2", "The module cv2 comes with the distribution opencv-python"),
        (
            "torchlightning-nope-xyz",
            "The index that was asked has nothing called torchlightning-nope-xyz",
        ),
    ],
)
def test_nothing_of_that_name(requirement: str, title: str) -> None:
    assert told("index_answers", none(requirement)).detection.title == title


def test_an_index_of_torch_alone() -> None:
    before = "Looking in indexes: https://download.pytorch.org/whl/cu121\n"
    found = told("index_answers", none("accelerate==0.30.0", before))
    assert found.detection.title == "PyTorch's index has no accelerate"
    assert installs(found) == [("accelerate==0.30.0",)]


def test_network_errors_come_first() -> None:
    """The index never answered: nothing is known of the package."""
    before = (
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) "
        "after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection."
        "HTTPSConnection object at 0x7f5fb00d5fa0>: Failed to establish a new connection: "
        "[Errno -2] Name or service not known')': /simple/numpy/\n"
    )
    assert not explained("index_answers", none("numpy", before))


def test_tags_of_uv() -> None:
    text = """
error: No solution found when resolving dependencies
  cause: Because torch==2.1.0 has no wheels with a matching Python ABI tag (e.g., `cp313`) and you require torch==2.1.0, we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.13 (`cp313`), but we only found wheels for `torch` (v2.1.0) with the following Python ABI tags: `cp38`, `cp39`, `cp310`, `cp311`
"""  # noqa: E501
    found = told("wheels", text)
    assert found.detection.title == (
        "torch 2.1.0 has no wheels for Python 3.13: it has them for Python 3.8 to 3.11"
    )


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: Package 'x' requires a different Python: 3.8.10 not in '>=3.9'",
        (
            "  cause: Because the current Python version (3.8.18) does not satisfy "
            "Python>=3.10.0 and "
            "transformers==5.0.0 depends on Python>=3.10.0, we can conclude that "
            "transformers==5.0.0 "
            "cannot be used."
        ),
    ],
)
def test_another_python_is_required(text: str) -> None:
    found = told("wheels", text)
    assert found.detection.title.endswith("and this is 3.8")
    assert found.detection.message == "Python 3.8 is too old for it."


def test_hostile_texts() -> None:
    hostile(
        "wheels",
        (
            "ERROR: x.whl is not a supported wheel on this platform",
            "ERROR: a-1-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform",
            "Because torch==2 has no wheels with a matching Python ABI tag (e.g., `",
            "Package 'x' requires a different Python: 3.8.10 not in '",
        ),
    )
    hostile(
        "index_answers",
        (
            "Could not find a version that satisfies the requirement a (from versions: none",
            (
                "Could not find a version that satisfies the requirement torch==1.0+cu (from "
                "versions: 1, "
            ),
        ),
    )


def test_a_build_for_cuda_is_not_for_macos() -> None:
    before = "(venv) ada@MacBook ~ % /Users/ada/venv/bin/pip install -r requirements.txt\n"
    found = told("index_answers", few("torch==2.6.0+cu124", OFFERED, before))
    assert found.detection.title == "torch has no build +cu124 for macOS"
    assert installs(found) == [("torch==2.6.0",)]
