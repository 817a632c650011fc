"""Read requirements: arguments, `-r` files, locks and Dockerfiles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from doctor.base.errors import UsageError
from doctor.base.requirements import InvalidRequirement, normalize_name, read_line
from doctor.base.toml import TomlError, parse_toml
from doctor.host import Host
from doctor.host.reading import LOCK, SOURCE
from doctor.observe.installed.gpu_stack import matters_to_stack
from doctor.observe.manifests import kind_of
from doctor.observe.manifests.docker import dockerfile
from doctor.observe.manifests.specifiers import specifier_of
from doctor.planning.requests_solver import RequestedRelease

_SKIPPED = re.compile(r"\s*(?:#|$|-[^er-]|--(?!requirement|editable))")
_INCLUDED = re.compile(r"\s*(?:-r|--requirement)[ =]?\s*(\S+)")
_BY_PINS = frozenset({"Pipfile", "pixi.toml"})
_DEPTH = 5
_MOST = 2000
_WORD = re.compile(r"""["']?([A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:[=<>!~]=?[^\s"';&|]+)?)["']?""")


def from_text(text: str, source: str = "") -> RequestedRelease:
    """Read one requirement; raises UsageError for what is none."""
    try:
        line = read_line(text)
    except InvalidRequirement:
        raise UsageError(f"{source + ': ' if source else ''}{text!r} is no requirement") from None
    return RequestedRelease(
        text=text.partition(";")[0].strip(),
        name=normalize_name(line.name),
        specifier=line.specifier,
        extras=tuple(sorted(line.extras)),
        address=line.address,
        source=source,
    )


def from_file(path: Path, host: Host, depth: int = _DEPTH) -> Iterator[RequestedRelease]:
    """Yield the requirements of a file by its name; raises UsageError where it cannot be read."""
    text = _text(path, host, LOCK)
    name = path.name
    if name.endswith(".lock"):
        yield from _lock(text, path)
    elif "ockerfile" in name or "ontainerfile" in name:
        yield from _image(text, path)
    elif name in _BY_PINS or name.endswith((".yml", ".yaml")):
        yield from _pinned(text, path)
    elif name.endswith(".toml"):
        yield from _pyproject(text, path)
    else:
        yield from _requirements(text, path, host, depth)


def _text(path: Path, host: Host, limit: int) -> str:
    text = host.read(path if path.is_absolute() else host.cwd / path, limit=limit)
    if text is None:
        raise UsageError(f"{path} cannot be read")
    return text


def _requirements(text: str, path: Path, host: Host, depth: int) -> Iterator[RequestedRelease]:
    # https://pip.pypa.io/en/stable/reference/requirements-file-format/
    joined = text[:SOURCE].replace("\\\n", " ")
    for number, line in enumerate(joined.split("\n")[:_MOST], 1):
        bare = line.split(" #")[0].split(" --hash")[0].strip()
        if included := _INCLUDED.match(bare):
            other = path.parent / included[1]
            text = _text(other, host, SOURCE) if depth else ""
            yield from _requirements(text, other, host, depth - 1)
        elif not _SKIPPED.match(bare) and not bare.startswith(("-e", "--editable", ".", "/")):
            yield from_text(bare, f"{path.name}:{number}")


def _lock(text: str, path: Path) -> Iterator[RequestedRelease]:
    """Yield the packages of uv.lock, poetry.lock or pdm.lock, each at its release."""
    for package in _table(text, path).get("package", []):
        name, version = package.get("name"), package.get("version")
        source = package.get("source")
        is_own = isinstance(source, dict) and {"virtual", "editable", "directory"} & source.keys()
        if isinstance(name, str) and isinstance(version, str) and not is_own:
            yield from_text(f"{name}=={version}", path.name)


def _pyproject(text: str, path: Path) -> Iterator[RequestedRelease]:
    project = _table(text, path).get("project", {})
    for line in project.get("dependencies", []) if isinstance(project, dict) else []:
        yield from_text(str(line), path.name)


def _pinned(text: str, path: Path) -> Iterator[RequestedRelease]:
    """Yield what a Pipfile, a pixi.toml or a file of conda asks for of the stack's packages.

    conda serves programs and libraries that no index of Python packages has.
    """
    kind = kind_of(path.parent.name, path.name)
    if kind is None:
        raise UsageError(f"{path}: no manifest that doctor reads is called so")
    for pin in kind.read(text):
        name = normalize_name(pin.name)
        if pin.span is not None and (path.name == "Pipfile" or matters_to_stack(name)):
            told = text[pin.span.start : pin.span.end]
            specifier = specifier_of(told, pin.span.syntax)
            yield from_text(f"{name}{specifier}", f"{path.name}:{pin.line}")


def _table(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except TomlError as error:
        raise UsageError(f"{path}: {error}") from None


def _image(text: str, path: Path) -> Iterator[RequestedRelease]:
    lines = text.split("\n")
    for pin in dockerfile(text):
        words = [
            found[1]
            for found in _WORD.finditer(lines[pin.line - 1])
            if normalize_name(re.split(r"[\[=<>!~]", found[1])[0]) == normalize_name(pin.name)
        ]
        if words:
            yield from_text(words[0], f"{path.name}:{pin.line}")


def merged(wishes: Sequence[RequestedRelease]) -> tuple[RequestedRelease, ...]:
    """Return wishes without repetitions."""
    return tuple({(wish.name, wish.text): wish for wish in wishes}.values())
