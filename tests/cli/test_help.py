"""`--help` teaches.

Every command has examples that it understands, and says what its arguments mean.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.command import environment, finished

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # typer's own imports announce click 9
    import typer

    from doctor.cli.app import app
    from doctor.cli.completion import Shell
    from doctor.cli.help import EXAMPLES
    from doctor.report import Format

_GROUP: Any = typer.main.get_command(app)
_ALL = [(name, line) for name, examples in EXAMPLES.items() for line, _ in examples]


def shown(*arguments: str, columns: int = 80, **env: str) -> str:
    """Return the help of a command, as it is shown where there is no terminal."""
    ran = finished(*arguments, "--help", env=environment({"COLUMNS": str(columns), **env}))
    assert ran.returncode == 0
    return ran.stdout


def test_every_command_has_examples_and_a_group() -> None:
    assert set(EXAMPLES) == set(_GROUP.commands)
    assert all(command.rich_help_panel for command in _GROUP.commands.values())


@pytest.mark.parametrize(("name", "line"), _ALL)
def test_an_example_is_understood(name: str, line: str) -> None:
    words = shlex.split(
        line.partition("doctor ")[2].rstrip(')"').partition(" > ")[0].partition(" | ")[0]
    )
    command = _GROUP.commands[words[0]]
    if hasattr(command, "commands"):
        # A group takes the name of a command next, or has a default one.
        named = words[1] if words[1] in command.commands else "check"
        command, words = command.commands[named], words[1 if words[1] == named else 0 :]
    values = command.make_context(words[0], [word for word in words[1:] if word != "|"]).params
    assert len(words) == 1 or any(value for value in values.values()) or words[0] == "run", (
        name,
        values,
    )


@pytest.mark.parametrize(("columns", "names"), [(80, [*EXAMPLES]), (120, ["check", "diagnose"])])
def test_nothing_is_wider_than_the_terminal_and_no_purpose_wraps(
    columns: int, names: list[str]
) -> None:
    for name in names:
        text = shown(name, columns=columns)
        assert max(map(len, text.splitlines())) <= columns
        for line, purpose in EXAMPLES[name]:
            assert re.search(rf"(?m)^ {re.escape(line)} +{re.escape(purpose)} *$", text), (
                name,
                line,
            )


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("diagnose", "Logs of the failure"),
        ("explain", "An id of a report"),
        ("lint", "A folder with"),
    ],
)
def test_arguments_say_what_they_mean(name: str, argument: str) -> None:
    assert argument in shown(name)


def test_what_stands_in_brackets_is_shown() -> None:
    assert "variables override [tool.doctor] in pyproject.toml" in " ".join(shown("config").split())


def test_a_pipe_gets_no_colours_and_a_poor_encoding_no_fault() -> None:
    assert "\x1b" not in shown("check")
    assert "Examples" in shown(PYTHONIOENCODING="ascii")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the commands `doctor` and `canary-doctor`, as an installation makes them."""
    for name in ("doctor", "canary-doctor"):
        path = tmp_path / name
        path.write_text(
            f"#!{sys.executable}\nimport sys\nfrom doctor.cli import main\nsys.exit(main())\n",
            encoding="utf-8",
        )
        path.chmod(0o755)
    return tmp_path


def completed(programs: Path, *words: str) -> list[str]:
    """Return what bash offers after these words, the last of which is being typed."""
    quoted = " ".join(map(shlex.quote, words))
    function = "_" + words[0].replace("-", "_") + "_completion"
    script = (
        f'eval "$(doctor completion bash)"; COMP_WORDS=({quoted}); '
        f"COMP_CWORD={len(words) - 1}; {function} {words[0]}"
    )
    env = environment({"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    ran = subprocess.run(
        ["bash", "-c", script + '; printf "%s\\n" "${COMPREPLY[@]}"'],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["doctor", "expl"], {"explain"}),
        (["canary-doctor", "explain", "torchvision/other-to"], {"torchvision/other-torch"}),
        (["doctor", "explain", "inductor"], {"inductor-compile"}),
        (["doctor", "check", "--only", "flash-attn-bu"], {"flash-attn-build"}),
        (["doctor", "check", "--report", ""], {f"{kind.value}=" for kind in Format}),
        (["doctor", "check", "--tier", ""], {"quick", "deep"}),
        (["doctor", "schema", "o"], {"observation"}),
    ],
)
def test_bash_completes(programs: Path, words: list[str], offered: set[str]) -> None:
    assert set(completed(programs, *words)) == offered


@pytest.mark.parametrize("shell", list(Shell))
def test_every_shell_gets_a_script_for_both_names(programs: Path, shell: Shell) -> None:
    env = environment({"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    ran = subprocess.run(
        [programs / "doctor", "completion", shell.value],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_DOCTOR_COMPLETE" in ran.stdout
    assert "_CANARY_DOCTOR_COMPLETE" in ran.stdout
    assert ran.stderr == ""


def test_another_tools_doctor_is_not_started_by_pressing_tab(tmp_path: Path) -> None:
    (tmp_path / "doctor").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "doctor").chmod(0o755)
    env = environment({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    ran = finished("completion", "bash", env=env)
    assert "-F _canary_doctor_completion canary-doctor" in ran.stdout
    assert "_DOCTOR_COMPLETE=complete_bash $1" not in ran.stdout.replace(
        "_CANARY_DOCTOR_COMPLETE", ""
    )
