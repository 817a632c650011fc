"""Compute facts out of facts: pure, the same for a live host, a replay and a pasted text."""

from __future__ import annotations

from doctor.facts.derive.facts import derive

__all__ = ["derive"]
