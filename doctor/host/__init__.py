"""The one door to the outside: run a tool, read a file, find a command."""

from __future__ import annotations

from doctor.host.door import Host, regular_bytes
from doctor.host.process import Ended, Ran, run

__all__ = ["Ended", "Host", "Ran", "regular_bytes", "run"]
