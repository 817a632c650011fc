"""Read what the project of an editable install asks for today.

The dist-info folder of an editable install is written once. What the project's own files say may
change with every checkout, and then the metadata is stale.

https://packaging.python.org/en/latest/specifications/direct-url/
https://packaging.python.org/en/latest/specifications/pyproject-toml/#dependencies-optional-dependencies
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from doctor.base.toml import TomlError, parse_toml
from doctor.host.reading import read_regular

_LARGEST = 1 << 20


def folder_of(direct_url: str) -> str:
    """Return the folder of an editable install from its direct_url.json; empty for any other."""
    with contextlib.suppress(ValueError, LookupError, RecursionError, AttributeError, TypeError):
        import json

        told = json.loads(direct_url)
        address = urlsplit(told["url"]) if told["dir_info"]["editable"] is True else None
        return unquote(address.path) if address and address.scheme == "file" else ""
    return ""


def dependencies_of(folder: Path) -> tuple[str, ...] | None:
    """Return the requirements that the files of a project list.

    None where they list none by themselves: a build backend or a program decides.
    """
    text = _text(folder / "pyproject.toml")
    if text is not None:
        try:
            project = parse_toml(text).get("project")
        except TomlError:
            return None
        if isinstance(project, dict):
            return _listed(project)
    text = _text(folder / "setup.cfg")
    if text is None or (folder / "setup.py").is_file():
        return None
    return _of_setup_cfg(text)


def _text(path: Path) -> str | None:
    data = read_regular(path, _LARGEST)
    return None if data is None else data.decode("utf-8", "replace")


def _listed(project: dict[str, Any]) -> tuple[str, ...] | None:
    dynamic = project.get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        return None
    found = project.get("dependencies", [])
    return tuple(str(one) for one in found) if isinstance(found, list) else None


def _of_setup_cfg(text: str) -> tuple[str, ...] | None:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
        told = parser.get("options", "install_requires", fallback=None)
    except configparser.Error:
        return None
    if told is None or told.strip().startswith("file:"):
        return None
    lines = (line.partition("#")[0].strip() for line in told.splitlines())
    return tuple(line for line in lines if line)
