"""Names say what a thing is, not that it does something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.promises.sources import ROOT, modules

_EMPTY = re.compile(r"(?i)(manager|helper|util|detector|processor|handler|validator)(s|ies)?$|^(manager|helper|util)s?_")
_THINGS = {"_manager", "_package_manager", "_fabric_manager", "_processor", "_processors"}
"""Facts about the host that the world calls so: package managers, NVIDIA's Fabric Manager, the CPU."""


@pytest.mark.parametrize("path", modules("doctor", "checks", "tests", "benchmarks"), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_is_empty(path: Path) -> None:
    defined = [
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    assert not [name for name in (path.stem, *defined) if _EMPTY.search(name) and name not in _THINGS]
