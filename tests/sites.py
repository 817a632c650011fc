"""Made-up environments.

Site-packages folders with real dist-info, and the scene that a probe sees of them.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from doctor.host import Host
from doctor.observe.installed.distributions import installed
from doctor.observe.scene import Interpreter, ProbeInput
from doctor.observe.targets import describe
from tests.hosts import put, python_at

NOW = 1.8e9


def site_of(prefix: Path) -> Path:
    """Return the site-packages folder of the environment in `prefix`."""
    return Path(python_at(prefix).site_packages[0])


def install(
    prefix: Path,
    name: str,
    version: str,
    *lines: str,
    files: Mapping[str, str | bytes] | None = None,
    installer: str = "uv",
    at: float = NOW,
) -> Path:
    """Install a made-up distribution as an installer does; `lines` go into METADATA.

    Returns its dist-info folder.
    """
    site = site_of(prefix)
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    head = ("Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines)
    put(folder / "METADATA", "\n".join(head) + "\n\nA description.\n")
    if installer:
        put(folder / "INSTALLER", installer)
    rows = [_row(path, put(site / path, content)) for path, content in (files or {}).items()]
    put(folder / "RECORD", "\n".join([*rows, f"{folder.name}/RECORD,,", ""]))
    os.utime(folder, (at, at))
    return folder


def _row(path: str, file: Path) -> str:
    content = file.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}"


def requires(*wanted: str) -> tuple[str, ...]:
    """Make METADATA lines of requirements."""
    return tuple(f"Requires-Dist: {each}" for each in wanted)


def seen_at(
    prefix: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> ProbeInput:
    """Return what a probe sees of the environment in `prefix`, on this machine."""
    return _scene(
        python_at(prefix), Host(env={"PATH": "/nowhere", **(env or {})}, cwd=cwd or prefix)
    )


def seen_of(python: Path, *, env: Mapping[str, str] | None = None) -> ProbeInput:
    """Return what a probe sees of a real interpreter."""
    host = Host(env={**os.environ, **(env or {})}, cwd=python.parent)
    return _scene(describe(host, python), host)


def _scene(interpreter: Interpreter, host: Host) -> ProbeInput:
    return ProbeInput(host=host, interpreter=interpreter, distributions=installed(interpreter.path))
