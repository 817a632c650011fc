"""cmd.exe and PowerShell read a line as the command that was meant, by their documented rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalog.loading import load
from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Command
from tests.windows_lines import by_cmd, by_powershell

_WORDS = st.text(
    st.sampled_from(list("abzAZ09 ._-=+:/\\<>|&^(),;!@#~[]{}'\"*?$`")), min_size=1, max_size=12
)
_ARGVS = st.lists(_WORDS, max_size=4)


@given(_ARGVS)
def test_cmd_passes_on_what_was_meant(words: list[str]) -> None:
    assert by_cmd(line(Command(argv=("program", *words)), Shell.CMD)) == ["program", *words]


@given(_ARGVS)
def test_powershell_passes_on_what_was_meant(words: list[str]) -> None:
    said = line(Command(argv=("program", *words)), Shell.POWERSHELL)
    assert by_powershell(said) == ["program", *words]


def test_powershell_runs_the_program_and_not_the_alias_of_its_name() -> None:
    assert line(Command(argv=("where", "cl")), Shell.POWERSHELL) == "where.exe cl"
    assert line(Command(argv=("curl", "-O", "x")), Shell.POWERSHELL) == "curl.exe -O x"
    assert line(Command(argv=("where", "cl")), Shell.CMD) == "where cl"
    assert line(Command(argv=("curl", "-O", "x"))) == "curl -O x"


@pytest.mark.parametrize("shell", [Shell.CMD, Shell.POWERSHELL])
def test_a_command_of_posix_gets_its_name_on_windows(shell: Shell) -> None:
    assert line(Command(argv=("mv", "venv", "venv-old")), shell) == "move venv venv-old"
    assert line(Command(argv=("ls", "-l", "x")), shell) == "ls -l x"
    assert line(Command(argv=("git", "mv", "a")), shell) == "git mv a"


@pytest.mark.parametrize("shell", [Shell.CMD, Shell.POWERSHELL])
def test_every_command_of_the_catalog_arrives(shell: Shell) -> None:
    argvs = {
        (*action.run, *action.install)
        for issue in load().issues.values()
        for recipe in issue.fixes
        for action in recipe.steps
        if action.run or action.install
    }
    read = by_cmd if shell is Shell.CMD else by_powershell
    assert len(argvs) > 500
    for argv in argvs:
        assert read(line(Command(argv=("program", *argv)), shell)) == ["program", *argv]


@given(st.text(st.sampled_from(list("abz 09<>|&^()\"'=;.\\")), max_size=12))
def test_cmd_sets_a_variable_to_any_value_and_runs_nothing_of_it(value: str) -> None:
    said = line(Command(argv=("program",), env={"X": value}), Shell.CMD)
    start = re.match(r'set "X=([^"]*)" && program$', said)
    if start is not None:
        assert start[1] == value
        return
    bare = re.match(r'set X=((?:\^[<>|&^()"]|[^<>|&^()"])*)&& program$', said)
    assert bare is not None, said
    assert re.sub(r"\^(.)", r"\1", bare[1]) == value
