"""Verdicts of checks on the processor, kept for as long as nothing of their environment changes."""

from __future__ import annotations

from doctor.observe.cache.environment import fingerprint
from doctor.observe.cache.store import Store

__all__ = ["Store", "fingerprint"]
