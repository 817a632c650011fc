"""A doctor for the GPU stack of another interpreter or Cargo workspace."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
