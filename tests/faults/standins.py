"""Stand-ins for what goes wrong.

Check scripts, packages and interpreters that misbehave in one way each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from doctor.catalog.check_headers import read_check
from doctor.host import Host
from doctor.host.scratch import Scratch
from doctor.model.outcomes import Outcome
from doctor.model.watching import Watcher
from doctor.observe.runner import Batch, Line, Plan, units
from tests.command import alive
from tests.environments import interpreter

_HEADER = """\
# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "A stand-in"
# timeout = 30
{more}# ///
\"\"\"A stand-in.\"\"\"
import json, os, signal, subprocess, sys, time

def put(doing=None, **result):
    results = [{"device": "cpu", **result}] if result else []
    with open(os.environ["CANARY_RESULT"], "w") as file:
        json.dump({"contract": 1, "results": results, "doing": doing}, file)

def act(case="forward"):
    put({"device": "cpu", "case": case, "act": True}, verdict="running")

"""


def script(folder: Path, body: str, *, name: str = "stand_in", more: str = "") -> Path:
    """Write a check script that runs `body`.

    `act()` and `put(...)` write its result, `more` are further lines of its header.
    """
    path = folder / f"{name}.py"
    path.write_text(
        _HEADER.replace("{more}", textwrap.indent(more, "# ")) + textwrap.dedent(body),
        encoding="utf-8",
    )
    return path


def run_script(
    folder: Path,
    body: str,
    *,
    timeout: float = 20,
    budget: float | None = None,
    executable: str = sys.executable,
) -> Batch:
    """Run a stand-in script as doctor would, and return what it gave."""
    deadline = float("inf") if budget is None else time.monotonic() + budget
    plan = Plan(
        command=(executable,), target="interpreter", host=Host(), timeout=timeout, deadline=deadline
    )
    with Scratch() as scratch:
        line = Line(scratch, Watcher())
        line.add(units(read_check(script(folder, body)), plan))
        ((_, batch),) = line
    return batch


def outcome(folder: Path, body: str, **options: float) -> Outcome:
    """Run a stand-in script that has one outcome, and return it."""
    (only,) = run_script(folder, body, **options).outcomes  # type: ignore[arg-type]
    return only


def program(path: Path, body: str) -> Path:
    """Write a shell script that stands in for a tool."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def bare(folder: Path) -> Path:
    """Make an environment that holds nothing, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return interpreter(folder)


Package = Callable[[str], Path]


def package(python: Path, name: str, version: str, body: str) -> None:
    """Put a package into an environment, with the metadata that an installer would leave."""
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    (site / name).mkdir()
    (site / name / "__init__.py").write_text(textwrap.dedent(body), encoding="utf-8")
    (site / name / "version.py").write_text(
        f"__version__ = {version!r}\ncuda = '13.0'\nhip = None\n", encoding="utf-8"
    )
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    (info / "INSTALLER").write_text("uv\n", encoding="utf-8")
    names = [
        f"{name}/__init__.py",
        f"{name}/version.py",
        *(f"{info.name}/{part}" for part in ("METADATA", "INSTALLER", "RECORD")),
    ]
    (info / "RECORD").write_text("".join(f"{part},,\n" for part in names), encoding="utf-8")


def on_path(folder: Path) -> dict[str, str]:
    """Return the setting that makes the tools of a folder win."""
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def orphan(note: Path) -> str:
    """Return a body that leaves a process behind, in a session of its own and without a parent.

    `note` then holds its number.
    """
    return f"""\
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open({str(note) + ".part"!r}, "w") as file: file.write(str(os.getpid()))
        os.rename({str(note) + ".part"!r}, {str(note)!r})
        time.sleep(600)
    os._exit(0)
while not os.path.exists({str(note)!r}): time.sleep(0.01)
"""


def lives_on(pid: int) -> bool:
    """Say whether a process is still there after a while; if so, it is killed."""
    deadline = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    lives = alive(pid)
    if lives:
        os.kill(pid, signal.SIGKILL)
    return lives
