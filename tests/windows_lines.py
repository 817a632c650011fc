"""Read a command line as cmd.exe and PowerShell do, by their documented rules.

cmd.exe: `cmd /?` and "Parsing C++ command-line arguments" (CommandLineToArgvW). PowerShell:
about_Parsing and about_Quoting_Rules. No Windows runs here, so the rules are written out.
"""

from __future__ import annotations

import re


def by_cmd(text: str) -> list[str]:
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


def by_powershell(text: str) -> list[str]:
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
