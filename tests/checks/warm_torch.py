"""Runs a script in a fork of an interpreter that has imported torch already.

An import of torch costs two seconds of a processor, most scripts a fraction of one. What an import
does itself, and what it reads, is tested in interpreters of their own. doctor runs checks alike
(`checks/fork_server.py`); this one also runs Python that breaks something first.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SERVER = """
import json, os, runpy, signal, sys
import torch

def perform(order):
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    for descriptor, path in ((0, os.devnull), (1, "log"), (2, "log")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
    sys.stdin, sys.argv = open(0, closefd=False), [order["script"]]
    signal.alarm(order["seconds"])
    runpy.run_path(order["script"], run_name="__main__")

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = 1
        try:
            perform(json.loads(line))
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def run(
    python: Path, script: Path, folder: Path, env: Mapping[str, str], seconds: int = 600
) -> tuple[int, str]:
    """Run a script in a folder with an environment; return the exit code, and what it printed."""
    server = _server(python)
    assert server.stdin is not None
    assert server.stdout is not None
    order = {"script": str(script), "folder": str(folder), "env": dict(env), "seconds": seconds}
    server.stdin.write(json.dumps(order) + "\n")
    server.stdin.flush()
    code = int(server.stdout.readline())
    return code, (folder / "log").read_text(encoding="utf-8", errors="replace")


@functools.lru_cache(maxsize=3)
def _server(python: Path) -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [str(python), "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    """End a server by the end of its input."""
    with contextlib.suppress(OSError):
        server.communicate(timeout=10)
