"""Made-up machines: a folder in place of `/`, and shell scripts in place of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, State
from doctor.observe.scene import Distribution, Interpreter

HANG = "exec /bin/sleep 60"
BABBLE = "while :; do echo 'Lorem ipsum dolor sit amet, consectetur adipiscing elit'; done"


def made_host(
    folder: Path,
    files: Mapping[str, str | bytes] | None = None,
    tools: Mapping[str, str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    platform: str = "linux",
) -> Host:
    """Make a machine of `files`, by absolute path, and `tools`, by name.

    The body of a shell script that stands on PATH.
    """
    root = folder / "root"
    root.mkdir(exist_ok=True)
    for path, content in (files or {}).items():
        put(root / path.lstrip("/"), content)
    for name, body in (tools or {}).items():
        script(root / "tools" / name, body)
    return Host(
        root=root, env={"PATH": str(root / "tools"), **(env or {})}, cwd=root, platform=platform
    )


def put(path: Path, content: str | bytes = "") -> Path:
    """Write a file, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def script(path: Path, body: str) -> Path:
    """Write a shell script that can be started."""
    put(path, f"#!/bin/sh\n{body}\n").chmod(0o755)
    return path


def python_at(prefix: Path, *, machine: str = "x86_64") -> Interpreter:
    """Describe an interpreter in `prefix`."""
    site = str(prefix / "lib/python3.12/site-packages")
    return Interpreter(
        executable=str(prefix / "bin/python"),
        version="3.12.7",
        implementation="cpython",
        tag="cp312",
        bits=64,
        free_threaded=False,
        prefix=str(prefix),
        base_prefix=str(prefix),
        path=(site,),
        site_packages=(site,),
        include=str(prefix / "include/python3.12"),
        platform="linux",
        machine=machine,
        stdlib=str(prefix / "lib/python3.12"),
    )


def distributions(python: Interpreter, wanted: Sequence[str]) -> tuple[Distribution, ...]:
    """Return distributions, given as `name==version`, in the site-packages of an interpreter."""
    pairs = [each.split("==") for each in wanted]
    folders = [
        Path(python.site_packages[0], f"{name.replace('-', '_')}-{version}.dist-info")
        for name, version in pairs
    ]
    return tuple(
        Distribution(name=name, version=version, folder=at)
        for (name, version), at in zip(pairs, folders, strict=True)
    )


def facts_of(seen: FactStream) -> dict[str, Fact]:
    """Collect what a probe yields; the same name twice is a mistake of the probe."""
    facts: dict[str, Fact] = {}
    for name, fact in seen:
        assert name not in facts, f"{name} twice"
        assert fact.state is not State.UNKNOWN or fact.why, f"{name} is unknown without a why"
        facts[name] = fact
    return facts


def values(facts: Mapping[str, Fact]) -> dict[str, object]:
    """Return the values of the facts that are present."""
    return {name: fact.value for name, fact in facts.items() if fact.state is State.PRESENT}
