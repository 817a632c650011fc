"""What a program fails on and its project asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.environments.environment import Environment, environment_at
from doctor.host import Host
from doctor.model.facts import present
from doctor.model.fixes import Command, Step
from doctor.observe.manifests.pins import pin_in
from doctor.repair.merging import uninstalled
from doctor.repair.prove import _goes_on
from doctor.repair.reading import _asked_by_project
from tests.repair.test_hiding import _package


@pytest.fixture
def house(tmp_path: Path) -> Environment:
    """Make an environment with another release of attrs than its project locks."""
    site = tmp_path / "site-packages"
    _package(site, "attrs", "19.3.0")
    _package(site, "kept", "1.0")
    real = environment_at(Path(sys.executable), Host())
    return Environment(
        root=tmp_path,
        python=real.python,
        folders=(site,),
        kind="venv",
        base=real.base,
        version=real.version,
    )


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("ModuleNotFoundError: No module named 'attrs'", "attrs asked ==26.1.0, here 19.3.0"),
        ("ModuleNotFoundError: No module named 'yaml.nodes'", "pyyaml asked ==6.0.2, here "),
        ("ModuleNotFoundError: No module named 'loose'", "loose asked >=2, here "),
        ("ImportError: cannot import name 'x' from 'kept' (/p)", ""),
        ("ModuleNotFoundError: No module named 'unknown'", ""),
    ],
)
def test_the_release_of_the_project_comes_first(house: Environment, text: str, asked: str) -> None:
    """What is absent comes in the release of the lock; what is as it asks is let be."""
    facts = {
        "project.locked": present({"attrs": "26.1.0", "pyyaml": "6.0.2", "kept": "1.0"}, ""),
        "project.ranges": present({"loose": ">=2"}, ""),
    }
    found = [
        f"{one.wanted} asked {one.specifier}, here {one.here}"
        for one in _asked_by_project(text, facts, house)
    ]
    assert found == ([asked] if asked else [])


def test_poetry_writes_versions_in_brackets() -> None:
    """The edit of a pin has to find the version in `torch (==2.13.0)`."""
    text = "jinja2 (==2.11.3)"
    pin = pin_in(text, 1, 0)
    assert pin is not None
    assert pin.span is not None
    assert text[pin.span.start : pin.span.end] == "==2.11.3"


def test_rounds_go_on_as_long_as_each_failure_is_new() -> None:
    """Five faults one behind the other take five rounds; four failures of one kind are enough."""
    assert _goes_on(range(7), range(7))
    assert not _goes_on(range(7), range(3))
    assert not _goes_on(range(12), range(12))


def test_names_of_an_uninstallation_are_read() -> None:
    """The options of pip and uv are none."""
    argv = ("uv", "pip", "uninstall", "--python", "/env/bin/python", "Small_Lite", "other")
    assert uninstalled(Step(command=Command(argv=argv))) == ("small-lite", "other")
    again = ("/env/bin/python", "-m", "pip", "uninstall", "-y", "small")
    assert uninstalled(Step(command=Command(argv=again))) == ("small",)
