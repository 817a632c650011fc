"""What native libraries write to standard error while a check calls them.

XLA says there, and not in its exception, why it cannot use a GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds for the copy to end: a child of the library may hold the pipe open."""


@contextmanager
def stderr_copied(lines: list[str]) -> Iterator[None]:
    """Add to `lines` what is written to standard error meanwhile; it is passed on as well.

    A process of its own passes it on, so that the last words of a library that aborts are not lost.
    """
    tee = shutil.which("tee")
    if tee is None or os.name != "posix":
        yield
        return
    with tempfile.NamedTemporaryFile() as copy:
        sys.stderr.flush()
        before = os.dup(2)
        try:
            child = subprocess.Popen([tee, copy.name], stdin=subprocess.PIPE, stdout=before)
        except OSError:
            os.close(before)
            yield
            return
        assert child.stdin is not None
        os.dup2(child.stdin.fileno(), 2)
        child.stdin.close()
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            text = copy.read().decode("utf-8", "replace")
            lines += [line.strip() for line in text.splitlines() if line.strip()]
