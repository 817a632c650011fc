"""Where the driver's library of a container comes from, and of which release it is."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, present, unknown

_MOUNTS = "/proc/self/mountinfo"
_VERSION = Pattern(r"\.so\.(\d{2,4}(?:\.\d+)+)$")
_PTX = "libnvidia-ptxjitcompiler.so."


def version_of(target: str) -> tuple[str, str]:
    """Return the driver's version of a libcuda, and the file whose name tells it.

    That of libcuda itself may hold none; the compiler for PTX comes in the same package.
    """
    if own := _VERSION.search(target):
        return own[1], target
    folder = os.path.dirname(target)  # noqa: PTH120
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(_PTX))  # noqa: PTH208
    except OSError:
        names = []
    found = {match[1]: f"{folder}/{name}" for name in names if (match := _VERSION.search(name))}
    return next(iter(found.items())) if len(found) == 1 else ("", target)


def mounted(host: Host, target: str) -> Fact:
    """Say whether a library is a mount of its own, as container runtimes hand in the host's.

    Unknown where it lies in a folder that is mounted: that may be the host's or anybody's. The
    folders of the first level are no such mount (proc_pid_mountinfo(5)).
    """
    text = host.read(_MOUNTS, limit=1 << 20)
    if not text:
        return unknown("the mounts cannot be read", _MOUNTS)
    rows = (line.split(" ", 5) for line in text.splitlines())
    points = [str(host.at(row[4].replace("\\040", " "))) for row in rows if len(row) > 5]
    if target in points:
        return present(True, _MOUNTS)
    top = len(host.at("/").parts) + 1
    above = (point for point in points if len(Path(point).parts) > top)
    if any(target.startswith(f"{point}/") for point in above):
        return unknown("it lies in a folder that is mounted", _MOUNTS)
    return present(False, _MOUNTS)
