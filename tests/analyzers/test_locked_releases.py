"""Locks of Poetry and uv that do not fit the Python or the system; texts of genuine runs."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from tests.analyzers.packages import explained, hostile, installs, told

CHOOSER = "venvs/poetry/lib/python{}/site-packages/poetry/installation/chooser.py:74 in choose_for"
CANDIDATES = "  Unable to find installation candidates for {} ({})\n\n  at {}\n"


def candidates(name: str, release: str, place: str) -> str:
    return CANDIDATES.format(name, release, place)


def runs(found: Explanation) -> list[tuple[str, ...]]:
    return [step.run for recipe in found.detection.recipes for step in recipe.steps]


@pytest.mark.parametrize(
    ("release", "place", "python"),
    [
        ("2.1.2", "/usr/local/Cellar/pipx/1.4.1/" + CHOOSER.format("3.12"), "3.11"),
        ("2.5.1", "~/.local/pipx/" + CHOOSER.format("3.13"), "3.12"),
        ("1.13.1", r"D:\anaconda3\envs\a\Lib\site-packages\poetry\installation\chooser.py", "3.10"),
    ],
)
def test_poetry_gets_a_python_that_the_release_has_wheels_for(
    release: str, place: str, python: str
) -> None:
    found = told("poetry_wheels", candidates("torch", release, place))
    assert runs(found)[0] == ("poetry", "env", "use", python)
    assert "torch/no-wheel-for-this-python" in found.contradicts


def test_a_release_after_the_last_one_for_intel_macs() -> None:
    text = "Sous osx 14.5,\n% python -V\nPython 3.11.7\n" + candidates(
        "torch", "2.3.1", "venv/lib/python3.11/site-packages/poetry/installation/chooser.py:74"
    )
    found = told("poetry_wheels", text)
    assert found.detection.id == "failure/no-wheel-for-intel-mac"
    assert "2.2.2 was the last one" in found.detection.title


def test_torch_and_tensorflow_both_without_a_wheel_is_an_intel_mac() -> None:
    place = "~/.pyenv/versions/3.11.4/lib/python3.11/site-packages/poetry/installation/chooser.py"
    text = candidates("tensorflow", "2.17.0", place) + candidates("torch", "2.5.0", place)
    assert [one.detection.id for one in explained("poetry_wheels", text)] == [
        "failure/no-wheel-for-intel-mac"
    ] * 2


def test_tags_of_python_on_apple_silicon() -> None:
    text = (
        "    | Unable to find installation candidates for torch (2.7.1)\n"
        "    |   - 24 wheel(s) were skipped as your project's environment does not support the "
        "identified abi tags\nRunning on M3 Macbook Pro."
    )
    assert runs(told("poetry_wheels", text))[0] == ("poetry", "env", "use", "3.12")


WIDE = """\
  x No solution found when resolving dependencies for split (markers: python_full_version == '3.9.*'):
  `-> Because the requested Python version (>=3.9) does not satisfy Python>=3.10,<4 and all versions of mydepen depend on Python>=3.10,<4, we can conclude that all versions of mydepen cannot be used.
"""  # noqa: E501
NEW = """\
  x No solution found when resolving dependencies for split (markers: python_full_version >= '3.14' and sys_platform
  | == 'win32'):
  `-> Because llama-cpp-python==0.3.19 has no wheels with a matching Python version tag (e.g., `cp313`) and only
      llama-cpp-python==0.3.19 is available, we can conclude that all versions of llama-cpp-python cannot be used.

      hint: While the active Python version is 3.13, the resolution failed for other Python versions supported by your
      project. Consider limiting your project's supported Python versions using `requires-python`.
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "bound"),
    [(WIDE, 'requires-python = ">=3.10,<4"'), (NEW, 'requires-python = ">=3.13,<3.14"')],
)
def test_a_project_that_allows_too_many_pythons(text: str, bound: str) -> None:
    snippet = told("uv_spans", text).detection.recipes[0].snippet
    assert snippet is not None
    assert snippet.after == bound


def test_the_tags_of_a_python_that_nobody_uses_are_no_finding_of_their_own() -> None:
    assert explained("wheels", NEW) == []


def test_a_lock_that_fails_for_another_system() -> None:
    text = (
        "C:\\proj> uv sync\n"
        "  x No solution found when resolving dependencies for split (markers: sys_platform == "
        "'linux'):\n  `-> Because a has no usable wheels\n\n      hint: The resolution failed for "
        "an environment that is not the current one, consider limiting the environments with "
        "`tool.uv.environments`.\n"
    )
    snippet = told("uv_spans", text).detection.recipes[0].snippet
    assert snippet is not None
    assert "sys_platform == 'win32'" in snippet.after


def test_hostile_words() -> None:
    hostile("poetry_wheels", ("Unable to find installation candidates for torch (", "for torch "))
    hostile("uv_spans", ("No solution found when resolving for split (", "requested Python ("))


def offered(requirement: str, versions: str, before: str) -> str:
    return (
        f"{before}\nERROR: Could not find a version that satisfies the requirement {requirement} "
        f"(from versions: {versions})\nERROR: No matching distribution found for {requirement}"
    )


OLD_PAGE = "Looking in links: https://download.pytorch.org/whl/torch_stable.html"
CU116 = "Looking in indexes: https://pypi.org/simple, https://download.pytorch.org/whl/cu116/"
CU124 = "pip install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124"
SOURCES = "0.1.2, 0.1.2.post1, 0.1.2.post2"


@pytest.mark.parametrize(
    ("text", "word", "python"),
    [
        (offered("torch===1.4.0", SOURCES, OLD_PAGE), "32 bits", "3.8"),
        (
            "C:\\Python\\Python37-32\\Scripts>pip install torch==1.5.1+cpu\n"
            + offered("torch==1.5.1+cpu", SOURCES, OLD_PAGE),
            "has 32 bits",
            "cpython-3.8-windows-x86_64",
        ),
        (offered("torch==1.13.1+cu116", "2.0.0, 2.3.0", CU116), "wheels are for", "3.10"),
        (offered("torch==2.6.0+cu124", "none", CU124), "wheels are for", "3.12"),
    ],
)
def test_a_build_that_its_own_index_does_not_offer(text: str, word: str, python: str) -> None:
    found = explained("index_answers", text)[0]
    assert word in found.detection.title
    assert runs(found)[0][3] == python
    assert not any("0.1.2" in one for step in installs(found) for one in step)


def test_an_index_that_was_not_asked_is_still_named() -> None:
    found = explained("index_answers", offered("torch==2.1.2+cu118", "2.1.1, 2.1.2", "pip"))[0]
    assert found.detection.id == "failure/build-on-another-index"
