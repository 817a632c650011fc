"""Modules and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.promises.sources import ROOT, modules

_MODULE_LINES = 380
_CHECK_LINES = 500
"""More for a check script, which may import little of ours."""
_FUNCTION_LINES = 60
_APART = re.compile(r'(?ms)\A# /// script$.*?^# ///\n(""".*?"""\n)?')
"""What a check script says about itself."""


def test_modules_and_functions_are_small() -> None:
    assert not [
        f"{path.relative_to(ROOT)}: {large}"
        for path in modules("doctor", "checks")
        for large in _large(path)
    ]


def _large(path: Path) -> list[str]:
    """Name what of a module is too large, with its lines."""
    text = path.read_text(encoding="utf-8")
    lines, most = (
        len(_APART.sub("", text).splitlines()),
        _CHECK_LINES if path.is_relative_to(ROOT / "checks") else _MODULE_LINES,
    )
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    large = [
        f"{node.name}: {size} lines"
        for node in functions
        if (size := _lines(node, path)) > _FUNCTION_LINES
    ]
    return [*large, f"{lines} lines"] if lines > most else large


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef, path: Path) -> int:
    """Count the lines of a function.

    Of a command, in the API too, without its options, a line each, which are no logic.
    """
    takes_options = (
        path.is_relative_to(ROOT / "doctor" / "cli") or path == ROOT / "doctor" / "api.py"
    )
    first = node.body[0].lineno if takes_options else node.lineno
    return (node.end_lineno or first) - first + 1
