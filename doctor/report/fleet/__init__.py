"""Render a report of a fleet: one module for each format."""

from __future__ import annotations

import importlib
from enum import Enum
from typing import Any


class FleetFormat(Enum):
    """Formats of the report of a fleet."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"
    SARIF = "sarif"
    JUNIT = "junit"
    PROMETHEUS = "prometheus"


def renderer(kind: FleetFormat) -> Any:
    """Import the module that renders a format; its function `render` takes the report."""
    name = "terminal" if kind is FleetFormat.TEXT else kind.value
    return importlib.import_module(f"{__name__}.{name}")
