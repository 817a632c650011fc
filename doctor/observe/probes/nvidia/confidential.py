"""Ask whether a GPU in a confidential virtual machine takes work.

The kernel has a device for the reports of such a machine: /dev/sev-guest with AMD
(https://docs.kernel.org/virt/coco/sev-guest.html), /dev/tdx_guest with Intel
(https://docs.kernel.org/arch/x86/tdx.html).
"""

from __future__ import annotations

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown

_SIGNS = (
    "/dev/sev-guest",
    "/dev/tdx_guest",
    "/sys/module/sev_guest",
    "/sys/module/tdx_guest",
)
_STATE = Pattern(r"[Rr]eady [Ss]tate:\s{0,8}(not-ready|ready)\b")


def confidential(host: Host, smi: str | None, patience: float) -> FactStream:
    """Yield `host.confidential` and `nvidia.ready_state`; nvidia-smi has `patience` seconds."""
    sign = next(filter(host.exists, _SIGNS), "")
    yield "host.confidential", present(sign, sign) if sign else absent(", ".join(_SIGNS))
    yield (
        "nvidia.ready_state",
        _state(host, smi, patience) if sign else absent("the machine is not confidential"),
    )


def _state(host: Host, smi: str | None, patience: float) -> Fact:
    if smi is None:
        return unknown("nvidia-smi is not on PATH")
    ran = host.run([smi, "conf-compute", "-grs"], timeout=patience, limit=1 << 14)
    found = _STATE.search(ran.output)
    return present(found[1], "nvidia-smi") if found else absent("nvidia-smi")
