"""Run check scripts many times in one interpreter start.

Each time in a fork of its own, after something was broken there.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.checks.trial import CHECKS, Document

_BOOT = """
import json, os, runpy, signal, sys, traceback
plan = json.load(open(sys.argv[1]))
exec(plan["preload"])

def perform(cell):
    os.chdir(cell["folder"])
    os.environ.update(cell["settings"])
    log = os.open("log", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(log, 1), os.dup2(log, 2)
    signal.alarm(plan["seconds"])
    code = 0
    try:
        exec(cell["breaking"], {"__name__": "breaking"})
        runpy.run_path(cell["script"], run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)

def bury():
    child, status, used = os.wait3(0)
    ended = {"exit_code": os.waitstatus_to_exitcode(status), "cpu_seconds": used.ru_utime + used.ru_stime}
    json.dump(ended, open(os.path.join(running.pop(child)["folder"], "ended.json"), "w"))
    done.append(child)
    if plan["progress"]:
        print(f"{len(done)} of {len(plan['cells'])} runs", end="\\r", file=sys.stderr, flush=True)

running, done = {}, []
for cell in plan["cells"]:
    if len(running) >= plan["at_once"]:
        bury()
    child = os.fork()
    if not child:
        perform(cell)
    running[child] = cell
while running:
    bury()
"""  # noqa: E501


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is broken before one run of a script.

    Python that goes first in the same process, and environment variables.
    """

    script: str
    breaking: str = ""
    settings: Mapping[str, str] = {}


def run_grid(
    python: Path,
    folder: Path,
    cells: Mapping[str, Cell],
    *,
    preload: str = "",
    settings: Mapping[str, str] | None = None,
    seconds: int = 600,
    at_once: int = 1,
    progress: bool = False,
) -> dict[str, Document]:
    """Return the document of each cell.

    `preload` is Python that runs once, `settings` are for all, `seconds` bound each cell. With
    `progress`, standard error counts the runs.
    """
    homes = {name: folder / f"cell{number}" for number, name in enumerate(cells)}
    orders = [_order(cell, homes[name]) for name, cell in cells.items()]
    plan = {
        "preload": preload,
        "cells": orders,
        "seconds": seconds,
        "at_once": at_once,
        "progress": progress,
    }
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    argv = [str(python), "-c", _BOOT, str(folder / "plan.json")]
    subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, **(settings or {})},
        stdin=subprocess.DEVNULL,
        timeout=900,
        check=True,
    )
    return {name: _document(home) for name, home in homes.items()}


def _order(cell: Cell, home: Path) -> dict[str, object]:
    home.mkdir()
    settings = {"CANARY_RESULT": str(home / "result.json"), **cell.settings}
    return {
        "script": str(CHECKS / cell.script),
        "folder": str(home),
        "breaking": cell.breaking,
        "settings": settings,
    }


def _document(home: Path) -> Document:
    result = home / "result.json"
    document: Document = (
        json.loads(result.read_text(encoding="utf-8"))
        if result.exists()
        else {"doing": "nothing was written", "results": []}
    )
    document.update(json.loads((home / "ended.json").read_text(encoding="utf-8")))
    document["log"] = (home / "log").read_text(encoding="utf-8", errors="replace")
    return document
