"""What a snapshot of an environment holds, and where it lies.

The files lie beside the environment. The manifest with their digests lies in the state folder of
this user: a checkout can bring a folder of files along, but no manifest that doctor would believe.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.refusals import home_folder
from doctor.environments.tree import Entry
from doctor.host import Host
from doctor.host.keeping import STATE_NAME
from doctor.host.reading import read_whole

_LIMIT = 1 << 30
_ENDING = ".manifest"
_FOLDER = ".doctor-snapshots"
_PER_FOLDER = 1000


class SnapshotError(DoctorError):
    """A snapshot cannot be taken, read or restored; the message says why."""


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of an environment; `digest` is the SHA-256 of a file, `number` its file here."""

    entry: Entry
    digest: str = ""
    number: int = -1


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything below the prefix of an environment at one time.

    `taken` is in seconds since 1970. `files` is the folder of the contents. Paths and targets of
    links are bytes of the file system as Latin-1, since a name need not be UTF-8.
    """

    root: str
    files: str
    taken: float
    top: Entry
    entries: tuple[StoredEntry, ...]

    def path_of(self, stored: StoredEntry) -> str:
        """Return where the content of a file lies."""
        return f"{self.files}/{stored.number // _PER_FOLDER}/{stored.number}"


class Store:
    """The snapshots of one environment: `state` holds manifests, lock and journal."""

    def __init__(self, root: Path, host: Host) -> None:
        real = os.path.realpath(root)
        self.root, self._name = Path(real), f"{Path(real).name}-{_short(real)}"
        state = _state_folder(host)
        before = state / "doctor" / "snapshots" / self._name  # where the first releases put them
        own = state / STATE_NAME / "snapshots" / self._name
        self.state = before if before.is_dir() and not own.is_dir() else own

    @property
    def lock(self) -> Path:
        """Return the file that one process at a time locks."""
        return self.state / "lock"

    @property
    def journal(self) -> Path:
        """Return the file that exists while a restore is unfinished, and names its snapshot."""
        return self.state / "restoring"

    def manifests(self) -> list[Path]:
        """Return the manifests, the oldest first."""
        return sorted(self.state.glob(f"*{_ENDING}"))

    def unfinished(self) -> Path | None:
        """Return the manifest of a restore that was interrupted."""
        name = (read_whole(self.journal, 1 << 10) or b"").decode("utf-8", "replace").strip()
        return next((path for path in self.manifests() if path.name == name), None)

    def new_manifest(self) -> Path:
        """Return the path of the next manifest."""
        last = [int(path.stem) for path in self.manifests() if path.stem.isdecimal()]
        return self.state / f"{max(last, default=0) + 1:06d}{_ENDING}"

    def places(self) -> tuple[Path, ...]:
        """Return where the files may lie: beside the environment, else in the state folder."""
        return self.root.parent / _FOLDER / self._name, self.state / "files"


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest with its own digest in the first line; it appears as a whole."""
    content = msgspec.json.encode(_escaped(manifest))
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest; raises SnapshotError where it is damaged."""
    digest, _, content = (read_whole(path, _LIMIT) or b"").partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise SnapshotError(f"{path} is damaged; this snapshot cannot be restored")
    try:
        return _unescaped(msgspec.json.decode(content, type=Manifest))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise SnapshotError(f"{path} cannot be read: {error}") from None


def _escaped(manifest: Manifest) -> Manifest:
    return _converted(manifest, lambda text: os.fsencode(text).decode("latin-1"))


def _unescaped(manifest: Manifest) -> Manifest:
    return _converted(manifest, lambda text: os.fsdecode(text.encode("latin-1")))


def _converted(manifest: Manifest, convert: Callable[[str], str]) -> Manifest:
    replace = msgspec.structs.replace
    return replace(
        manifest,
        root=convert(manifest.root),
        files=convert(manifest.files),
        entries=tuple(
            replace(
                stored,
                entry=replace(
                    stored.entry,
                    path=convert(stored.entry.path),
                    target=convert(stored.entry.target),
                ),
            )
            for stored in manifest.entries
        ),
    )


def _state_folder(host: Host) -> Path:
    """Return the folder for state of this user: https://specifications.freedesktop.org/basedir/."""
    if Path(named := host.env.get("XDG_STATE_HOME", "")).is_absolute():
        return Path(named)
    if Path(local := host.env.get("LOCALAPPDATA", "")).is_absolute():
        return Path(local)
    home = Path(host.env.get("HOME", "")) if host.env.get("HOME") else home_folder()
    if home is None or not home.is_dir():
        raise SnapshotError("this user has no home folder for a snapshot; set XDG_STATE_HOME")
    return home / ".local" / "state"


def _short(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]
