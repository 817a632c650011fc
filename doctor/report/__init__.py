"""Render a report: one module for each format."""

from __future__ import annotations

import importlib
from enum import Enum
from typing import Any


class Format(Enum):
    """Formats of the report."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITLAB = "gitlab"
    GITHUB = "github"
    NHC = "nhc"


_RENDERERS = {
    Format.TEXT: "terminal.document",
    Format.JSON: "structured.json_document",
    Format.MARKDOWN: "markdown.document",
    Format.HTML: "html.document",
    Format.SARIF: "structured.sarif",
    Format.JUNIT: "structured.junit",
    Format.GITLAB: "structured.gitlab",
    Format.GITHUB: "structured.github",
    Format.NHC: "structured.nhc",
}


def renderer(kind: Format) -> Any:
    """Import the module that renders a format.

    It is imported when it is needed: the one for text imports rich, which takes a while.
    """
    return importlib.import_module(f"{__name__}.{_RENDERERS[kind]}")
