"""The one door to the outside: run a tool, read a file, find a command.

What the checks alone need (doctor.host.scratch, doctor.host.fork_server) is imported where it is
used: the static check does without.
"""

from __future__ import annotations

from doctor.host.access import Host
from doctor.host.process import Bounds, CompletedCommand, Termination, run
from doctor.host.reading import UnreadableFile, read_regular

__all__ = [
    "Bounds",
    "CompletedCommand",
    "Host",
    "Termination",
    "UnreadableFile",
    "read_regular",
    "run",
]
