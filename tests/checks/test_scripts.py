"""What the contract asks of every check script can be read without running it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from doctor.catalog.check_headers import read_check
from doctor.model.scales import Tier
from doctor.model.vocabulary import is_known
from tests.checks.trial import CHECKS, SCRIPTS

every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


@pytest.mark.parametrize("source", sorted(CHECKS.rglob("*.py")), ids=lambda source: source.stem)
def test_source_keeps_to_the_grammar_of_python_3_8(source: Path) -> None:
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))


@every_script
def test_header_lists_the_cases_that_the_script_has(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    beside = [ast.parse(path.read_text(encoding="utf-8")) for path in _beside(tree)]
    assert set(read_check(script).header.cases) == _tabled(tree).union(
        *map(_named, [tree, *beside])
    )


@every_script
def test_what_makes_a_deep_check_quick_is_a_fact(script: Path) -> None:
    header = read_check(script).header
    assert not header.quick_where or (is_known(header.quick_where) and header.tier is Tier.DEEP)


@every_script
def test_script_says_what_a_failure_means(script: Path) -> None:
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    assert "fail" in docstring


def _beside(tree: ast.Module) -> list[Path]:
    """Return the files of the shared modules that a script imports from."""
    modules = [
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    ]
    return [
        path
        for module in modules
        if (path := CHECKS / (module.replace(".", "/") + ".py")).is_file()
    ]


def _named(tree: ast.Module) -> set[str]:
    """Return the names in calls of `REPORT.case("name")`."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    first = [
        call.args[0]
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "case" and call.args
    ]
    return {
        name.value
        for name in first
        if isinstance(name, ast.Constant) and isinstance(name.value, str)
    } - {""}


def _imports(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and ": " in value.value


def _tabled(tree: ast.Module) -> set[str]:
    """Return the keys of the module's tables, from a case to its function or module."""
    tables = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    ]
    functions = [
        table
        for table in tables
        if all(
            key is None or isinstance(value, ast.Name) or _imports(value)
            for key, value in zip(table.keys, table.values, strict=True)
        )
    ]
    return {
        key.value
        for table in functions
        for key in table.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
