"""Restore what was there before a plan was applied."""

from __future__ import annotations

from pathlib import Path

import msgspec

from doctor.base.errors import UsageError
from doctor.environments.environment import Environment, environment_at
from doctor.environments.snapshots import Restoration, Snapshot, discard, latest, restore
from doctor.host import Host
from doctor.observe.descriptions import TargetError
from doctor.observe.targets import choose_interpreter
from doctor.repair.apply import project_file
from doctor.repair.project import put_back


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that an undo goes back to."""

    root: Path
    snapshot: Snapshot


def last_state(python: str | None, project: Path, host: Host) -> Undo:
    """Return the state to go back to.

    Raises UsageError where nothing was applied here, TargetError where there is no environment.
    """
    path = choose_interpreter(host, python, project).path
    environment = _environment(path, host)
    snapshot = latest(environment, host)
    if snapshot is None:
        raise UsageError(f"--undo: doctor applied nothing in {environment.root}")
    return Undo(root=environment.root, snapshot=snapshot)


def undo(state: Undo, host: Host) -> Restoration:
    """Restore an environment and the manifests of its project; raises SnapshotError."""
    done = restore(state.snapshot, host)
    place = project_file(state.snapshot)
    more = put_back(place) if place.exists() else 0
    discard(state.snapshot, host)  # the next undo goes one state further back
    place.unlink(missing_ok=True)
    return msgspec.structs.replace(done, changed=done.changed + more)


def _environment(path: Path, host: Host) -> Environment:
    """Describe an environment, also where its interpreter does not start any more."""
    try:
        return environment_at(path, host)
    except TargetError:
        root = path.parent.parent
        if not (root / "pyvenv.cfg").exists():
            raise
        return Environment(root=root, python=path, folders=(), kind="venv", base=root, version="")
