"""The command line."""

from __future__ import annotations

from doctor.cli.start import main

__all__ = ["main"]
