"""Packages of another interpreter, looked at as files: where a module lies, and which constants its source assigns."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from doctor.host import Host
from doctor.probes.contract import Interpreter

Constants: TypeAlias = Mapping[str, str | int | float | bool | None]

_LIMIT = 1 << 20


def folder_of(interpreter: Interpreter, name: str) -> Path | None:
    """Return the folder of a package, as `import` would find it; None where no folder on the path holds it."""
    folders = (Path(entry, name) for entry in interpreter.path)
    return next((folder for folder in folders if (folder / "__init__.py").is_file()), None)


def constants(host: Host, path: Path) -> Constants | None:
    """Return what a Python file assigns at its top level, where that is a constant; None where it is no Python.

    The file is parsed, never run. Its last assignment of a name counts.
    """
    text = host.read(path, limit=_LIMIT)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[str, str | int | float | bool | None] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, str | int | float)):
            found.update({target.id: value.value for target in targets if isinstance(target, ast.Name)})
    return found


def searched(text: str | None, pattern: str) -> str | None:
    """Return the first group of the first place where a pattern occurs in a text; None where it does not."""
    match = re.search(pattern, text) if text else None
    return match[1] if match else None
