"""Every command that is printed resolves, by the installer's own dry run on the package index."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from doctor.environments.answers import Resolution
from doctor.environments.installer import dry_run
from doctor.host import Host
from doctor.model.fixes import Command
from doctor.repair.request_plans import plan
from tests.requests.asking import host_with_uv, request_of
from tests.requests.wanted import WANTED, Wanted

pytestmark = pytest.mark.patient


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return host_with_uv(tmp_path_factory.mktemp("twenty"))


# What the tables say of all is tested without an index; six are resolved at every push.
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(one, id=one.arguments, marks=() if one.cheap else pytest.mark.dear)
        for one in WANTED
    ],
)
def test_each_answer_holds(wanted: Wanted, host: Host, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    found = plan(request_of(wanted.arguments, project=project), host=host)
    if found.fault:
        pytest.skip(found.fault)
    if wanted.rules is not None:
        assert found.exit_code == 1
        assert found.conflict is not None
        for rule, words in zip(found.conflict.rules, wanted.rules, strict=True):
            assert words in rule
        return
    assert found.exit_code == 0
    assert found.plan is not None
    assert found.plan.resolved
    commands = [step.command for step in found.plan.steps if step.command is not None]
    installs = [one.argv for one in commands if one.argv[:3] == ("uv", "pip", "install")]
    assert wanted.pins in shlex.join(installs[0])
    requirements = installs[0][installs[0].index("--python") + 2 :]
    target = ("--target", str(tmp_path / "new"), *_machine(wanted.arguments))
    again = Command(
        argv=("uv", "pip", "install", *target, *requirements), env=_mac(wanted.arguments)
    )
    answer = dry_run(again, host)
    assert isinstance(answer, Resolution), answer
    assert not list(project.iterdir())


def _machine(arguments: str) -> tuple[str, ...]:
    """Return the options of uv that stand for the machine of a request, by hand."""
    version = arguments.partition("--python-version ")[2].partition(" ")[0]
    options: tuple[str, ...] = ("--python-version", version) if version else ()
    for words, platform in (
        ("glibc=2.17", "x86_64-manylinux_2_17"),
        ("os=linux-aarch64", "aarch64-manylinux_2_28"),
        ("os=macos", "aarch64-apple-darwin"),
    ):
        if words in arguments:
            options += ("--python-platform", platform)
    return options


def _mac(arguments: str) -> dict[str, str]:
    return {"MACOSX_DEPLOYMENT_TARGET": "15.0"} if "macos" in arguments else {}
