"""Define a probe and its inputs.

A probe is a module or a package in doctor/observe/probes with a function `probe(scene: Scene) ->
FactStream`. It may raise: it then counts as failed, and the facts that it gave before stay. It
bounds every tool that it runs (`Host.run` does) and imports no framework. `BOUND` is its time limit
in seconds. `WAITS = True` says that it waits for tools: it runs in parallel with the others.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from doctor.host import Host
from doctor.observe.installed.record_check import RecordCheck


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """An installed distribution, read from its dist-info folder.

    `name` is normalized, `installed_at` in seconds since 1970. `ambiguous` is true where the
    metadata names several versions: two `Version:` headers, a folder called after another version,
    or two dist-info folders of which neither fits the files.
    """

    name: str
    version: str
    folder: Path
    installer: str = ""
    installed_at: float = 0.0
    direct_url: str = ""
    ambiguous: bool = False

    @property
    def requirement(self) -> str:
        """What installs it again, `torch==2.13.0`; without a version where that is ambiguous."""
        return self.name if self.ambiguous else f"{self.name}=={self.version}"


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter under examination, as it describes itself without a framework."""

    executable: str
    version: str
    implementation: str
    tag: str
    bits: int
    free_threaded: bool
    prefix: str
    base_prefix: str
    path: tuple[str, ...]
    site_packages: tuple[str, ...]
    include: str
    platform: str
    machine: str
    stdlib: str


class ProbeInput(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a probe: host, interpreter if any, distributions, Cargo workspace if any.

    `project` is the folder of `--project`; `features` are those of the workspace that it is to be
    judged with (`--features`). `early` is a look at the files of the environment that was begun
    before the interpreter had described itself.
    """

    host: Host
    interpreter: Interpreter | None = None
    distributions: tuple[Distribution, ...] = ()
    project: Path | None = None
    workspace: Path | None = None
    features: tuple[str, ...] = ()
    early: RecordCheck | None = None
