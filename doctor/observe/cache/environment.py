"""Digest everything that a CPU check depends on: files, variables, facts, this boot."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from doctor.facts.derive.reach import vendors_shown
from doctor.host import Host
from doctor.model.facts import Facts
from doctor.observe.scene import Distribution, Interpreter, ProbeInput

_CHANGING = frozenset(
    {"build.max_jobs", "cache.stale_locks", "host.memory_available_bytes", "host.tmp_free_bytes"}
)
"""Facts that differ from one minute to the next and decide nothing by themselves."""
_GPU_FACTS = ("amd.", "gpu.", "intel.", "nvidia.")
"""Facts about GPUs: temperatures, memory, processes.

What opens a GPU is never kept, so that they need not hold still.
"""
_HELD = frozenset(
    {
        "amd.driver",
        "intel.driver",
        "nvidia.capabilities",
        "nvidia.driver_version",
        "nvidia.gpu_count",
        "nvidia.gpu_names",
    }
)
"""Those among them that change with the driver or the cards only."""
_OF_THE_SHELL = frozenset(
    {
        "COLUMNS",
        "DISPLAY",
        "LINES",
        "OLDPWD",
        "PS1",
        "PYTEST_CURRENT_TEST",
        "SHLVL",
        "STY",
        "TERM",
        "TERM_SESSION_ID",
        "WINDOWID",
        "_",
    }
)
_OF_THE_SESSION = ("DBUS_", "SSH_", "TMUX", "VSCODE_", "VTE_", "WAYLAND_", "XDG_SESSION_")
"""Variables that differ between two windows of one user and reach no framework."""
_SYSTEM = (
    *(
        "/etc/ld.so.cache",
        "/etc/ld.so.preload",
        "/var/lib/dpkg/status",
        "/var/lib/rpm/rpmdb.sqlite",
        "/lib/apk/db/installed",
    ),
    *(
        "/var/lib/pacman/local",
        "/Library/Developer/CommandLineTools",
        "/Library/Receipts/InstallHistory.plist",
    ),
)
"""What changes whenever the system's libraries and compilers are changed by its package manager."""
_BOOT = "/proc/sys/kernel/random/boot_id"
_NOT_OURS = frozenset({"__pycache__"})
_OTHERS_OF_STDLIB = _NOT_OURS | {"site-packages", "dist-packages"}
_SECONDS = 3.0
"""For the walk through all files: on a disk across a network it is cheaper to run the checks."""


def fingerprint(scene: ProbeInput, facts: Facts) -> str:
    """Return a digest of all that a CPU check can notice; empty where that is not known.

    Files count by path, inode, size and time of change of their content, so that nothing is read.
    They are those of every folder on the interpreter's path, of projects that are installed in
    place, of the folders of LD_LIBRARY_PATH, and the libraries of the prefix. It cannot be told
    without Linux's boot id (a kernel that was booted anew may behave anew), and not within three
    seconds.
    """
    interpreter, boot = scene.interpreter, scene.host.read(_BOOT, limit=64)
    if interpreter is None or not boot:
        return ""
    digest = hashlib.blake2b(digest_size=20)
    try:
        for part in (
            boot,
            str(scene.host.cwd),
            *_variables(scene.host),
            *_facts(facts),
            *_files(scene, interpreter),
        ):
            digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    except (OSError, RecursionError):  # a walk that took too long raises an OSError as well
        return ""
    return digest.hexdigest()


def _variables(host: Host) -> Iterator[str]:
    for name in sorted(host.env):
        if name not in _OF_THE_SHELL and not name.startswith(_OF_THE_SESSION):
            yield f"{name}={host.env[name]}"


def _facts(facts: Facts) -> Iterator[str]:
    vendors = vendors_shown(facts)
    yield ",".join(vendors)
    left_out = _GPU_FACTS if vendors else ()
    for name in sorted(facts):
        held = name in _HELD or not name.startswith(left_out)
        if name not in _CHANGING and held:
            yield name + msgspec.json.encode(facts[name]).decode()


def _files(scene: ProbeInput, interpreter: Interpreter) -> Iterator[str]:
    """Yield a line for each file, folder by folder.

    Raises TimeoutError where that takes too long.
    """
    deadline = time.monotonic() + _SECONDS
    system = (str(scene.host.at(path)) for path in _SYSTEM)
    for path in (
        interpreter.executable,
        os.path.realpath(interpreter.executable),
        f"{interpreter.prefix}/pyvenv.cfg",
        *system,
    ):
        yield from _stat(path)
    libraries = [
        f"{prefix}/lib" for prefix in dict.fromkeys((interpreter.prefix, interpreter.base_prefix))
    ]
    searched = [
        part
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
        for part in scene.host.env.get(name, "").replace(" ", ":").split(":")
    ]
    for folder in (*libraries, f"{interpreter.prefix}/conda-meta", *filter(None, searched)):
        yield from _stat(folder)
        yield from _tree(folder, deadline, deep=False)
    for folder in dict.fromkeys((*interpreter.path, *_in_place(scene.distributions))):
        yield from _stat(folder)
        yield from _tree(
            folder,
            deadline,
            skipped=_OTHERS_OF_STDLIB if folder == interpreter.stdlib else _NOT_OURS,
        )


def _in_place(distributions: tuple[Distribution, ...]) -> Iterator[str]:
    """Yield the folders of editable installs (PEP 610), some of which are not on the path."""
    for one in distributions:
        try:
            told = json.loads(one.direct_url) if one.direct_url else {}
            if told.get("dir_info", {}).get("editable"):
                yield unquote(urlsplit(told["url"]).path)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue


def _tree(
    folder: str, deadline: float, *, deep: bool = True, skipped: frozenset[str] = _NOT_OURS
) -> Iterator[str]:
    """Yield a line for each file below a folder.

    A folder that is reached twice, through a link, is told once.
    """
    waiting, seen = [folder], set[tuple[int, int]]()
    while waiting:
        here = waiting.pop()
        if time.monotonic() > deadline:
            raise TimeoutError(here)
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError):
            continue
        for entry in found:
            if entry.name in skipped:
                continue
            try:
                state = entry.stat()
            except OSError:
                yield f"{entry.path} leads nowhere"
                continue
            if not entry.is_dir():
                size, modified = state.st_size, state.st_mtime_ns
                yield f"{entry.path} {state.st_ino} {size} {modified} {state.st_mode}"
            elif deep and (state.st_dev, state.st_ino) not in seen:
                seen.add((state.st_dev, state.st_ino))
                waiting.append(entry.path)


def _stat(path: str) -> Iterator[str]:
    try:
        state = Path(path).stat()
        yield f"{path} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
    except (OSError, ValueError):
        yield f"{path} is not there"
