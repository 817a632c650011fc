"""Examine resource limits: processors, memory, shared memory, temporary space, IOMMU.

The sources are proc_meminfo(5), control groups of both versions
(https://docs.kernel.org/admin-guide/cgroup-v2.html), and /sys/class/iommu. A container sees the
memory of its host in /proc/meminfo, and its own limit in the control group alone.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput

BOUND = 2.0

# cgroup v1 writes "no limit" as the largest multiple of a page below 2**63.
_NO_LIMIT = 1 << 60
_SHARED = "/dev/shm"  # noqa: S108 - its size is asked for, nothing is written


def probe(scene: ProbeInput) -> FactStream:
    """Yield the `host.*` facts about what a process may use."""
    host = scene.host
    yield "host.cpu_count", present(_processors(), "affinity")
    yield "host.amx", _amx(host)
    yield from _memory(host)
    yield "host.shm_bytes", _shared_memory(host)
    yield from _temporary(host)
    yield "host.iommu", _iommu(host)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _amx(host: Host) -> Fact:
    flags = re.search(
        r"^flags[ \t]*:(.*)$", host.read("/proc/cpuinfo", limit=1 << 16) or "", re.MULTILINE
    )
    return (
        present(True, "/proc/cpuinfo")
        if flags and "amx_tile" in flags[1].split()
        else absent("/proc/cpuinfo")
    )


def _memory(host: Host) -> FactStream:
    lines = re.findall(
        r"^(\w+):[ \t]+(\d+) kB", host.read("/proc/meminfo", limit=1 << 16) or "", re.MULTILINE
    )
    sizes = {name: int(kilobytes) << 10 for name, kilobytes in lines}
    total, free = sizes.get("MemTotal") or _physical(host), sizes.get("MemAvailable")
    limits = tuple(_limits(host))
    smallest = min(limits, key=lambda limit: limit[0], default=None)
    rooms = [limit - used for limit, used, _ in limits] + ([] if free is None else [free])
    yield (
        "host.memory_bytes",
        present(total, "/proc/meminfo") if total else unknown("/proc/meminfo does not tell"),
    )
    if smallest and (not total or smallest[0] < total):
        yield "host.memory_limit_bytes", present(smallest[0], smallest[2])
    else:
        yield "host.memory_limit_bytes", absent("/proc/self/cgroup")
    if rooms:
        yield (
            "host.memory_available_bytes",
            present(max(min(rooms), 0), "/proc/meminfo and /sys/fs/cgroup"),
        )
    else:
        yield "host.memory_available_bytes", unknown("/proc/meminfo does not tell")


def _physical(host: Host) -> int | None:
    if host.platform == "win32" or not hasattr(os, "sysconf"):
        return None
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _groups(host: Host) -> Iterator[tuple[str, str, bool]]:
    """Yield the mount, the path and the generation of each hierarchy that can limit memory."""
    for line in (host.read("/proc/self/cgroup", limit=1 << 16) or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield "/sys/fs/cgroup", path, True
            yield "/sys/fs/cgroup/unified", path, True
        elif "memory" in controllers.split(","):
            yield "/sys/fs/cgroup/memory", path, False


def _limits(host: Host) -> Iterator[tuple[int, int, str]]:
    """Yield limit, use and file of every group from our own up to the root.

    Inside a container only the root may be there.
    """
    for mount, path, second in _groups(host):
        names = ("memory.max", "memory.current", "inactive_file") if second else _FIRST_GENERATION
        inner = posixpath.normpath("/" + path.lstrip("/"))
        while True:
            folder = f"{mount}{inner.rstrip('/')}"
            limit = _number(host, f"{folder}/{names[0]}")
            if limit is not None and limit < _NO_LIMIT:
                yield limit, _used(host, folder, names), f"{folder}/{names[0]}"
            if inner == "/":
                break
            inner = posixpath.dirname(inner)


_FIRST_GENERATION = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _number(host: Host, path: str) -> int | None:
    text = (host.read(path, limit=64) or "").strip()
    return int(text) if text.isdecimal() else None


def _used(host: Host, folder: str, names: tuple[str, str, str]) -> int:
    # The page cache counts as used, yet the kernel gives its inactive part back before it kills
    # anything.
    stat = host.read(f"{folder}/memory.stat", limit=1 << 16) or ""
    cache = re.search(rf"^{names[2]} (\d+)$", stat, re.MULTILINE)
    return (_number(host, f"{folder}/{names[1]}") or 0) - (int(cache[1]) if cache else 0)


def _shared_memory(host: Host) -> Fact:
    try:
        seen = os.statvfs(host.at(_SHARED))
    except (OSError, AttributeError):
        return absent(_SHARED)
    return present(seen.f_blocks * seen.f_frsize, f"statvfs {_SHARED}")


def _temporary(host: Host) -> FactStream:
    names = (host.env.get(variable) for variable in ("TMPDIR", "TEMP", "TMP"))
    folder = next((name for name in names if name), "/tmp")  # noqa: S108 - only looked at
    try:
        seen = os.statvfs(host.at(folder))
    except (OSError, AttributeError) as error:
        why = str(error) or "this platform has no statvfs"
        yield "host.tmp_free_bytes", unknown(why, folder)
        yield "host.tmp_noexec", unknown(why, folder)
        return
    yield "host.tmp_free_bytes", present(seen.f_bavail * seen.f_frsize, f"statvfs {folder}")
    flag = getattr(os, "ST_NOEXEC", None)
    if flag is None:
        yield "host.tmp_noexec", unknown("this platform does not tell mount flags", folder)
    else:
        yield "host.tmp_noexec", present(bool(seen.f_flag & flag), f"statvfs {folder}")


def _iommu(host: Host) -> Fact:
    if not host.exists("/sys/class"):
        return absent("/sys/class/iommu")
    if not host.list("/sys/class/iommu"):
        return present(False, "/sys/class/iommu")
    kinds = {
        (host.read(path, limit=64) or "").strip()
        for path in host.glob("/sys/kernel/iommu_groups", "*/type")
    }
    if kinds - {""}:
        return present(
            any(kind.startswith("DMA") for kind in kinds), "/sys/kernel/iommu_groups/*/type"
        )
    words = (host.read("/proc/cmdline", limit=1 << 16) or "").split()
    return present(not {"iommu=pt", "iommu.passthrough=1"} & set(words), "/proc/cmdline")
