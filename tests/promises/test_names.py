"""Names say what a thing is, not that it does something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.promises.sources import ROOT, modules

_EMPTY = re.compile(
    r"(?i)(manager|helper|util|detector|processor|handler|validator)(s|ies)?$|^(manager|helper|util)s?_"
)
_THINGS = {"_manager", "_package_manager", "_fabric_manager", "_processor", "_processors"}
"""Facts about the host that the world calls so.

Package managers, NVIDIA's Fabric Manager, the CPU.
"""


def test_no_name_is_empty() -> None:
    named = [
        (path, name)
        for path in modules("doctor", "checks", "tests", "benchmarks")
        for name in _names(path)
    ]
    assert not [
        f"{path.relative_to(ROOT)}: {name}"
        for path, name in named
        if _EMPTY.search(name) and name not in _THINGS
    ]


def _names(path: Path) -> list[str]:
    """Return the name of a module and those that it defines."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        path.stem,
        *(
            node.name
            for node in nodes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        ),
    ]
