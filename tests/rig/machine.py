"""Plays a machine in a mount namespace.

What the kernel shows in /proc, /sys and /dev, and files anywhere else.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

REPLACED = ("/proc/driver", "/sys/module", "/sys/bus/pci/devices", "/sys/class", "/dev")
"""Folders of which the played machine shows only what it was given (and basics in /dev)."""
FORBIDDEN = "forbidden"
"""The content of a device node that belongs to a group of which this user is no member."""
LINK = "-> "
"""How the content of a symbolic link begins."""
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_CONF, _CACHE = "/etc/ld.so.conf", "/etc/ld.so.cache"
_DROPPED = "-dac_override,-dac_read_search"


@cache
def unshare() -> tuple[str, ...] | None:
    """Return the command that gives a command mounts of its own.

    None where this machine allows none.
    """
    if sys.platform != "linux" or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return None
    for command in (("unshare", "-m"), ("unshare", "-r", "-m")):
        if (
            subprocess.run(
                [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                capture_output=True,
                check=False,
            ).returncode
            == 0
        ):
            return command
    return None


def on_machine(
    files: Mapping[str, str],
    command: Sequence[str],
    folder: Path,
    libraries: Path,
    *,
    handed_in: bool = False,
) -> list[str]:
    """Return the command that runs a command on a machine of these files.

    In /dev an empty content makes a device that opens, FORBIDDEN one that does not, any other a
    file; a path that ends in a slash is an empty folder. It is no container: `/.dockerenv` and its
    like are gone, unless `files` has them. The loader finds what lies in `libraries`, of which each
    file is a mount of its own where they are handed in. The command keeps its user, and loses the
    right to open what the mode of a file forbids.
    """
    own = unshare()
    assert own is not None, "this machine allows no mounts of one's own"
    lines = ["set -e", f"mount -t tmpfs tmpfs {folder}"]
    # One process makes all folders: a process for each took a good part of the time.
    homes = [path if path.endswith("/") else os.path.dirname(path) for path in files]  # noqa: PTH120 - of the other machine
    made = (f"'{folder}/root{path}'" for path in dict.fromkeys([*REPLACED, *homes]))
    lines.append(" ".join(["mkdir -p", f"{folder}/new", *made]))
    for path, content in files.items():
        lines += _made(f"{folder}/root{path}", path, content)
    lines += _devices(folder)
    lines += [
        f"if test -d {path}; then mount --rbind {folder}/root{path} {path}; fi" for path in REPLACED
    ]
    lines += [
        line for path in files if not path.startswith(REPLACED) for line in _elsewhere(folder, path)
    ]
    if handed_in:
        each = f'for each in {libraries}/*; do test -L "$each" || '
        lines.append(f'{each}mount --bind "$each" "$each"; done')
    lines += _loaded_from(libraries, folder) + _another_root(folder)
    lines += [f'exec chroot {folder}/new env -C "$PWD" setpriv --bounding-set {_DROPPED} "$@"']
    script = "\n".join(lines)
    return [*own, "sh", "-c", script, "machine", *command]


def _loaded_from(libraries: Path, folder: Path) -> list[str]:
    """Add a folder to the cache of the loader, where a driver's package has its libraries."""
    conf, made, own = f"{folder}/ld.so.conf", f"{folder}/ld.so.cache", "/var/cache/ldconfig"
    return [
        f"echo '{libraries}' > {conf}",
        f"test ! -f {_CONF} || cat {_CONF} >> {conf}",
        # It remembers libraries in a folder of the machine.
        f"test ! -d {own} || mount -t tmpfs tmpfs {own}",
        f"PATH=$PATH:/usr/sbin:/sbin ldconfig -X -C {made} -f {conf} 2>{folder}/ldconfig.log",
        f"mount --bind {made} {_CACHE}",
    ]


def _another_root(folder: Path) -> list[str]:
    """Show every folder of this machine, and hide the files by which containers are known."""
    link = f'if test -L "$each"; then cp -a "$each" {folder}/new/'
    mount = f'elif test -d "$each"; then mount --rbind "$each" "{folder}/new$each"'
    folders = (
        f'for each in /*; do test -L "$each" || ! test -d "$each" || echo "{folder}/new$each"; done'
    )
    files = f"$(cd {folder}/root && find . -maxdepth 1 -type f)"
    return [
        # A mount of its own, so that a command there can have mounts of its own in turn.
        f"mount --bind {folder}/new {folder}/new",
        f"mkdir $({folders})",
        f"for each in /*; do {link}; {mount}; fi; done",
        f"for each in {files}; do cp {folder}/root/$each {folder}/new/$each; done",
    ]


def _made(at: str, path: str, content: str) -> list[str]:
    if path.endswith("/"):
        return []
    if path.startswith("/dev/"):
        lines = [f": > '{at}'"]
        if content not in ("", FORBIDDEN):
            return [*lines, f"printf %s {shlex.quote(content)} > '{at}'"]
        closed = f"chmod 060 '{at}'; chgrp video '{at}' 2>/dev/null || :"
        return [*lines, closed if content == FORBIDDEN else f"mount --bind /dev/null '{at}'"]
    if content.startswith(LINK):
        return [f"ln -s '{content[len(LINK) :]}' '{at}'"]
    quoted = content.replace("'", "'\\''")
    return [f"printf %s '{quoted}' > '{at}'"]


def _devices(folder: Path) -> list[str]:
    """Bring what every program needs into the other /dev."""
    home = f"{folder}/root/dev"
    lines = [
        (
            f"if test -e /dev/{name}; then : > {home}/{name}; mount --bind /dev/{name} "
            f"{home}/{name}; fi"
        )
        for name in _NODES
    ]
    lines += [
        (
            f"if test -d /dev/{name}; then mkdir {home}/{name}; mount --bind /dev/{name} "
            f"{home}/{name}; fi"
        )
        for name in ("shm", "pts")
    ]
    return lines + [f"ln -s {target} {home}/{name}" for name, target in _LINKS.items()]


def _elsewhere(folder: Path, path: str) -> list[str]:
    """Show a file that is not under a folder that is replaced.

    Over the one that is there, else over a layer of its nearest folder.
    """
    top = "/" + path.split("/")[1]
    if top == path:
        return []
    if top in ("/proc", "/sys"):
        return [f"mount --bind '{folder}/root{path}' '{path}'"]
    layer = f"{folder}/layers{top}"
    mounted = (
        f"test -d {layer} || {{ mkdir -p {layer}/work; mount -t overlay overlay "
        f"-o lowerdir={top},upperdir={folder}/root{top},workdir={layer}/work {top}; }}"
    )
    return [mounted]
