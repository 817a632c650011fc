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
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
        if node.end_lineno - node.lineno + 1 > _FUNCTION_LINES
    ]
    assert not long
