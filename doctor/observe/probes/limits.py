"""Examine what differs between nodes of a cluster: limits of a process, processor, clock, MTU.

Limits are those of getrlimit(2), which a job inherits. The kernel says by adjtimex(2) whether NTP
keeps its clock.
"""

from __future__ import annotations

import sys

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput

BOUND = 1.0

_LIMITS = {
    "host.limit_memlock": "RLIMIT_MEMLOCK",
    "host.limit_files": "RLIMIT_NOFILE",
    "host.limit_processes": "RLIMIT_NPROC",
    "host.limit_stack": "RLIMIT_STACK",
}
_NET = "/sys/class/net"
_UNSYNCHRONIZED = 0x0040
"""STA_UNSYNC of <linux/timex.h>."""
_MODEL_KEYS = frozenset({"model name", "cpu model", "CPU part"})


def probe(scene: ProbeInput) -> FactStream:
    """Yield limits, the processor's model, whether NTP keeps the clock, and MTUs."""
    yield from _limits()
    yield "host.cpu_model", _model(scene.host)
    yield "host.clock_synchronized", _clock()
    yield "host.network_mtu", _mtu(scene.host)


def _limits() -> FactStream:
    try:
        import resource
    except ImportError:
        for name in _LIMITS:
            yield name, absent("Windows has no such limits")
        return
    for name, constant in _LIMITS.items():
        number = getattr(resource, constant, None)
        if number is None:
            yield name, absent("getrlimit")
            continue
        soft = resource.getrlimit(number)[0]
        yield name, present("unlimited" if soft == resource.RLIM_INFINITY else soft, "getrlimit")


def _model(host: Host) -> Fact:
    for line in (host.read("/proc/cpuinfo", limit=1 << 16) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in _MODEL_KEYS and value.strip():
            return present(value.strip()[:100], "/proc/cpuinfo")
    return absent("/proc/cpuinfo")


def _clock() -> Fact:
    if not sys.platform.startswith("linux"):
        return unknown("only Linux tells", "adjtimex")
    import ctypes

    # struct timex is 208 bytes on 64-bit Linux; `modes` is its first member, 0 only reads. `status`
    # follows modes, offset, freq, maxerror and esterror, the last four of which are longs.
    raw = ctypes.create_string_buffer(512)
    try:
        failed = ctypes.CDLL(None, use_errno=True).adjtimex(raw) < 0
    except (OSError, AttributeError):
        failed = True
    if failed:
        return unknown("the kernel does not tell", "adjtimex")
    place = 5 * ctypes.sizeof(ctypes.c_long)
    status = ctypes.c_int.from_buffer(raw, place).value
    return present(not status & _UNSYNCHRONIZED, "adjtimex")


def _mtu(host: Host) -> Fact:
    """Return the MTUs of interfaces with hardware behind them; containers have virtual ones."""
    found = {}
    for name in sorted(host.list(_NET))[:64]:
        text = (host.read(f"{_NET}/{name}/mtu", limit=32) or "").strip()
        if text.isdecimal() and host.exists(f"{_NET}/{name}/device"):
            found[name] = int(text)
    return present(found, f"{_NET}/*/mtu") if found else absent(f"{_NET}/*/mtu")
