"""The action, run step by step as a runner would: on a healthy, a broken and a hostile job."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor import __version__
from tests.conftest import missing
from tests.fingerprint import changes, fingerprint
from tests.integration.composite import Termination, act
from tests.promises.sources import ROOT

pytestmark = [
    pytest.mark.patient,  # the step installs doctor from the package index
    pytest.mark.skipif(
        shutil.which("bash") is None, reason="the steps of the action are run by bash"
    ),
]

HEALTHY = f"--from '{ROOT / 'fixtures' / 'observations' / 'healthy-without-gpu.json'}'"
SICK = f"--from '{ROOT / 'doctor' / 'recordings' / 'demo.json'}'"
HOSTILE = (
    "; rm -rf .",
    "`touch touched` && touch touched | touch touched",
    "*",
    "--bad",
    "x\n::set-output name=exit-code::0",
    "'--x\n::warning::pwned'",
    "${{ github.token }}",
    "exit-code=0\nexit-code<<X\n0\nX",
    "$(touch touched)",
    "'x\n::error title=pwned::boo'",
    "##[error]pwned",
    "né 漢字 🩺",
)
Act = Callable[..., Termination]


@pytest.fixture(scope="module")
def temp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The runner's temporary folder: one for the whole job, in which doctor is installed once."""
    folder = tmp_path_factory.mktemp("runner")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The workspace of a job, with a file in it."""
    folder = tmp_path / "work space"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    return folder


@pytest.fixture
def run(temp: Path, workspace: Path) -> Act:
    """Return a function that runs the action with some inputs."""

    def act_with(env: dict[str, str] | None = None, **inputs: str) -> Termination:
        ended = act(
            ROOT,
            workspace,
            temp,
            {name.replace("_", "-"): value for name, value in inputs.items()},
            env,
        )
        failed = "own environment could not be made" in ended.text and "version" not in inputs
        return missing(ended.text) if failed else ended

    return act_with


def test_a_healthy_job_goes_on(run: Act) -> None:
    ended = run(args=HEALTHY)
    assert (ended.code, ended.outputs["exit-code"], ended.outputs["errors"]) == (0, "0", "0")
    report = json.loads(Path(ended.outputs["json"]).read_text(encoding="utf-8"))
    counted = [str(report["summary"][severity]) for severity in ("error", "warning", "note")]
    assert [ended.outputs[name] for name in ("errors", "warnings", "notes")] == counted
    assert (
        json.loads(Path(ended.outputs["sarif"]).read_text(encoding="utf-8"))["version"] == "2.1.0"
    )
    assert not [command for command in ended.commands if command.name == "error"]
    assert "doctor" in ended.summary


def test_a_broken_job_stops_and_its_page_says_why(run: Act) -> None:
    ended = run(args=SICK)
    report = json.loads(Path(ended.outputs["json"]).read_text(encoding="utf-8"))
    errors = [found for found in report["findings"] if found["severity"] == "error"]
    assert (ended.code, ended.outputs["exit-code"], ended.outputs["errors"]) == (
        1,
        "1",
        str(report["summary"]["error"]),
    )
    # A consequence is folded below its cause and counts with it.
    assert 0 < report["summary"]["error"] <= len(errors)
    annotated = [command.properties for command in ended.commands if command.name == "error"]
    assert all(any(found["id"] in properties for properties in annotated) for found in errors)
    assert errors[0]["title"] in ended.summary
    assert ended.exported == ""


def test_the_inputs_are_what_the_flags_are(run: Act, workspace: Path) -> None:
    ended = run(args=f"{SICK} --skip '*/*'", expect="cuda, mps", json="out a.json", sarif="b.sarif")
    found = json.loads((workspace / "out a.json").read_text(encoding="utf-8"))["findings"]
    assert (
        {"expect/cuda", "expect/mps"}
        >= {each["id"] for each in found if each["id"].startswith("expect/")}
        != set()
    )
    assert (ended.outputs["json"], ended.outputs["sarif"]) == (
        str(workspace / "out a.json"),
        str(workspace / "b.sarif"),
    )
    assert (
        run(args=HEALTHY, fail_on="note", assume="gpu=sm_90,driver=470.57").outputs["errors"] != "0"
    )


def test_the_environment_of_the_job_is_examined_and_not_touched(
    run: Act, bare_python: Path, temp: Path
) -> None:
    before = fingerprint(bare_python.parents[1])
    shutil.rmtree(temp / "canary-doctor", ignore_errors=True)
    astray = {
        "VIRTUAL_ENV": str(bare_python.parents[1]),
        "PIP_TARGET": str(bare_python.parents[1]),
        "PIP_REQUIRE_HASHES": "1",
    }
    ended = run(env={**astray, "PYTHONPATH": "/nowhere", "PYTHONHOME": ""}, args="--no-canaries")
    assert (ended.code, ended.outputs["exit-code"]) == (4, "4")
    report = json.loads(Path(ended.outputs["json"]).read_text(encoding="utf-8"))
    assert report["facts"]["python.version"]["state"] == "present"
    assert "VIRTUAL_ENV" in ended.text
    assert changes(before, fingerprint(bare_python.parents[1])) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_hostile_in_the_arguments_is_a_mistake_and_nothing_more(
    text: str, run: Act, workspace: Path
) -> None:
    _is_a_mistake(run(args=f"--python /nowhere {text}"), workspace)


@pytest.mark.parametrize("text", HOSTILE[-4:])
@pytest.mark.parametrize(
    "name", ["python", "project", "tier", "fail-on", "expect", "assume", "baseline", "version"]
)
def test_what_is_hostile_in_an_input_is_a_mistake_and_nothing_more(
    name: str, text: str, run: Act, workspace: Path
) -> None:
    _is_a_mistake(run(**{"args": "--no-canaries --python /nowhere", name: text}), workspace)


def _is_a_mistake(ended: Termination, workspace: Path) -> None:
    assert ended.code in (2, 3)
    assert ended.outputs["exit-code"] == str(ended.code)
    assert {command.name for command in ended.commands} <= {"error"}
    assert not [command for command in ended.commands if "pwned" in command.properties]
    assert ended.outputs["json"] == ended.outputs["errors"] == ""
    assert [path.name for path in workspace.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    "name", ["$(touch touched)", "x\n::error title=pwned::boo", "a<<X\nb\nX", "né 漢字 🩺", "-h"]
)
def test_a_report_may_be_called_anything(name: str, run: Act, workspace: Path) -> None:
    ended = run(args=HEALTHY, json=name)
    assert (ended.code, ended.outputs["json"], ended.outputs["exit-code"]) == (
        0,
        str(workspace / name),
        "0",
    )
    assert {path.name for path in workspace.iterdir()} == {"mine.txt", name}
    assert {command.name for command in ended.commands} <= {"notice", "warning"}


@pytest.mark.dear
def test_a_release_is_installed_where_one_is_named(run: Act, wheel: Path) -> None:
    ended = run(env={"PIP_FIND_LINKS": str(wheel.parent)}, args=HEALTHY, version=__version__)
    assert (ended.code, ended.outputs["errors"]) == (0, "0")


def test_a_release_that_is_not_there_is_a_fault_and_says_so(run: Act) -> None:
    ended = run(version="0.0.0.dev1")
    assert (ended.code, ended.outputs["exit-code"], ended.outputs["json"]) == (3, "3", "")
    assert ["pip could not install it" in command.message for command in ended.commands] == [True]


@pytest.mark.dear
def test_an_older_report_is_not_taken_for_this_one(run: Act, workspace: Path) -> None:
    (workspace / "old.json").write_text('{"summary": {"error": 9}}', encoding="utf-8")
    ended = run(args="--no-such-option", json="old.json")
    assert (ended.code, ended.outputs["json"], ended.outputs["errors"]) == (2, "", "")


def test_quotes_that_nothing_closes_are_told(run: Act) -> None:
    ended = run(args="--only 'torch")
    assert ended.code == 2
    assert [command.name for command in ended.commands] == ["error"]


@pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")
def test_a_runner_without_a_python_is_told_what_brings_one(run: Act, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tools / "python3").chmod(0o755)
    ended = run(env={"PATH": str(tools)})
    assert (ended.code, ended.outputs["exit-code"]) == (3, "3")
    assert "actions/setup-python" in ended.commands[0].message
