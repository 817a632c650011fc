"""Verdicts of checks on the processor, kept for as long as nothing of their environment changes."""

from __future__ import annotations

from doctor.cached.environment import fingerprint
from doctor.cached.store import Store, folder

__all__ = ["Store", "fingerprint", "folder"]
