"""Find out whether a service of systemd runs this process, and whether it has a /dev of its own.

PrivateDevices= mounts a tmpfs on /dev, where the machine's own is a devtmpfs
(https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html).
"""

from __future__ import annotations

import re

from doctor.base.lazy_pattern import Pattern
from doctor.model.facts import FactStream, absent, present
from doctor.observe.scene import ProbeInput

BOUND = 1.0

_CGROUP, _MOUNTS = "/proc/self/cgroup", "/proc/self/mountinfo"
_UNIT = Pattern(r"/system\.slice/(?:[^\n/]{1,128}/){0,4}?([\w@.:\\-]{1,128}\.service)\b")
_DEV = Pattern(r"^\S+ \S+ \S+ \S+ /dev \S+(?: \S+){0,8}? - (\S+) ", re.MULTILINE)
_OF_SERVICES = ("INVOCATION_ID", "SYSTEMD_EXEC_PID")
_OF_LOGINS = ("sshd.service", "ssh.service", "getty@", "cron.service", "crond.service")


def probe(scene: ProbeInput) -> FactStream:
    """Yield `host.service`, `host.unit` and `host.private_dev`."""
    host = scene.host
    groups = host.read(_CGROUP, limit=1 << 16) or ""
    found = _UNIT.search(groups)
    unit = found[1] if found and not found[1].startswith(_OF_LOGINS) else ""
    # A terminal of a desktop has these variables as well, and stands in the slice of its user.
    runs = bool(unit) or (
        "/user.slice" not in groups and all(name in host.env for name in _OF_SERVICES)
    )
    yield "host.service", present(True, _CGROUP) if runs else absent(_CGROUP)
    yield "host.unit", present(unit, _CGROUP) if unit else absent(_CGROUP)
    mounted = _DEV.findall(host.read(_MOUNTS, limit=1 << 18) or "")
    own = bool(mounted) and mounted[-1] == "tmpfs"
    yield "host.private_dev", present(True, _MOUNTS) if own else absent(_MOUNTS)
