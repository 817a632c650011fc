"""Outlives doctor: where doctor is killed, it ends what doctor had started and removes the temporary folder. Stands alone.

    python warden.py FOLDER MARK

Standard input tells: a byte before its end means that doctor has put everything away by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

_PASSES = 20
"""How often to look again: what is being killed may just have started something."""


def marked(mark: bytes) -> list[int]:
    """Return the processes that carry a mark which begins so."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"CANARY_RUN=" + mark + b"." in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def main(folder: str, mark: str) -> None:
    """Wait for doctor's end, and put away what it could not."""
    if sys.stdin.buffer.read(1):
        return
    for _ in range(_PASSES):
        alive = marked(mark.encode())
        for pid in alive:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        if not alive and not Path(folder).exists():
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
