"""Entry point of the command line.

It is not called `doctor`, because PYTHONPATH may hold another module of that name.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a relative path, and the current folder was deleted
        return path


def main() -> NoReturn:
    """Import doctor from this file's folder or environment, never from PYTHONPATH, and run it.

    PYTHONPATH is meant for the interpreter that is examined.
    """
    # An unset or empty PYTHONPATH adds nothing to sys.path: it must not be read as the current
    # folder.
    python_path = os.environ.get("PYTHONPATH", "")
    if python_path and not sys.flags.ignore_environment:
        here = _real(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - PYTHONPATH may shadow pathlib
        theirs = [_real(entry) for entry in python_path.split(os.pathsep)]
        sys.path[:] = [
            entry for entry in sys.path if (real := _real(entry)) == here or real not in theirs
        ]
    try:
        from doctor.cli import main as start  # noqa: PLC0415
    except OSError as error:
        # No file of doctor can be read. 1, Python's own code, would be a finding.
        os.write(2, f"doctor: this machine does not let doctor start: {error}\n".encode())
        os._exit(3)
    except KeyboardInterrupt:
        os.write(2, b"doctor: interrupted\n")
        os._exit(130)
    start()


if __name__ == "__main__":
    main()
