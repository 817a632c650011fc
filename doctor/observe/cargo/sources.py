"""Find the source of a locked package, by cargo's answer or by cargo's own layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from doctor.base.refusals import home_folder
from doctor.host import Host
from doctor.host.reading import SOURCE
from doctor.observe.cargo.lock import Locked
from doctor.observe.cargo.resolution import Answer, Metadata, Package


def described(told: Metadata, locked: Locked) -> Package | None:
    """Return the package of cargo's answer that a package of the lock is."""
    same = [
        package
        for package in told.packages
        if (package.name, package.version) == (locked.name, locked.version)
    ]
    return next(
        (package for package in same if (package.source or "") == locked.source),
        same[0] if same else None,
    )


def folder_of(host: Host, workspace: Path, locked: Locked, answer: Answer) -> Path | None:
    """Return the folder of a package's source.

    None where it was not fetched, or where only cargo knows.
    """
    if answer.metadata and (package := described(answer.metadata, locked)):
        return package.folder
    return next(
        (
            folder
            for folder in _likely(host, workspace, locked, answer)
            if _is(host, folder, locked.name)
        ),
        None,
    )


def cargo_home(host: Host) -> Path:
    """Return the folder where cargo keeps what it fetched."""
    return Path(
        host.env.get("CARGO_HOME") or Path(host.env.get("HOME") or home_folder() or "/") / ".cargo"
    )


def has_sources(host: Host, workspace: Path) -> bool:
    """Say whether cargo can have sources here: fetched ones, or those of the workspace.

    Asked in vain, cargo would make folders in the home folder only to say so.
    """
    configured = (
        host.read(folder / ".cargo/config.toml", limit=1 << 16) or ""
        for folder in (workspace, *workspace.parents)
    )
    fetched = any(host.exists(cargo_home(host) / kind) for kind in ("registry", "git"))
    return fetched or any("replace-with" in text for text in configured)


def _likely(host: Host, workspace: Path, locked: Locked, answer: Answer) -> Iterator[Path]:
    home = cargo_home(host)
    versioned = f"{locked.name}-{locked.version}"
    if locked.origin != "path":
        yield from (workspace / "vendor" / name for name in (versioned, locked.name))
    match locked.origin:
        case "path":
            told = (
                [member.dependencies for member in answer.metadata.members]
                if answer.metadata
                else []
            )
            yield from (
                Path(each.path)
                for declared in told
                for each in declared
                if each.path and each.name == locked.name
            )
        case "git":
            for checkout in host.glob(home / "git/checkouts", f"*/{(locked.commit or '-')[:7]}"):
                yield from (checkout, checkout / locked.name)
        case _:
            yield from host.glob(home / "registry/src", f"*/{versioned}")


def _is(host: Host, folder: Path, name: str) -> bool:
    manifest = host.read(folder / "Cargo.toml", limit=SOURCE) or ""
    return re.search(rf'^name = "{re.escape(name)}"$', manifest, re.MULTILINE) is not None
