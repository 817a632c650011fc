"""Tell why a virtual GPU (vGPU) may have no licence: its token, and the log of nvidia-gridd.

NVIDIA's service nvidia-gridd reads the token from /etc/nvidia/ClientConfigToken and writes into the
system's log (https://docs.nvidia.com/license-system/latest/).
"""

from __future__ import annotations

import os
import re

from doctor.host import Host
from doctor.host.nvml import Gpu
from doctor.model.facts import Fact, FactStream, State, absent, present

_TOKENS = "/etc/nvidia/ClientConfigToken"
_LOGS = ("/var/log/syslog", "/var/log/messages")
_TAIL = 1 << 18
_REFUSED, _WHY = b"Failed to acquire license", b" - Error: "
_GRANTED = (b"License acquired successfully", b"License renewed successfully")
_VIRTUAL = re.compile(r"-\d{1,3}[ABCQ]$")
"""How the name of a virtual GPU ends: its memory in GiB and the letter of its series."""
_LONGEST = 160


def licence(host: Host, gpus: tuple[Gpu, ...]) -> FactStream:
    """Yield the token and the last refusal, where a virtual GPU has no licence.

    Where NVML does not say whether it has one, the service's last word counts.
    """
    told = [(gpu, (gpu.health or {}).get("licensed")) for gpu in gpus]
    refused = any(word is False for _, word in told)
    unsaid = any(word is None and _VIRTUAL.search(gpu.name or "") for gpu, word in told)
    said = _refusal(host, lasting=not refused) if refused or unsaid else None
    if said is None or (not refused and said.state is not State.PRESENT):
        yield "nvidia.vgpu_token", absent("no virtual GPU without a licence")
        yield "nvidia.vgpu_refusal", absent("no virtual GPU without a licence")
        return
    tokens = [f"{_TOKENS}/{name}" for name in sorted(host.list(_TOKENS)) if name.endswith(".tok")]
    yield "nvidia.vgpu_token", present(tokens, _TOKENS) if tokens else absent(_TOKENS)
    yield "nvidia.vgpu_refusal", said


def _refusal(host: Host, *, lasting: bool) -> Fact:
    """Return the service's last reason, without the names of machines around it.

    With `lasting`, one after which a licence came is none.
    """
    for path in _LOGS:
        lines = [
            one
            for one in _end(host, path).splitlines()
            if (_REFUSED in one and _WHY in one) or any(words in one for words in _GRANTED)
        ]
        if not lasting:
            lines = [one for one in lines if _REFUSED in one]
        if lines and _REFUSED in lines[-1]:
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
