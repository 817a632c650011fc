"""The command line."""

from __future__ import annotations

from doctor.cli.starting import main

__all__ = ["main"]
