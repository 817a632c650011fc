"""What cargo itself says of a workspace: `cargo metadata`, offline, with the lock as it is.

No code of the workspace runs.

The answer is the JSON of `cargo metadata`
(https://doc.rust-lang.org/cargo/commands/cargo-metadata.html), asked offline: a diagnosis downloads
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from doctor.host import CompletedCommand, Host, Termination
from doctor.observe.cargo.toolchain import Toolchain
from doctor.redact import without_secrets

_LARGEST = 64 << 20
_NOT_FETCHED = (
    "not all sources of this workspace are on this machine (cargo fetch --locked brings them)"
)


class Dependency(msgspec.Struct, frozen=True):
    """What a manifest declares; `path` is absolute, and only a path dependency has one."""

    name: str
    path: str | None = None


class Package(msgspec.Struct, frozen=True):
    """A package as cargo describes it; `source` is None for a path."""

    id: str
    name: str
    version: str
    manifest_path: str
    source: str | None = None
    rust_version: str | None = None
    dependencies: tuple[Dependency, ...] = ()

    @property
    def folder(self) -> Path:
        """Return the folder of its source."""
        return Path(self.manifest_path).parent


class Node(msgspec.Struct, frozen=True):
    """A package that a build takes in, and its features that are on."""

    id: str
    features: tuple[str, ...] = ()


class Graph(msgspec.Struct, frozen=True):
    """Everything that a build takes in."""

    nodes: tuple[Node, ...] = ()


class Metadata(msgspec.Struct, frozen=True, dict=True):
    """What `cargo metadata` prints, as far as doctor looks at it.

    `resolve` is None where only the members were asked for.
    """

    packages: tuple[Package, ...]
    workspace_members: tuple[str, ...]
    target_directory: str
    resolve: Graph | None = None
    build_directory: str | None = None

    @cached_property
    def features(self) -> Mapping[str, tuple[str, ...]]:
        """Return the features that are on, by the id of each package that a build takes in."""
        return {node.id: node.features for node in (self.resolve.nodes if self.resolve else ())}

    @property
    def members(self) -> tuple[Package, ...]:
        """Return the packages of the workspace itself."""
        return tuple(package for package in self.packages if package.id in self.workspace_members)


class Answer(msgspec.Struct, frozen=True):
    """Cargo's answer: with all packages, with the members alone, or empty; `why` says why."""

    metadata: Metadata | None = None
    why: str = ""

    @property
    def resolved(self) -> Metadata | None:
        """Return the answer where it says what a build takes in, and not the members alone."""
        return self.metadata if self.metadata and self.metadata.resolve else None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to cargo: the workspace, the target triple, the features.

    `fetched` says whether sources can be here.
    """

    workspace: Path
    triple: str
    features: Sequence[str] = ()
    fetched: bool = True
    patience: float = 5.0


def ask(host: Host, toolchain: Toolchain, question: Question) -> Answer:
    """Ask cargo for its resolution, and where it cannot tell offline at least for the members."""
    if toolchain.cargo is None:
        return Answer(None, toolchain.missing or "there is no cargo on PATH")
    triple, features = question.triple, question.features
    if not question.fetched:
        return Answer(_decoded(_metadata(host, toolchain, question, ["--no-deps"])), _NOT_FETCHED)
    whole = [
        "--locked",
        *(["--filter-platform", triple] if triple else []),
        *(["--features", ",".join(features)] if features else []),
    ]
    ran = _metadata(host, toolchain, question, whole)
    if (told := _decoded(ran)) is not None:
        return Answer(told)
    if ran.ended is Termination.TIMEOUT:
        return Answer(None, f"cargo metadata did not answer within {question.patience:g} s")
    return Answer(_decoded(_metadata(host, toolchain, question, ["--no-deps"])), _complaint(ran))


def _metadata(
    host: Host, toolchain: Toolchain, question: Question, arguments: Sequence[str]
) -> CompletedCommand:
    folder = str(Path(toolchain.cargo or "").parent)
    # A wrapper or a rustc that the workspace's own .cargo/config.toml names would be a program of
    # the workspace.
    env = {
        "PATH": os.pathsep.join((folder, host.env.get("PATH", os.defpath))),
        "CARGO_NET_OFFLINE": "true",
        "RUSTC_WRAPPER": "",
        "RUSTC_WORKSPACE_WRAPPER": "",
        **({"RUSTC": toolchain.rustc} if toolchain.rustc else {}),
        "CARGO_TERM_COLOR": "never",
        "RUSTUP_AUTO_INSTALL": "0",
    }
    command = [
        toolchain.cargo or "cargo",
        "metadata",
        "--offline",
        "--format-version",
        "1",
        *arguments,
    ]
    return host.run(
        command, timeout=question.patience, limit=_LARGEST, env=env, cwd=question.workspace
    )


def _decoded(ran: CompletedCommand) -> Metadata | None:
    if not ran.ok:
        return None
    try:
        return msgspec.json.decode(ran.output, type=Metadata)
    except (ValueError, RecursionError):
        return None


def _complaint(ran: CompletedCommand) -> str:
    """Return what keeps cargo from an answer, in one line.

    What it says of sources that were not fetched misleads.
    """
    if "--offline" in ran.errors or "offline mode" in ran.errors:
        return _NOT_FETCHED
    lines = [line.strip() for line in ran.errors.splitlines()]
    start = next((index for index, line in enumerate(lines) if line.startswith("error")), 0)
    said = [
        line.removeprefix("error: ")
        for line in lines[start : start + 12]
        if line and line != "Caused by:"
    ]
    return (
        without_secrets("cargo: " + "; ".join(said[:3]))[:300]
        if said
        else f"cargo ended with {ran.code} and said nothing"
    )
