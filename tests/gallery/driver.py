"""Run canaries in forks of one interpreter that has imported torch once, each after something was put into its dispatcher.

Reads a list of cells from standard input: {name, script, install: [function of kernels.py or gpus.py, arguments], settings}; each leaves
its document and its log in a folder of its own. Runs in the patient's interpreter.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

SECONDS = 120


def main() -> None:
    """Start every cell, a few at a time, and wait for all."""
    folder, at_once = Path(sys.argv[1]), int(sys.argv[2])
    cells = json.load(sys.stdin)
    sys.path.insert(0, str(Path(__file__).parent))
    import torch  # noqa: F401 - so that no fork has to

    running: set[int] = set()
    for index, cell in enumerate(cells):
        if len(running) >= at_once:
            running.discard(os.wait()[0])
        home = folder / str(index)
        home.mkdir()
        child = os.fork()
        if not child:
            perform(cell, home)
        running.add(child)
    while running:
        running.discard(os.wait()[0])


def perform(cell: dict[str, Any], home: Path) -> None:
    """Be the process of one cell, to its end."""
    signal.alarm(SECONDS)
    log = os.open(home / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(home)
    os.environ.update({"CANARY_RESULT": str(home / "result.json"), "CANARY_DEVICES": "cpu", "TMPDIR": str(home), **cell["settings"]})
    try:
        name, arguments = cell["install"]
        getattr(importlib.import_module("gpus" if name == "two_gpus" else "kernels"), name)(**arguments)
        runpy.run_path(cell["script"], run_name="__main__")
    except BaseException:  # noqa: BLE001 - whatever ends a cell is in its log, and ends nothing else
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


main()
