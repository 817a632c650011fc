"""What a line of a manifest says of a version, as PEP 440 writes it."""

from __future__ import annotations

import re

from doctor.base.requirements import InvalidRequirement, read_line
from doctor.base.versions import parse
from doctor.observe.manifests.pins import Pin, Syntax

_CONDA = re.compile(r"(=?)(\d[\w.]{0,40}?)(\.\*)?(?:=([\w.*]{1,60}))?")
_CARET = re.compile(r"\^\s{0,4}(\d[\w.]{0,40})")
MAIN_TABLES = (
    "project/dependencies",
    "tool.poetry.dependencies",
    "packages",
    "options/install_requires",
)
"""The tables of pyproject.toml, Pipfile and setup.cfg that a program is installed from."""


def specifier_in(text: str, pin: Pin) -> str:
    """Return what a pin of a manifest's text says of a version; empty where it says nothing."""
    if pin.span is None:
        return ""
    told = text[pin.span.start : pin.span.end]
    return (
        _of_poetry(told)
        if pin.span.syntax is Syntax.POETRY
        else specifier_of(told, pin.span.syntax)
    )


def specifier_of(told: str, syntax: Syntax) -> str:
    """Return what a manifest says of a version as PEP 440 does; empty where nobody can tell.

    - conda: https://docs.conda.io/projects/conda-build/en/stable/resources/package-spec.html
    - Pipfile and pixi's `pypi-dependencies` write PEP 440 themselves.
    """
    text = told.strip().strip("\"'")
    exact = _CONDA.fullmatch(text) if syntax is Syntax.CONDA else None
    if exact is not None:
        wild = exact[3] or (exact[1] and not exact[4])  # `=2.5` takes every 2.5
        return f"=={exact[2]}.*" if wild else f"=={exact[2]}"
    if not text.startswith(("=", "<", ">", "~", "!")):
        return ""
    try:
        return read_line(f"name{text}").specifier
    except InvalidRequirement:
        return ""


def _of_poetry(told: str) -> str:
    """Return what Poetry says of a version as PEP 440 does.

    https://python-poetry.org/docs/dependency-specification/
    """
    text = told.strip().strip("\"'")
    found = _CARET.fullmatch(text)
    release = parse(found[1]) if found else None
    if found is None or release is None:
        exact = parse(text) if text[:1].isdecimal() else None
        return f"=={text}" if exact is not None else specifier_of(text, Syntax.PYTHON)
    parts = list(release.release)
    first = next((at for at, part in enumerate(parts) if part), len(parts) - 1)
    end = [*parts[:first], parts[first] + 1]
    return f">={found[1]},<{'.'.join(map(str, end))}"
