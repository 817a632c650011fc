"""The command line."""

from __future__ import annotations

from doctor.cli.app import main

__all__ = ["main"]
