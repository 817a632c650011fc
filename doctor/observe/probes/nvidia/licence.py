"""Tell why a virtual GPU (vGPU) may have no licence: its token, and the log of nvidia-gridd.

NVIDIA's service nvidia-gridd reads the token from /etc/nvidia/ClientConfigToken and writes into the
system's log (https://docs.nvidia.com/license-system/latest/).
"""

from __future__ import annotations

import os

from doctor.host import Host
from doctor.host.nvml import Gpu
from doctor.model.facts import Fact, FactStream, absent, present

_TOKENS = "/etc/nvidia/ClientConfigToken"
_LOGS = ("/var/log/syslog", "/var/log/messages")
_TAIL = 1 << 18
_REFUSED, _WHY = b"Failed to acquire license", b" - Error: "
_LONGEST = 160


def licence(host: Host, gpus: tuple[Gpu, ...]) -> FactStream:
    """Yield the token and the last refusal, where a virtual GPU has no licence."""
    if not any((gpu.health or {}).get("licensed") is False for gpu in gpus):
        yield "nvidia.vgpu_token", absent("no virtual GPU without a licence")
        yield "nvidia.vgpu_refusal", absent("no virtual GPU without a licence")
        return
    tokens = [f"{_TOKENS}/{name}" for name in sorted(host.list(_TOKENS)) if name.endswith(".tok")]
    yield "nvidia.vgpu_token", present(tokens, _TOKENS) if tokens else absent(_TOKENS)
    yield "nvidia.vgpu_refusal", _refusal(host)


def _refusal(host: Host) -> Fact:
    """Return the service's last reason, without the names of machines around it."""
    for path in _LOGS:
        lines = [one for one in _end(host, path).splitlines() if _REFUSED in one and _WHY in one]
        if lines:
            why = lines[-1].rpartition(_WHY)[2].strip()[:_LONGEST].removesuffix(b")")
            return present(why.decode("utf-8", "replace"), path)
    return absent(", ".join(_LOGS))


def _end(host: Host, path: str) -> bytes:
    try:
        with host.at(path).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read(_TAIL)
    except OSError:
        return b""
