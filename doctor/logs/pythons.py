"""Read from the paths and file names of a log which Python it is about."""

from __future__ import annotations

import re

_PATTERNS = (
    re.compile(r"[/\\]python(3\.\d{1,2})t?[/\\](?:site|dist)-packages"),
    re.compile(r"[/\\]pip \(python (3\.\d{1,2})\)"),
    re.compile(r"[/\\][Pp]ython-?(3)(\d{1,2})(?:-32)?[/\\]"),
    re.compile(
        r"\bPython (?:[Vv]ersion ?: ?)?(3\.\d{1,2})(?:\.\d{1,3})?\b"
        r"(?! or\b|\+| (?:is )?(?:required|needed|supported|only)\b)"
    ),
    re.compile(r"\b[Pp]ython version (?:[\w-]{1,20} ){0,5}is (3\.\d{1,2})\b(?! or\b|\+)"),
    re.compile(r"\.(?:cpython-|cp)(3)(\d{1,2})(?:-|t-)(?:x86_64|aarch64|arm|win|darwin)"),
    re.compile(r"[/\\]python(3\.\d{1,2})t?[/\\]"),
    re.compile(r"\bpython-(3\.\d{1,2})\.\d{1,3}\b"),
)
"""The surest first: a traceback passes the standard library of the Python that made a venv."""


def python_of(text: str) -> str:
    """Return the minor release of Python, as "3.11", by the first form that shows only one."""
    for pattern in _PATTERNS:
        found = {".".join(match.groups()) for match in pattern.finditer(text)}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""
