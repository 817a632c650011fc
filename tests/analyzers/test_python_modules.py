"""Modules that are not found; each text is genuine output of Python."""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.packages import explained, hostile, installs, told

MAIN = 'Traceback (most recent call last):\n  File "/home/ada/main.py", line 1, in <module>\n'
INSIDE = (
    'Traceback (most recent call last):\n  File "/home/ada/main.py", line 1, in <module>\n'
    '  File "/venv/lib/python3.12/site-packages/pytorch_fid/x.py", line 3, in <module>\n'
)


@pytest.mark.parametrize(
    ("text", "title", "wanted"),
    [
        (
            MAIN + "ModuleNotFoundError: No module named 'numpy.array_api'",
            (
                "The installed numpy lacks the module numpy.array_api: 1.22 brought it, and 2 "
                "dropped it"
            ),
            "numpy>=1.22,<2",
        ),
        (
            MAIN + "ModuleNotFoundError: No module named 'cv2'",
            (
                "The module cv2 is not installed for this Python: the distribution "
                "opencv-python brings it"
            ),
            "opencv-python",
        ),
        (
            MAIN + "ModuleNotFoundError: No module named 'segment_anything'",
            (
                "The module segment_anything is not installed for this Python: Segment "
                "Anything brings it"
            ),
            "git+https://github.com/facebookresearch/segment-anything.git",
        ),
    ],
)
def test_what_brings_a_module(text: str, title: str, wanted: str) -> None:
    found = told("python_modules", text)
    assert found.detection.title == title
    assert (wanted,) in installs(found)


def test_a_module_of_a_newer_python() -> None:
    found = told("python_modules", MAIN + "ModuleNotFoundError: No module named 'tomllib'")
    assert found.detection.title.startswith("The module tomllib came with Python 3.11")


def test_a_module_that_python_gave_up() -> None:
    found = told("python_modules", INSIDE + "ModuleNotFoundError: No module named 'imp'")
    assert "is gone since Python 3.12, and Python 3.12 runs the program" in found.detection.title


def test_a_part_that_was_left_out_of_python() -> None:
    found = told("python_modules", MAIN + "ModuleNotFoundError: No module named '_ctypes'")
    assert found.detection.title == "This Python was built without _ctypes"
    assert found.detection.recipes[0].steps[0].system["apt"] == ("libffi-dev",)


def test_installed_for_another_python() -> None:
    """The log shows the package, and where it went."""
    text = (
        "Requirement already satisfied: einops in /usr/lib/python3.10/site-packages (0.8.0)\n"
        + MAIN
        + "ModuleNotFoundError: No module named 'einops'"
    )
    found = told("python_modules", text)
    assert (
        "is installed, in /usr/lib/python3.10/site-packages, but not for" in found.detection.title
    )


def test_an_unknown_module_is_no_distribution() -> None:
    """Nobody is told to install a name that may be anybody's."""
    found = told("python_modules", MAIN + "ModuleNotFoundError: No module named 'llama_nope'")
    assert found.detection.severity is Severity.NOTE
    assert not any(installs(found))


def test_a_compiled_part() -> None:
    text = (
        "Traceback (most recent call last):\n  File "
        '"/venv/lib/python3.12/site-packages/pointnet2/x.py", line 3\n'
        "ModuleNotFoundError: No module named 'pointnet2._ext'"
    )
    assert "The compiled part pointnet2._ext" in told("python_modules", text).detection.title


def test_a_passing_message_is_no_failure() -> None:
    assert not explained(
        "python_modules", "Error caught was: ModuleNotFoundError: No module named 'triton'"
    )


def test_hostile_texts() -> None:
    hostile(
        "python_modules",
        (
            "ModuleNotFoundError: No module named '",
            "ModuleNotFoundError: No module named 'numpy.",
            "ModuleNotFoundError: No module named 'a'; 'a' is not a package",
            "Successfully installed a-1.0\nModuleNotFoundError: No module named 'a",
        ),
    )
