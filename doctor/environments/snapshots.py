"""Take a snapshot of an environment before it is changed, and restore it exactly.

What people and programs edit in place is copied. Large files, which installers only ever replace,
are shared by reflinks or hard links; a digest of every file tells whether one was altered since.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from doctor.environments.environment import Environment
from doctor.environments.layout import SMALL, Action, layout
from doctor.environments.manifest import (
    Manifest,
    SnapshotError,
    Store,
    StoredEntry,
    read_manifest,
    write_manifest,
)
from doctor.environments.restoring import differences, restore_tree
from doctor.environments.transfer import hard_link, reflink
from doctor.environments.tree import Kind, Tree, TreeError, scan
from doctor.host import Host
from doctor.host.locks import locked
from doctor.host.removal import remove_tree

Progress = Callable[[int, int], None]
"""Called with the number of finished entries and the number of all."""

NOT_PART = frozenset({".lock"})
"""uv locks this file while it works; it belongs to no state of the environment."""
_IGNORE = ".gitignore"
_KEEP = 2
_SPARE_BYTES = 256 << 20
_TICK = 256
_BLOCK = 1 << 20
_READERS = 4
"""Threads that compute digests, which they do side by side."""
_EDITED = (".py", ".pyi", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".txt", ".sh")
"""Endings of files that a person edits, often in place."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A complete snapshot of an environment.

    `taken` is in seconds since 1970, `bytes` are those written. `is_interrupted` says that a
    restore of it began and did not end: restore it again before anything else.
    """

    root: Path
    manifest: Path
    taken: float
    bytes: int = 0
    seconds: float = 0.0
    is_interrupted: bool = False


class Restoration(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore did: `changed` entries were put back, replaced or removed."""

    changed: int
    seconds: float
    notes: tuple[str, ...] = ()


def take(
    environment: Environment, host: Host | None = None, progress: Progress | None = None
) -> Snapshot:
    """Take a snapshot; the two newest are kept.

    Raises SnapshotError where the environment cannot be read as a whole, changes meanwhile, or
    waits for the end of an interrupted restore.
    """
    started = time.monotonic()
    if environment.kind == "system":
        raise SnapshotError(
            f"{environment.root} belongs to the system; doctor keeps snapshots of environments only"
        )
    store = Store(environment.root, host or Host())
    with _alone(store):
        if store.unfinished():
            raise SnapshotError(
                f"an undo of {environment.root} was interrupted; run `doctor fix --undo` first"
            )
        _remove_unused(store, keep=_KEEP)
        try:
            manifest, written = _SnapshotWriter(environment, store, progress).run()
        except TreeError as error:
            raise SnapshotError(str(error)) from None
        path = store.new_manifest()
        write_manifest(path, manifest)
        _remove_unused(store, keep=_KEEP)
    return Snapshot(
        root=environment.root,
        manifest=path,
        taken=manifest.taken,
        bytes=written,
        seconds=time.monotonic() - started,
    )


def latest(environment: Environment, host: Host | None = None) -> Snapshot | None:
    """Return the newest snapshot, or the one whose restore was interrupted; None without any.

    Raises SnapshotError where its manifest is damaged.
    """
    store = Store(environment.root, host or Host())
    unfinished = store.unfinished()
    path = unfinished or next(reversed(store.manifests()), None)
    if path is None:
        return None
    return Snapshot(
        root=environment.root,
        manifest=path,
        taken=read_manifest(path).taken,
        is_interrupted=unfinished is not None,
    )


def restore(
    snapshot: Snapshot, host: Host | None = None, progress: Progress | None = None
) -> Restoration:
    """Make an environment what it was: contents, modes, links, times; what is new is removed.

    If a file of the snapshot was altered, nothing is changed and SnapshotError names it. After an
    interruption a second call finishes the work.
    """
    started = time.monotonic()
    store = Store(snapshot.root, host or Host())
    with _alone(store):
        manifest = read_manifest(snapshot.manifest)
        if manifest.root != str(store.root):
            raise SnapshotError(f"{snapshot.manifest} is a snapshot of {manifest.root}")
        _require_intact(manifest, progress)
        _write_journal(store, snapshot.manifest)
        changed = restore_tree(manifest, NOT_PART)
        if wrong := differences(manifest, NOT_PART):
            raise SnapshotError(
                f"{store.root / wrong[0]} and {len(wrong) - 1} more differ from the snapshot; "
                f"another program may be at work there. Run the undo again."
            )
        store.journal.unlink()
    return Restoration(changed=changed, seconds=time.monotonic() - started)


def discard(snapshot: Snapshot, host: Host | None = None) -> None:
    """Remove a snapshot with its files."""
    store = Store(snapshot.root, host or Host())
    with _alone(store):
        snapshot.manifest.unlink(missing_ok=True)
        _remove_unused(store, keep=_KEEP)


@contextlib.contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Keep other runs of doctor from the snapshots of an environment; raises SnapshotError."""
    try:
        store.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(store.lock) as is_ours:
            if not is_ours:
                raise SnapshotError(f"another doctor works on a snapshot of {store.root}")
            yield
    except OSError as error:
        raise SnapshotError(
            f"{error.filename or store.state}: {error.strerror or error}"
        ) from error


def _write_journal(store: Store, manifest: Path) -> None:
    descriptor = os.open(store.journal, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(manifest.name)
        file.flush()
        os.fsync(file.fileno())


def _remove_unused(store: Store, keep: int) -> None:
    """Remove old snapshots, and files without a manifest, which an interrupted run left."""
    unfinished = store.unfinished()
    for path in store.manifests()[:-keep]:
        if path != unfinished:
            path.unlink()
    used = set()
    for path in store.manifests():
        with contextlib.suppress(SnapshotError):
            used.add(Path(read_manifest(path).files))
    for place in filter(_is_own_folder, store.places()):
        with contextlib.suppress(OSError):
            for folder in place.iterdir():
                if folder not in used and folder.name.isdecimal() and _is_own_folder(folder):
                    remove_tree(folder)
        if not used:
            _remove_empty(place)


def _remove_empty(place: Path) -> None:
    """Remove the hidden folder beside an environment once nothing but .gitignore is in it."""
    with contextlib.suppress(OSError):
        place.rmdir()
        if [path.name for path in place.parent.iterdir()] == [_IGNORE]:
            (place.parent / _IGNORE).unlink()
            place.parent.rmdir()


def _is_own_folder(path: Path) -> bool:
    """Say whether a path is a folder of this user; a link that a checkout brought is none."""
    with contextlib.suppress(OSError):
        status, above = path.lstat(), path.parent.lstat()
        mine = getattr(os, "geteuid", lambda: status.st_uid)()
        return (
            stat.S_ISDIR(status.st_mode) and stat.S_ISDIR(above.st_mode) and status.st_uid == mine
        )
    return False


def _require_intact(manifest: Manifest, progress: Progress | None) -> None:
    """Raise SnapshotError unless every file of a snapshot still has its digest."""
    stored = [each for each in manifest.entries if each.number >= 0]
    wrong = []
    with ThreadPoolExecutor(max_workers=_READERS) as pool:
        digests = pool.map(lambda each: _digest(manifest.path_of(each)), stored)
        for number, (each, digest) in enumerate(zip(stored, digests, strict=True)):
            if digest != each.digest:
                wrong.append(each.entry.path)
            if progress and number % _TICK == 0:
                progress(number, len(stored))
    if wrong:
        more = f" and {len(wrong) - 1} more" if wrong[1:] else ""
        raise SnapshotError(
            f"the snapshot of {wrong[0]}{more} was altered after it was taken: a program wrote "
            f"into the file in place. Nothing was restored."
        )


def _digest(path: str) -> str:
    """Return the SHA-256 of a file; empty where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - tens of thousands of times
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


class _SnapshotWriter:
    """Bring the content of every file into a folder of numbered files."""

    def __init__(self, environment: Environment, store: Store, progress: Progress | None) -> None:
        self._environment, self._store, self._progress = environment, store, progress
        self._written: list[int] = []
        self._reflinks = True

    def run(self) -> tuple[Manifest, int]:
        tree = scan(self._store.root, NOT_PART)
        if tree.unlisted:
            raise SnapshotError(f"this user cannot list {tree.root / tree.unlisted[0]}")
        odd = next((entry for entry in tree.entries if entry.kind is Kind.OTHER), None)
        if odd:
            raise SnapshotError(f"{tree.root / odd.path} is a device or a socket")
        files = self._folder(tree)
        try:
            manifest = self._manifest(tree, files)
        except BaseException:
            remove_tree(files)
            raise
        return manifest, sum(self._written)

    def _folder(self, tree: Tree) -> Path:
        """Make the folder for the files, where there is space."""
        refused = []
        for place in self._store.places():
            try:
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
                if place.parent != self._store.state:
                    (place.parent / _IGNORE).write_text("*\n", encoding="utf-8")
            except OSError as error:
                refused.append(f"{place}: {error.strerror or error}")
                continue
            if not _is_own_folder(place):
                refused.append(f"{place} is no folder of this user")
                continue
            same_disk = place.stat().st_dev == tree.top.inode[0]
            free = shutil.disk_usage(place).free - _SPARE_BYTES
            if not same_disk and free < tree.size:
                refused.append(f"{place} has {max(free, 0) >> 20:,} MiB free")
                continue
            folder = place / f"{time.time_ns()}"
            folder.mkdir(mode=0o700)
            return folder
        raise SnapshotError(
            f"no place for a snapshot of {tree.root} ({tree.size >> 20:,} MiB): "
            f"{'; '.join(refused)}"
        )

    def _manifest(self, tree: Tree, files: Path) -> Manifest:
        shared = self._shared_paths(tree)
        manifest = Manifest(
            root=str(tree.root),
            files=str(files),
            taken=time.time(),
            top=tree.top,
            entries=tuple(
                StoredEntry(entry=entry, number=number if entry.kind is Kind.FILE else -1)
                for number, entry in enumerate(tree.entries)
            ),
        )
        with ThreadPoolExecutor(max_workers=_READERS) as pool:
            found = [pool.submit(self._bring, manifest, one, shared) for one in manifest.entries]
            try:
                digests = [self._finished(number, found) for number in range(len(found))]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        if scan(tree.root, NOT_PART) != tree:
            raise SnapshotError(f"{tree.root} changed while the snapshot was taken; try again")
        entries = (
            msgspec.structs.replace(one, digest=digest)
            for one, digest in zip(manifest.entries, digests, strict=True)
        )
        return msgspec.structs.replace(manifest, entries=tuple(entries))

    def _finished(self, number: int, found: Sequence[Future[str]]) -> str:
        if self._progress and number % _TICK == 0:
            self._progress(number, len(found))
        return found[number].result()

    def _shared_paths(self, tree: Tree) -> frozenset[str]:
        """Return the paths of files that nobody edits in place."""
        plan = layout(self._environment, tree, tree.root, follow=False)
        return frozenset(
            item.entry.path
            for item in plan.items
            if item.action is Action.SHARED
            and not (item.entry.size <= SMALL and item.entry.name.endswith(_EDITED))
        )

    def _bring(self, manifest: Manifest, one: StoredEntry, shared: frozenset[str]) -> str:
        """Bring one file into the snapshot, and return its digest; empty for what is no file."""
        if one.number < 0:
            return ""
        source, path = f"{manifest.root}/{one.entry.path}", manifest.path_of(one)
        Path(path).parent.mkdir(mode=0o700, exist_ok=True)
        is_reflink = self._reflinks and reflink(source, path, one.entry)
        self._reflinks = is_reflink
        is_shared = is_reflink or (one.entry.path in shared and hard_link(source, path))
        digest = _digest(path) if is_shared else self._copied(source, path)
        if not digest:
            raise SnapshotError(f"this user cannot read {source}")
        return digest

    def _copied(self, source: str, path: str) -> str:
        digest = hashlib.sha256()
        try:
            with open(source, "rb", buffering=0) as file, open(path, "xb") as copy:  # noqa: PTH123
                while block := file.read(_BLOCK):
                    digest.update(block)
                    copy.write(block)
        except PermissionError:
            return ""
        self._written.append(os.stat(path).st_size)  # noqa: PTH116 - tens of thousands of times
        return digest.hexdigest()
