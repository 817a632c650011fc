"""Read the headers of check scripts (PEP 723) without running any of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from doctor.base import toml
from doctor.base.bundled import bundled
from doctor.base.errors import DoctorError
from doctor.model.checks import Check, Header

_BLOCK = re.compile(r"(?m)^# /// script\s*$\n(?P<body>(?:^#(?: .*)?$\n)+?)^# ///\s*$")
_DOCSTRING = re.compile(r'(?s)^(?:#[^\n]*\n|\s)*"""(.*?)"""')
"""A script's docstring, found by a pattern.

To parse every script costs more than all probes of a small environment.
"""


class ScriptError(DoctorError):
    """A check script has no header, or one that cannot be read."""


def load_checks(folder: Path | None = None) -> dict[str, Check]:
    """Return every check script under `folder` by its id, in the order of paths."""
    folder = folder or bundled("checks")
    found = [
        read_check(path)
        for kind in ("facts", "canaries")
        for path in sorted((folder / kind).glob("*.py"))
    ]
    return {check.id: check for check in found}


def read_check(path: Path) -> Check:
    """Read one script's header and docstring; raises ScriptError with the file and the reason."""
    text = path.read_text(encoding="utf-8")
    header = read_header(text, path)
    try:
        table = msgspec.convert(header.get("tool", {}).get("doctor"), Header)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{path}: [tool.doctor]: {error}") from None
    return Check(
        id=path.stem.replace("_", "-"),
        path=path,
        header=table,
        requires_python=header.get("requires-python", ""),
        explanation=found[1].strip() if (found := _DOCSTRING.search(text)) else "",
    )


def read_header(text: str, path: Path) -> dict[str, Any]:
    """Return the TOML table of the block `# /// script`."""
    block = _BLOCK.search(text)
    if block is None:
        raise ScriptError(f"{path}: no block '# /// script' (PEP 723)")
    body = "".join(
        line[2:] if line.startswith("# ") else line[1:]
        for line in block["body"].splitlines(keepends=True)
    )
    try:
        return toml.parse_toml(body)
    except toml.TomlError as error:
        raise ScriptError(f"{path}: {error}") from None
