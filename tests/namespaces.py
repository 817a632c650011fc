"""A namespace of processes of its own, for what must not be tried on the machine itself."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_COMMANDS = (("unshare", "-pf", "--mount-proc"), ("unshare", "-Urpf", "--mount-proc"))


@functools.cache
def apart() -> tuple[str, ...]:
    """Return the command that runs another one in a PID namespace; empty where none is allowed."""
    for command in _COMMANDS if sys.platform == "linux" and shutil.which("unshare") else ():
        if (
            subprocess.run(
                [*command, "true"], capture_output=True, check=False, timeout=20
            ).returncode
            == 0
        ):
            return command
    return ()


def run_apart(
    script: str,
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a shell script there; the shell is number 1."""
    argv = [*apart(), "sh", "-c", script, "sh", *arguments]
    return subprocess.run(
        argv,
        cwd=cwd,
        env=None if env is None else dict(env),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
