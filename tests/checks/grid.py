"""Run one check script many times in one interpreter start: each time in a fork of its own, after something was broken there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.checks.trial import CHECKS, Document

_BOOT = """
import json, os, runpy, sys, traceback
plan = json.load(open(sys.argv[1]))
exec(plan["preload"])
for cell in plan["cells"]:
    child = os.fork()
    if not child:
        os.chdir(cell["folder"])
        os.environ.update(cell["settings"])
        log = os.open("log", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1), os.dup2(log, 2)
        code = 0
        try:
            exec(cell["breaking"], {"__name__": "breaking"})
            runpy.run_path(plan["script"], run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
            code = 1
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    ended = {"exit_code": os.waitstatus_to_exitcode(status), "cpu_seconds": used.ru_utime + used.ru_stime}
    json.dump(ended, open(os.path.join(cell["folder"], "ended.json"), "w"))
"""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is broken in one run: Python that goes first in the same process, and environment variables."""

    breaking: str = ""
    settings: Mapping[str, str] = {}


def run_grid(
    python: Path, script: str, folder: Path, cells: Mapping[str, Cell], *, preload: str = "", settings: Mapping[str, str]
) -> dict[str, Document]:
    """Return the document of each cell; `preload` is Python that runs once, `settings` are for all, before any."""
    plan = {"preload": preload, "script": str(CHECKS / script), "cells": []}
    homes = {name: folder / f"cell{number}" for number, name in enumerate(cells)}
    for name, home in homes.items():
        home.mkdir()
        own = {"CANARY_RESULT": str(home / "result.json"), **cells[name].settings}
        plan["cells"].append({"folder": str(home), "breaking": cells[name].breaking, "settings": own})  # type: ignore[attr-defined]
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    argv = [str(python), "-c", _BOOT, str(folder / "plan.json")]
    subprocess.run(argv, cwd=folder, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, timeout=900, check=True)
    return {name: _document(home) for name, home in homes.items()}


def _document(home: Path) -> Document:
    document: Document = json.loads((home / "result.json").read_text(encoding="utf-8"))
    document.update(json.loads((home / "ended.json").read_text(encoding="utf-8")))
    document["log"] = (home / "log").read_text(encoding="utf-8", errors="replace")
    return document
