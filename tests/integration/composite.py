"""Runs a composite action as a runner of GitHub Actions does.

Its steps as parsed, its variables and files, its commands as read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.command import environment

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_COMMAND = re.compile(r"\s*::(?P<name>[\w-]+)(?: (?P<properties>.*?))?::(?P<message>.*)")
_HEREDOC = re.compile(r"(?P<name>[^=<]+)<<(?P<mark>.+)")
_FILES = ("OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY")
_KNOWN = {"name", "id", "shell", "env", "run"}


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A line that the runner obeys."""

    name: str
    properties: str
    message: str


class Termination(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the action left."""

    code: int
    text: str
    outputs: dict[str, str]
    commands: tuple[Command, ...]
    summary: str
    exported: str


def act(
    action: Path,
    workspace: Path,
    temp: Path,
    inputs: Mapping[str, str],
    env: Mapping[str, str] | None = None,
) -> Termination:
    """Run every step of an action until one fails; `env` is what the job has set already."""
    parsed: dict[str, Any] = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
    unknown = set(inputs) - set(parsed["inputs"])
    assert not unknown, f"no such input: {unknown}"
    values = {
        f"inputs.{name}": inputs.get(name, str(told.get("default", "")))
        for name, told in parsed["inputs"].items()
    }
    files = {name: temp / f"file_{name.lower()}" for name in _FILES}
    for path in files.values():
        path.write_bytes(b"")
    code, text = 0, ""
    for step in parsed["runs"]["steps"]:
        assert set(step) <= _KNOWN, f"this runner does not know {set(step) - _KNOWN}"
        ran = _step(
            step,
            values,
            workspace,
            {**_variables(action, workspace, temp, files), **(env or {})},
            temp,
        )
        code, text = ran.returncode, text + ran.stdout.decode("utf-8", "replace")
        told = _outputs(files["OUTPUT"].read_text(encoding="utf-8"))
        values |= {
            f"steps.{step.get('id', '')}.outputs.{name}": value for name, value in told.items()
        }
        if code:
            break
    outputs = {name: _filled(told["value"], values) for name, told in parsed["outputs"].items()}
    exported = "".join(files[name].read_text(encoding="utf-8") for name in ("ENV", "PATH", "STATE"))
    summary = files["STEP_SUMMARY"].read_text(encoding="utf-8")
    return Termination(
        code=code,
        text=text,
        outputs=outputs,
        commands=obeyed(text),
        summary=summary,
        exported=exported,
    )


def obeyed(text: str) -> tuple[Command, ...]:
    """Return the lines of an output that a runner obeys.

    Groups, which only fold lines, are left out.
    """
    found = [match for line in text.splitlines() if (match := _COMMAND.fullmatch(line))]
    assert "##[" not in text, "a command in the old form"
    return tuple(
        Command(**match.groupdict(""))
        for match in found
        if match["name"] not in ("group", "endgroup")
    )


def _variables(
    action: Path, workspace: Path, temp: Path, files: Mapping[str, Path]
) -> dict[str, str]:
    given = {
        "GITHUB_ACTIONS": "true",
        "CI": "true",
        "GITHUB_ACTION_PATH": str(action),
        "GITHUB_WORKSPACE": str(workspace),
    }
    return {
        **given,
        "RUNNER_TEMP": str(temp),
        **{f"GITHUB_{name}": str(path) for name, path in files.items()},
    }


def _step(
    step: Mapping[str, Any],
    values: Mapping[str, str],
    cwd: Path,
    variables: Mapping[str, str],
    temp: Path,
) -> subprocess.CompletedProcess[bytes]:
    assert step["shell"] == "bash"
    script = temp / "step.sh"
    script.write_text(step["run"], encoding="utf-8", newline="\n")
    given = {name: _filled(str(value), values) for name, value in step.get("env", {}).items()}
    kept = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("GITHUB_", "PYTHON", "PIP_"))
    }
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in ("PIP_INDEX_URL", "PIP_CERT", "PIP_TRUSTED_HOST")
    }
    bash = shutil.which("bash") or "bash"
    command = [bash, "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    env = {**kept, **passed, **variables, **given}
    return subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: values.get(found[1], ""), text)


def _outputs(text: str) -> dict[str, str]:
    """Read what a step wrote to GITHUB_OUTPUT: `name=value` lines, and values between marks."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if heredoc := _HEREDOC.fullmatch(line):
            inside = []
            for each in lines:
                if each == heredoc["mark"]:
                    break
                inside.append(each)
            found[heredoc["name"]] = "\n".join(inside)
        elif line:
            name, _, value = line.partition("=")
            found[name] = value
    return found
