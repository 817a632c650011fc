"""Names that no index has, and packages of which an installer saw nothing; lines of pip."""

from __future__ import annotations

import pytest

from tests.analyzers.packages import explained, hostile, installs, told

NONE = """
ERROR: Could not find a version that satisfies the requirement {0} (from versions: none)
ERROR: No matching distribution found for {0}
"""


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirement.txt", "requirements.pip", "dev-requirements.in"]
)
def test_a_list_without_its_option(name: str) -> None:
    found = told("index_answers", NONE.format(name))
    assert found.detection.title == f"{name} is a list of requirements: -r is missing before it"
    assert found.detection.recipes[0].steps[0].run[-2:] == ("-r", name)


def test_a_word_of_the_command() -> None:
    found = told("index_answers", NONE.format("install"))
    assert found.detection.title.startswith("The installer takes the word install")


def test_a_package_of_conda() -> None:
    found = told("index_answers", NONE.format("cudatoolkit"))
    assert "conda" in found.detection.title
    assert not any(installs(found))


def test_a_package_that_the_index_has() -> None:
    found = told("index_answers", NONE.format("numpy"))
    assert found.detection.title == "The installer saw no release of numpy, which PyPI has"
    newer_pip, again = found.detection.recipes[0].steps
    assert newer_pip.install == ("pip",)
    assert again.run[-3:] == ("--isolated", "install", "numpy")


def test_an_index_that_was_chosen_may_lack_it() -> None:
    chosen = "Looking in indexes: https://index.example/simple\n" + NONE.format("numpy").strip()
    (found,) = explained("index_answers", chosen)
    assert "called numpy" in found.detection.title


def test_hostile_names() -> None:
    hostile(
        "index_answers",
        (
            "ERROR: No matching distribution found for requirements.txt",
            "ERROR: Could not find a version that satisfies the requirement numpy (from versions: ",
        ),
    )
