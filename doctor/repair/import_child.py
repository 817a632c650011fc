"""Import modules and say what came of each; runs in the target's interpreter.

They are imported in one process, so that what they share is imported once, up to the first that
fails. That one and the rest get a process each: what fails may be two modules that quarrel.

It imports nothing of doctor. The first argument is the file for the answers, a line of JSON each.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable

_SECONDS = 90.0
_LOG = 16000
_ONE = "import sys; sys.path[:] = [p for p in sys.path if p]; __import__(sys.argv[1])"


def main() -> None:
    """Import what the command line names."""
    path, names = sys.argv[1], sys.argv[2:]
    sys.path[:] = [entry for entry in sys.path[1:] if entry]
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    with open(path, "a", encoding="utf-8") as out:  # noqa: PTH123 - pathlib stays unimported
        good = _together(names) if forks and len(names) > 1 else 0
        for name in names[:good]:
            out.write(json.dumps({"module": name, "ok": True}) + "\n")
        for name in names[good:]:
            answer = _forked(name) if forks else _started(name)
            out.write(json.dumps({"module": name, **answer}) + "\n")
            out.flush()


def _together(names: list[str]) -> int:
    """Return how many modules, from the first on, one fork imports before one fails."""
    data, _, status = _in_fork(_all_in_child, names)
    # A crash at the end may be of any of them.
    return 0 if os.WIFSIGNALED(status) else len(data)


def _all_in_child(names: list[str], write: int) -> None:
    """Import modules, write a byte for each, and end at the first that fails."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - pathlib stays unimported
        for number in (1, 2):
            os.dup2(nothing.fileno(), number)
    with contextlib.suppress(BaseException):
        for name in names:
            __import__(name)
            os.write(write, b".")
    os._exit(0)


def _forked(name: str) -> dict[str, object]:
    """Import a module in a fork, which may crash or hang."""
    data, late, status = _in_fork(_in_child, name)
    text = data.decode("utf-8", "replace")
    if text.endswith("\0ok"):
        return {"ok": True}
    log, failed, error = text.rpartition("\0error ")
    if failed:
        return {"ok": False, "error": error, "log": log}
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    why = f"it did not end in {_SECONDS:.0f} s" if late else f"it ended with signal {number}"
    return {"ok": False, "error": why, "log": text}


def _in_fork(work: Callable[..., None], given: object) -> tuple[bytes, bool, int]:
    """Return what a fork wrote, whether it took too long, and its status; all of it is ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        work(given, write)
    os.close(write)
    data, late = _read(read)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(read)
    return data, late, status


def _read(pipe: int) -> tuple[bytes, bool]:
    """Return what a child writes until its end, and whether it took too long."""
    data, deadline = b"", time.monotonic() + _SECONDS
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([pipe], [], [], left)
        chunk = os.read(pipe, 65536) if ready else b""
        if ready and not chunk:
            return data, False
        data = (data + chunk)[-_LOG:]
    return data, True


def _in_child(name: str, write: int) -> None:
    """Import a module, write how that ended, and end at once."""
    for number in (1, 2):
        os.dup2(write, number)
    try:
        __import__(name)
        end = "\0ok"
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, SystemExit too
        traceback.print_exc()
        end = "\0error " + f"{type(error).__name__}: {error}".replace("\0", "")[:500]
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os.write(write, end.encode("utf-8", "replace"))
    os._exit(0)


def _started(name: str) -> dict[str, object]:
    """Import a module in an interpreter of its own, where nothing can be forked."""
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _ONE, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": f"it did not end in {_SECONDS:.0f} s", "log": ""}
    if ran.returncode == 0:
        return {"ok": True}
    text = ran.stdout.decode("utf-8", "replace")[-_LOG:]
    last = text.strip().splitlines()[-1:] or [f"it ended with code {ran.returncode}"]
    return {"ok": False, "error": last[0], "log": text}


if __name__ == "__main__":
    main()
