"""Examine the caches of compiled kernels: whether writable, on which disk, stale locks."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.base.refusals import home_folder
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import Interpreter, ProbeInput

BOUND = 5.0

_OLD_SECONDS = 3600
"""Younger locks may belong to a build in another container that shares the folder.

Few builds take longer.
"""

_MOST = 500
_NETWORK = Pattern(
    r"nfs\d?|cifs|smb\w*|lustre|gpfs|beegfs|ceph|glusterfs|afs|panfs|wekafs|pvfs2|orangefs|ocfs2"
    r"|fuse\.(sshfs|glusterfs|juicefs|ceph(-fuse)?|gcsfuse|s3fs|rclone|goofys|mount-s3|blobfuse2"
    r"|davfs2?)"
)
_RUN_FROM = ("inductor", "triton", "extensions")
"""Caches that hold libraries, which are loaded from there.

CUDA does without its own where it cannot be written.
"""


class _Cache(msgspec.Struct, frozen=True):
    """A cache: its folder, the nearest existing folder above, and what names the folder."""

    name: str
    path: Path
    there: Path
    source: str


def probe(scene: ProbeInput) -> FactStream:
    """Give cache.*; a folder that does not exist yet is judged by the nearest one above it."""
    if scene.interpreter is None or scene.host.platform == "win32":
        return
    places = dict(_places(scene.host))
    for name, place in places.items():
        told = f"cache.{name}.path"
        yield (
            told,
            unknown(place, name) if isinstance(place, str) else present(str(place[0]), place[1]),
        )
    found = [
        _Cache(name, place[0], _nearest(scene.host, place[0]), place[1])
        for name, place in places.items()
        if not isinstance(place, str)
    ]
    run_from = [one for one in found if one.name in _RUN_FROM]
    yield (
        "cache.unwritable",
        _listed(
            _cache_value(scene.host, one) for one in run_from if not _writable(scene.host, one)
        ),
    )
    yield (
        "cache.noexec",
        _listed(
            _cache_value(scene.host, one) for one in run_from if _flagged(scene.host, one.there)
        ),
    )
    mounts = _mounts(scene.host)
    kinds = [(one, _kind(one.there, mounts)) for one in found]
    yield (
        "cache.network",
        _listed(
            {**_cache_value(scene.host, one), "type": kind}
            for one, kind in kinds
            if _NETWORK.fullmatch(kind)
        ),
    )
    yield "cache.stale_locks", _stale(scene, [one for one in found if one.name == "extensions"])


def _listed(values: Iterable[Any]) -> Fact:
    found = list(values)
    return present(found, "stat") if found else absent("stat")


def _places(host: Host) -> Iterator[tuple[str, tuple[Path, str] | str]]:
    """Yield where torch and triton look, in their order; a text says why that cannot be told."""
    env, home, user = host.env, _home(host.env), _user(host.env)
    temporary = next((env[name] for name in ("TMPDIR", "TEMP", "TMP") if env.get(name)), "/tmp")  # noqa: S108 - only looked at
    inductor: tuple[Path, str] | str = (
        "this user has no name, and torch makes the folder's name of it"
    )
    if env.get("TORCHINDUCTOR_CACHE_DIR"):
        inductor = Path(env["TORCHINDUCTOR_CACHE_DIR"]), "TORCHINDUCTOR_CACHE_DIR"
    elif user:
        inductor = (
            Path(temporary, f"torchinductor_{user}"),
            "TMPDIR" if env.get("TMPDIR") else "torch's default",
        )
    yield "inductor", inductor
    above = Path(env.get("TRITON_HOME") or home, ".triton", "cache")
    yield (
        "triton",
        _named(
            env,
            "TRITON_CACHE_DIR",
            above,
            "TRITON_HOME" if env.get("TRITON_HOME") else "triton's default",
        ),
    )
    shared = Path(env.get("XDG_CACHE_HOME") or home / ".cache", "torch_extensions")
    if host.platform == "darwin":
        shared = home / "Library/Caches/torch_extensions"
    yield (
        "extensions",
        _named(
            env,
            "TORCH_EXTENSIONS_DIR",
            shared,
            "XDG_CACHE_HOME" if env.get("XDG_CACHE_HOME") else "torch's default",
        ),
    )
    yield "cuda", _named(env, "CUDA_CACHE_PATH", home / ".nv/ComputeCache", "CUDA's default")


def _named(env: Mapping[str, str], variable: str, default: Path, source: str) -> tuple[Path, str]:
    return (Path(env[variable]), variable) if env.get(variable) else (default, source)


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else home_folder() or Path("~")


def _user(env: Mapping[str, str]) -> str:
    """Return what `getpass.getuser` gives; an empty text where it raises."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if env.get(name):
            return env[name]
    return _name_of(os.getuid()) if hasattr(os, "getuid") else ""


def _name_of(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return ""


def _nearest(host: Host, path: Path) -> Path:
    path = host.cwd / path
    return next((folder for folder in (path, *path.parents) if host.exists(folder)), path)


def _writable(host: Host, one: _Cache) -> bool:
    return os.access(host.at(one.there), os.W_OK | os.X_OK)


def _cache_value(host: Host, one: _Cache) -> dict[str, Any]:
    """Describe a cache for people; `owner` only where it is another user's."""
    try:
        owner = host.at(one.there).stat().st_uid
    except OSError:
        return {"path": str(one.path), "cache": one.name}
    other = (
        {"owner": _name_of(owner) or str(owner)}
        if hasattr(os, "getuid") and owner != os.getuid()
        else {}
    )
    return {"path": str(one.path), "cache": one.name, **other}


def _flagged(host: Host, folder: Path) -> bool:
    try:
        return bool(os.statvfs(host.at(folder)).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False


def _mounts(host: Host) -> list[tuple[str, str]]:
    """Return mount point and file system of every mount, in mount order (proc_pid_mountinfo(5))."""
    found = []
    for line in (host.read("/proc/self/mountinfo", limit=1 << 20) or "").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 4 and after:  # the fifth is the mount point, proc_pid_mountinfo(5)
            found.append((fields[4].replace("\\040", " "), after.split(" ")[0]))
    return found


def _kind(folder: Path, mounts: Iterable[tuple[str, str]]) -> str:
    path = os.path.realpath(folder)
    under = [
        (len(point), number, kind)
        for number, (point, kind) in enumerate(mounts)
        if _holds(point, path)
    ]
    return max(under)[2] if under else ""


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def _stale(scene: ProbeInput, extensions: list[_Cache]) -> Fact:
    """List old lock files of extension builds that no process of this user holds open.

    The builder, torch.utils.file_baton, looks at nothing else.
    """
    locks = [
        lock
        for one in extensions
        if scene.interpreter
        for lock in _locks(scene.host, one.path, scene.interpreter)
    ]
    if not locks:
        return absent("extensions")
    held = _open_inodes(scene.host)
    return _listed(str(lock) for lock in locks if os.path.realpath(lock) not in held)


def _locks(host: Host, root: Path, interpreter: Interpreter) -> Iterator[Path]:
    tag = "py" + "".join(interpreter.version.split(".")[:2])
    for pattern in ("*/lock", f"{tag}_*/*/lock"):
        for lock in islice(host.glob(root, pattern), _MOST):
            try:
                seen = lock.lstat()
            except OSError:
                continue
            if stat.S_ISREG(seen.st_mode) and time.time() - seen.st_mtime > _OLD_SECONDS:
                yield lock


def _open_inodes(host: Host) -> set[str]:
    """Return every file that a process of this user holds open.

    Those of others cannot be looked at.
    """
    found = set()
    for descriptor in host.glob("/proc", "[0-9]*/fd/*"):
        try:
            found.add(os.readlink(descriptor))  # noqa: PTH115 - a Path of every file would cost more than the call
        except OSError:
            continue
    return found
