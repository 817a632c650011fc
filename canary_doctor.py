"""The start of the command line, under a name of its own: `doctor` may be anybody's module on PYTHONPATH."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # it is relative, and the current folder is gone
        return path


def main() -> NoReturn:
    """Find doctor beside this file, or where its environment has it, and not on PYTHONPATH, which is the patient's; then run it."""
    if not sys.flags.ignore_environment:
        here = _real(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib may not be the real one yet
        theirs = [_real(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        sys.path[:] = [
            entry for entry in sys.path if (real := _real(entry)) == here or real not in theirs
        ]
    from doctor.cli import main as start  # noqa: PLC0415

    start()


if __name__ == "__main__":
    main()
