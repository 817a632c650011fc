"""How bad a thing would be, and how sure doctor is."""

from __future__ import annotations

from enum import Enum


class Severity(Enum):
    """What it costs if it is true; written by the author of a rule."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(Enum):
    """How sure the evidence makes doctor; computed, never written."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
