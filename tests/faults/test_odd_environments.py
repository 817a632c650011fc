"""In whatever environment doctor is started.

One of its exit codes, 1 for findings alone, no trace, nothing left behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from tests.command import environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="environments of a shell")

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"
_SICK = (
    '{"facts": {"requires.torchvision.torch.met": {"state": "present", "value": false, '
    '"source": "x"}}, "logs": [{"source": "x", '
)
_SICK += '"lines": ["RuntimeError: operator torchvision::nms does not exist"]}]}'
_OURS = "fault of doctor itself"

COMMANDS: Mapping[str, tuple[tuple[str, ...], set[int]]] = {
    "check": (("check", "--no-canaries", "--python", sys.executable), {0, 4}),
    "from": (("check", "--from", "{sick}", "--format", "json"), {1}),
    "github": (("check", "--from", "{sick}", "--report", "github"), {1}),
    "diagnose": (("diagnose", "{log}"), {1}),
    "input": (("diagnose", "-"), {1, 4}),
    "snapshot": (("snapshot", "--no-canaries", "--python", sys.executable, "-o", "-"), {0}),
    "diff": (("diff", "{sick}", "{sick}"), {0}),
    "new-issue": (("new-issue", "{log}"), {0}),
    "list": (("list",), {0}),
    "explain": (("explain", "torch/no-kernel-image"), {0}),
    "config": (("config",), {0}),
    "lint": (("lint", "{matrices}"), {0}),
    "run": (("run", "--", "sh", "-c", "exit 5"), {5}),
    "version": (("--version",), {0}),
}
"""What is typed, and what it ends with where nothing stands in the way."""


class Odd(msgspec.Struct, frozen=True):
    """An environment.

    What a shell does before it becomes doctor, variables, which commands are tried, and whom it
    takes to make it.
    """

    before: str = ""
    env: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    commands: str = "check from"
    also: frozenset[int] = frozenset({3})
    root: bool = False


_OTHER = "exec setpriv --reuid=61234 --clear-groups"
_NO_ENTRY = frozenset({2, 3, 126, 127})
"""Where not even a shell may be started, or standard input read."""
ODD: Mapping[str, Odd] = {
    "6 open files": Odd("ulimit -n 6", commands="check from run", also=_NO_ENTRY),
    "10 open files": Odd("ulimit -n 10", commands="check snapshot"),
    "11 open files": Odd("ulimit -n 11", commands="check"),
    "13 open files": Odd("ulimit -n 13", commands="check diagnose"),
    "40 MB": Odd("ulimit -v 40000", commands="check list"),
    "80 MB": Odd("ulimit -v 80000", commands="check diff lint"),
    "200 MB": Odd("ulimit -v 200000", commands="check run"),
    "one process": Odd(
        f"ulimit -u 1; {_OTHER}", commands="check diagnose run", root=True, also=_NO_ENTRY
    ),
    "no file may grow": Odd("ulimit -f 0", commands="snapshot new-issue"),
    "a user without a name": Odd(
        _OTHER, {"HOME": None}, "check from diff", root=True, also=_NO_ENTRY
    ),
    "no home": Odd(env={"HOME": None}, commands="check"),
    "a home that is no folder": Odd(env={"HOME": "/dev/null"}, commands="snapshot"),
    "a relative home": Odd(env={"HOME": "x"}, commands="snapshot config"),
    "no current folder": Odd(
        'mkdir gone; cd gone; rmdir "$PWD"', commands="check from diagnose list config run"
    ),
    "a closed current folder": Odd(
        f"mkdir -m 700 closed; cd closed; {_OTHER}",
        commands="check list",
        root=True,
        also=_NO_ENTRY,
    ),
    "no input": Odd("exec <&-", commands="input run", also=frozenset({2})),
    "an empty input": Odd("exec </dev/null", commands="input"),
    "no output": Odd("exec >&-", commands="check from diff diagnose list", also=frozenset()),
    "no output for the version": Odd("exec >&-", commands="version"),
    "few processes": Odd(f"ulimit -u 8; {_OTHER}", commands="check run", root=True, also=_NO_ENTRY),
    "a group without a name": Odd(
        "exec setpriv --regid=61235 --clear-groups", commands="check from", root=True
    ),
    "no errors": Odd("exec 2>&-", commands="github run"),
    "no streams": Odd("exec <&- >&- 2>&-", commands="check input", also=_NO_ENTRY),
    "a full output": Odd("exec >/dev/full", commands="from explain version"),
    "full errors": Odd("exec 2>/dev/full", commands="github run"),
    "no PATH": Odd(env={"PATH": None}, commands="check"),
    "an empty PATH": Odd(env={"PATH": ""}, commands="snapshot"),
    "no folder for temporary files": Odd(env={"TMPDIR": "/nowhere"}, commands="check"),
    "a file for temporary files": Odd(env={"TMPDIR": "/dev/null"}, commands="check"),
    "no locale": Odd(env={"LC_ALL": "xx_XX", "PYTHONUTF8": "0"}, commands="list from"),
    "ASCII": Odd(env={"PYTHONIOENCODING": "ascii"}, commands="explain"),
    "a terminal of no width": Odd(env={"COLUMNS": "0", "TERM": ""}, commands="list"),
    "a width that is no number": Odd(env={"COLUMNS": "wide", "LINES": "-1"}, commands="from"),
    "a foreign PYTHONPATH": Odd(env={"PYTHONPATH": "{theirs}"}, commands="check diagnose"),
    "a name too long on PYTHONPATH": Odd(
        env={"PYTHONPATH": "/" + "x" * 300}, commands="check", also=frozenset()
    ),
    "warnings are errors": Odd(env={"PYTHONWARNINGS": "error"}, commands="check version"),
    "no docstrings": Odd(env={"PYTHONOPTIMIZE": "2"}, commands="config"),
    "an interpreter that asks": Odd(env={"PYTHONINSPECT": "1"}, commands="list"),
    "an environment that is gone": Odd(
        env={"VIRTUAL_ENV": "/nowhere", "CONDA_PREFIX": "/nowhere"}, commands="check"
    ),
    "a summary that cannot be written": Odd(
        env={"GITHUB_STEP_SUMMARY": "/nowhere/x"}, commands="github"
    ),
    "a variable that is no text": Odd(
        env={"ODD": "\udcff", "LD_LIBRARY_PATH": "\udcff"}, commands="snapshot from"
    ),
    "ended children are not kept": Odd("trap '' CHLD", commands="check", also=frozenset({3})),
    "no interrupts, no pipes": Odd("trap '' INT PIPE TERM", commands="check"),
    "files for nobody": Odd("umask 777", commands="check snapshot"),
    "completion of another shell": Odd(
        env={"_DOCTOR_COMPLETE": "complete_nosuch"}, commands="list", also=frozenset({1, 2, 3})
    ),
}


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Make what the commands read, where another user may read it too."""
    folder = tmp_path_factory.mktemp("material")
    for name, text in (("log", _LOG), ("sick", _SICK)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "msgspec.py").write_text(
        "raise RuntimeError('for another Python')\n", encoding="utf-8"
    )
    (folder / "matrices" / "issues").mkdir(parents=True)
    return {name: str(folder / name) for name in ("log", "sick", "theirs", "matrices")}


@pytest.mark.parametrize("name", ODD)
def test_it_ends_as_it_says(name: str, material: dict[str, str], tmp_path: Path) -> None:
    odd = ODD[name]
    if odd.root and os.geteuid() != 0:
        pytest.skip("becomes another user")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    env = environment({"TMPDIR": str(temporary)})
    for key, value in odd.env.items():
        env.pop(key, None)
        if value is not None:
            env[key] = value.replace("{theirs}", material["theirs"])
    for command in odd.commands.split():
        words, codes = COMMANDS[command]
        argv = [word.format(**material) if word.startswith("{") else word for word in words]
        start = f"{odd.before}" if "exec setpriv" in odd.before else f"{odd.before}\nexec"
        shell = ["/bin/sh", "-c", f'{start} "$@"', "sh", sys.executable, "-m", "doctor", *argv]
        folder = tmp_path / command
        folder.mkdir()
        ran = subprocess.run(
            shell,
            cwd=folder,
            env=env,
            input=_LOG.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        said = (ran.stdout + ran.stderr).decode("utf-8", "replace")
        assert ran.returncode in codes | odd.also, (command, ran.returncode, said[-2000:])
        assert "Traceback" not in said, (command, said[-2000:])
        assert _OURS not in said, (command, said[-2000:])
        assert said or ran.returncode != 3 or "2>" in odd.before, (
            command,
            "it ends without a word",
        )
        assert (
            ran.returncode != 1
            or 1 not in codes
            or "exec >&-" in odd.before
            or "torch" in said
            or "C compiler" in said
        )
        assert list(temporary.iterdir()) == [], command
