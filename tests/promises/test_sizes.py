"""Modules and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.promises.sources import ROOT, modules

_MODULE_LINES = 250
_CHECK_LINES = 400
"""More for a check script, which may import little of ours."""
_FUNCTION_LINES = 40
_APART = re.compile(r'(?ms)\A# /// script$.*?^# ///\n(""".*?"""\n)?')
"""What a check script says about itself."""


@pytest.mark.parametrize("path", modules("doctor", "checks"), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = len(_APART.sub("", text).splitlines())
    assert lines <= (_CHECK_LINES if path.is_relative_to(ROOT / "checks") else _MODULE_LINES), f"{path.name}: {lines} lines"
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    assert not [f"{node.name}: {size} lines" for node in functions if (size := _lines(node, path)) > _FUNCTION_LINES]


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef, path: Path) -> int:
    """Count the lines of a function; of a command, in the API too, without its options, a line each, which are no logic."""
    takes_options = path.is_relative_to(ROOT / "doctor" / "cli") or path == ROOT / "doctor" / "api.py"
    first = node.body[0].lineno if takes_options else node.lineno
    return (node.end_lineno or first) - first + 1
