"""Find a command on a PATH.

`shutil` is left to Windows: it imports three libraries of compression, which takes longer than a
static check can spare.
"""

from __future__ import annotations

import os

OWN_UV = "DOCTOR_UV"
"""The variable that names a uv to use where none is on the PATH."""


def which(command: str, search: str | None = None) -> str | None:
    """Return the path of a command as `shutil.which` does, by the environment's PATH or another."""
    if os.name == "nt":
        import shutil

        return shutil.which(command, path=search)
    if os.path.dirname(command):  # noqa: PTH120 - "./x" has one, and none as a Path
        return command if _is_command(command) else None
    path = os.environ.get("PATH", os.defpath) if search is None else search
    for folder in path.split(os.pathsep) if path else ():
        place = os.path.join(folder, command)  # noqa: PTH118 - a relative entry stays as it is
        if _is_command(place):
            return place
    return None


def _is_command(place: str) -> bool:
    try:
        return os.access(place, os.F_OK | os.X_OK) and not os.path.isdir(place)  # noqa: PTH112 - as above
    except ValueError:  # a null byte
        return False
