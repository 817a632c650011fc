"""The command line and the Python API give the same document for every option."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

import doctor
from doctor.cli.app import app
from doctor.pipeline import check as checking
from doctor.pipeline import diagnose as diagnosing
from doctor.pipeline.requests import CheckRequest
from tests import command, toy

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"
_FACTS = {
    "torch.version": "2.13.0",
    "python.executable": "/venv/bin/python",
    "requires.torchvision.torch.met": False,
    "requires.torchvision.torch.specifier": "==2.4.1",
    "requires.torchvision.torch.installed": "2.13.0",
}
_IGNORE = """
[[tool.doctor.ignore]]
id = "torchvision/*"
reason = "it is not imported here"
until = 2999-01-31
"""
_ISSUE = """
title: A toy is broken
severity: error
cause: The toy is broken.
signatures:
  - pattern: the toy is broken
references:
  - url: https://example.org/toy
    what: the toy
    opened: 2026-11-22
verified: {how: thread, checked: 2026-11-22}
examples:
  - name: the line
    expect: match
    source: https://example.org/toy
    log: the toy is broken
"""

Arguments = dict[str, Any]
Case = tuple[tuple[str, ...], Arguments]
"""Words of the command line, and the arguments of the API that mean the same."""

_SAVED: Case = (("--from", "seen.json"), {"from_": "seen.json"})
_LIVE: Case = (
    ("--python", sys.executable, "--only", "flash-attn-build"),
    {"python": sys.executable, "only": "flash-attn-build"},
)

CHECK: Mapping[str, tuple[Case, Case]] = {
    "python": (
        (("--no-canaries",), {"no_canaries": True}),
        (("--python", sys.executable), {"python": sys.executable}),
    ),
    "project": (_SAVED, (("--project", "project"), {"project": "project", "ignores": "project"})),
    "features": (_LIVE, (("--features", "cuda,cudnn"), {"features": "cuda,cudnn"})),
    "from_": (((), {}), _SAVED),
    "assume": (
        _SAVED,
        (("--assume", "gpu=sm_90,driver=535.104"), {"assume": "gpu=sm_90,driver=535.104"}),
    ),
    "log": (_SAVED, (("--log", "build.log"), {"log": "build.log"})),
    "only": (_SAVED, (("--only", "candle/*"), {"only": "candle/*"})),
    "skip": (_SAVED, (("--skip", "torchvision/*"), {"skip": ["torchvision/*"]})),
    "tier": (_LIVE, (("--tier", "deep"), {"tier": "deep"})),
    "no_canaries": (
        (
            ("--python", sys.executable, "--only", "flash-attn-build"),
            {"python": sys.executable, "only": "flash-attn-build"},
        ),
        (("--no-canaries",), {"no_canaries": True}),
    ),
    "fresh": (_LIVE, (("--fresh",), {"fresh": True})),
    "changed": (_LIVE, (("--changed",), {"changed": True})),
    "flash_attn": (_LIVE, (("--flash-attn", "project"), {"flash_attn": "project"})),
    "network": (_LIVE, (("--network",), {"network": True})),
    "timeout": (_LIVE, (("--timeout", "30"), {"timeout": 30})),
    "budget": (_LIVE, (("--budget", "100"), {"budget": 100.0})),
    "expect": (_SAVED, (("--expect", "cuda", "--expect", "mps"), {"expect": ("cuda", "mps")})),
    "fail_on": (_SAVED, (("--fail-on", "note"), {"fail_on": "note"})),
    "baseline": (_SAVED, (("--baseline", "earlier.json"), {"baseline": "earlier.json"})),
    "matrices": (_SAVED, (("--matrices", "ours"), {"matrices": "ours"})),
}
"""For each option of `check`: what both runs have in common, and the option."""

_DIAGNOSED: Case = (("build.log",), {"logs": ["build.log"]})
DIAGNOSE: Mapping[str, tuple[Case, Case]] = {
    "logs": (((), {}), (("build.log", "other.log"), {"logs": ["build.log", "other.log"]})),
    "env": (_DIAGNOSED, (("--env", "seen.json"), {"env": "seen.json"})),
    "_project": (_DIAGNOSED, (("--project", "project"), {"ignores": "project"})),
    "fail_on": (_DIAGNOSED, (("--fail-on", "note"), {"fail_on": "note"})),
    "baseline": (_DIAGNOSED, (("--baseline", "earlier.json"), {"baseline": "earlier.json"})),
    "matrices": (_DIAGNOSED, (("--matrices", "ours"), {"matrices": "ours"})),
}

OUTPUT: Mapping[str, tuple[str, ...]] = {
    "format_": ("--format", "json"),
    "report": ("--report", "json=beside.json", "--report", "html=beside.html"),
    "quiet": ("--quiet",),
    "verbose": ("--verbose",),
    "debug": ("--debug",),
}
"""Options that only say where a report goes and how it looks: no document depends on them."""

_VOLATILE = ("host.memory_available_bytes", "host.tmp_free_bytes")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the options name, as the current one."""
    for name in set(os.environ) - set(command.environment()):
        monkeypatch.delenv(name)
    for name, value in command.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.json").write_bytes(msgspec.json.encode(toy.seen(_FACTS)))
    (tmp_path / "build.log").write_text(_LOG, encoding="utf-8")
    (tmp_path / "other.log").write_text("the toy is broken\n", encoding="utf-8")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text(_IGNORE, encoding="utf-8")
    earlier = doctor.check(from_="seen.json", log="build.log")
    (tmp_path / "earlier.json").write_text(doctor.to_json(earlier), encoding="utf-8")
    issues = tmp_path / "ours" / "issues" / "toy"
    issues.mkdir(parents=True)
    (issues / "broken.yaml").write_text(_ISSUE, encoding="utf-8")
    return tmp_path


def document(text: str) -> dict[str, Any]:
    """Return a JSON report without what differs between any two runs."""
    told: dict[str, Any] = json.loads(text)
    told.pop("taken")
    for name in _VOLATILE:
        told["facts"].pop(name, None)
    for outcome in told["outcomes"]:
        outcome.pop("seconds")
    return told


def by_command(name: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command in this process, and return what it prints."""
    app([name, "--format", "json", *words], standalone_mode=False)
    return capsys.readouterr().out


def absolute(request: Any) -> Any:
    """Return a request with the path of its project written out."""
    if not isinstance(request, CheckRequest):
        return request
    project = request.observe.project.resolve()
    return msgspec.structs.replace(
        request, observe=msgspec.structs.replace(request.observe, project=project)
    )


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every request that reaches the pipeline."""
    seen: list[Any] = []

    def recording(module: Any, name: str) -> Callable[..., Any]:
        real = getattr(module, name)

        def run(request: Any, *more: Any, **named: Any) -> Any:
            seen.append(absolute(request))
            return real(request, *more, **named)

        return run

    monkeypatch.setattr(checking, "check", recording(checking, "check"))
    monkeypatch.setattr(diagnosing, "diagnose", recording(diagnosing, "diagnose"))
    return seen


def options(name: str) -> set[str]:
    """Return the parameters of a command, help aside."""
    group: Any = typer.main.get_command(app)
    return {str(option.name) for option in group.commands[name].params}


@pytest.mark.parametrize(("name", "cases"), [("check", CHECK), ("diagnose", DIAGNOSE)])
def test_every_option_has_a_case(name: str, cases: Mapping[str, object]) -> None:
    # The argument of `check` stands for --python or --project.
    assert options(name) - {"target"} == {*cases, *OUTPUT}


def same(
    name: str, case: tuple[Case, Case], requests: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Run a command and the API without and with an option, and compare them."""
    (common, arguments), (words, more) = case
    calls: dict[str, Callable[..., doctor.Report]] = {"check": doctor.check, "diagnose": diagnosed}
    printed = document(by_command(name, (*common, *words), capsys))
    report = calls[name](**{**arguments, **more})
    assert document(doctor.to_json(report)) == printed
    by_words, by_arguments = requests
    assert by_words == by_arguments
    # An option without an effect on the request would make the comparison an empty one.
    if common or name == "check":
        by_command(name, common, capsys)
        assert requests[-1] != by_words


def diagnosed(logs: list[str], **more: Any) -> doctor.Report:
    return doctor.diagnose(*logs, **more)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("option", CHECK)
def test_check_gives_the_same_document(
    option: str, requests: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    same("check", CHECK[option], requests, capsys)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("option", DIAGNOSE)
def test_diagnose_gives_the_same_document(
    option: str, requests: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    same("diagnose", DIAGNOSE[option], requests, capsys)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("option", OUTPUT)
def test_an_option_of_the_output_changes_no_document(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = by_command("check", (*_SAVED[0], *OUTPUT[option]), capsys)
    assert document(printed) == document(doctor.to_json(doctor.check(from_="seen.json")))
    if option == "report":
        assert Path("beside.json").read_text(encoding="utf-8") == printed
