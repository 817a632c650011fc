"""Every check script writes its report through the one module for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.checks.trial import SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_the_report_of_all(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imported = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "canary_report"
    ]
    made = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    ]
    assert "Report" in [name.name for node in imported for name in node.names]
    assert "REPORT" in [
        target.id for node in made for target in node.targets if isinstance(target, ast.Name)
    ]
    assert not [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in ("Report", "CaseEnded")
    ]
