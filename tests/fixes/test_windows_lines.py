"""cmd.exe and PowerShell read a line as the command that was meant, by their documented rules.

cmd.exe: `cmd /?` and "Parsing C++ command-line arguments" (CommandLineToArgvW). PowerShell:
about_Parsing and about_Quoting_Rules. No Windows runs here, so the rules are written out below.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalog.loading import load
from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Command

_WORDS = st.text(
    st.sampled_from(list("abzAZ09 ._-=+:/\\<>|&^(),;!@#~[]{}'\"*?$`")), min_size=1, max_size=12
)
_ARGVS = st.lists(_WORDS, max_size=4)


def _by_cmd(text: str) -> list[str]:
    """Return the arguments that a program receives from cmd.exe.

    Fail where cmd.exe would act itself.
    """
    passed, inside, at = "", False, 0
    while at < len(text):
        char = text[at]
        if char == '"':
            inside = not inside
        elif char == "^" and not inside:
            at += 1
            char = text[at]
        else:
            assert inside or char not in "<>|&", f"cmd.exe acts on {char!r} in {text!r}"
        passed += char
        at += 1
    return _by_runtime(passed)


def _by_runtime(text: str) -> list[str]:
    """Split a command line as the C runtime of Microsoft does."""
    words: list[str] = []
    word, started, inside, at = "", False, False, 0
    while at < len(text):
        slashes = re.compile(r"\\*").match(text, at)
        assert slashes
        count = len(slashes[0])
        at += count
        if text[at : at + 1] == '"':
            word += "\\" * (count // 2)
            started = True
            if count % 2:
                word += '"'
            else:
                inside = not inside
            at += 1
            continue
        word += "\\" * count
        started = started or bool(count)
        if at >= len(text):
            break
        if text[at] in " \t" and not inside:
            words, word, started = ([*words, word] if started else words), "", False
        else:
            word, started = word + text[at], True
        at += 1
    return [*words, word] if started else words


def _by_powershell(text: str) -> list[str]:
    """Return the arguments of a line in argument mode.

    What follows --% goes to the C runtime as it stands.
    """
    head, stopped, rest = text.partition(" --% ")
    words = [
        found[1].replace("''", "'") if found[1] is not None else found[0]
        for found in re.finditer(r"'((?:[^']|'')*)'|[^\s']+", head.removeprefix("& "))
    ]
    bare = [found[0] for found in re.finditer(r"'(?:[^']|'')*'|[^\s']+", head.removeprefix("& "))]
    for word in bare:
        assert word.startswith("'") or not re.search(r"[<>|&;(){}$`@,#\"*?\[\]~!]", word), word
        assert word.startswith("'") or not re.match(r"-[^'\s]*[.:]", word), word
    words = ["" if word == '""' else word for word in words]
    return [*words, *_by_runtime(rest)] if stopped else words


@given(_ARGVS)
def test_cmd_passes_on_what_was_meant(words: list[str]) -> None:
    assert _by_cmd(line(Command(argv=("program", *words)), Shell.CMD)) == ["program", *words]


@given(_ARGVS)
def test_powershell_passes_on_what_was_meant(words: list[str]) -> None:
    said = line(Command(argv=("program", *words)), Shell.POWERSHELL)
    assert _by_powershell(said) == ["program", *words]


@pytest.mark.parametrize("shell", [Shell.CMD, Shell.POWERSHELL])
def test_every_command_of_the_catalog_arrives(shell: Shell) -> None:
    argvs = {
        (*action.run, *action.install)
        for issue in load().issues.values()
        for recipe in issue.fixes
        for action in recipe.steps
        if action.run or action.install
    }
    read = _by_cmd if shell is Shell.CMD else _by_powershell
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
