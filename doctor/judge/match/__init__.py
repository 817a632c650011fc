"""Judge an observation against the catalog.

Pure, and without a word about how the observation came to be.
"""

from __future__ import annotations

from doctor.judge.match.diagnose import diagnose

__all__ = ["diagnose"]
