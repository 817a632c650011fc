"""From the recipes of a diagnosis to the commands for this machine, this interpreter, this installer; pure."""

from __future__ import annotations

from doctor.fixes.prescribe import prescribe

__all__ = ["prescribe"]
