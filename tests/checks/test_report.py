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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_its_main_through_the_report(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    guard = tree.body[-1]
    assert isinstance(guard, ast.If)
    assert ast.unparse(guard.test) == "__name__ == '__main__'"
    assert ast.unparse(guard.body[0]).startswith("REPORT.run(")
    assert "write(doing=None)" not in ast.unparse(tree)
