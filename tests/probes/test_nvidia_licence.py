"""Why a virtual GPU has no licence."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.host.nvml import Gpu
from doctor.observe.probes.nvidia.licence import licence
from tests.hosts import facts_of, made_host, values

_TOKEN = "/etc/nvidia/ClientConfigToken/client_configuration_token_06-18-2026.tok"
_SAID = "The allowed time to process response has expired"
_LOG = (
    "Nov 23 02:11:08 vm nvidia-gridd[811]: Failed to acquire license from 192.0.2.4 (Info: "
    "NVIDIA RTX Virtual Workstation - Error: No licenses left)\n"
    "Nov 23 05:41:44 vm nvidia-gridd[811]: Failed to acquire license from 192.0.2.4 (Info: "
    f"NVIDIA RTX Virtual Workstation - Error: {_SAID})\n"
)


_GRANTED = (
    "Nov 23 06:00:00 vm nvidia-gridd[811]: License acquired successfully. (Info: 192.0.2.4, "
    "NVIDIA RTX Virtual Workstation; Expiry: 2026-11-24 6:0:0 GMT)\n"
)
_REFUSED = {"nvidia.vgpu_token": [_TOKEN], "nvidia.vgpu_refusal": _SAID}
_VIRTUAL, _WHOLE = "NVIDIA L40S-24Q", "NVIDIA L40S"


@pytest.mark.parametrize(
    ("name", "licensed", "log", "told"),
    [
        (_VIRTUAL, False, _LOG, _REFUSED),
        (_VIRTUAL, True, _LOG, {}),
        # NVML does not tell: the service's last word counts.
        (_VIRTUAL, None, _LOG, _REFUSED),
        (_VIRTUAL, None, _LOG + _GRANTED, {}),
        (_VIRTUAL, None, _GRANTED + _LOG, _REFUSED),
        (_VIRTUAL, False, _LOG + _GRANTED, _REFUSED),
        (_WHOLE, None, _LOG, {}),
    ],
)
def test_the_last_refusal_of_the_licence_server(
    tmp_path: Path, name: str, licensed: bool | None, log: str, told: dict[str, object]
) -> None:
    host = made_host(tmp_path, {_TOKEN: "x", "/var/log/syslog": log})
    gpus = (Gpu(index=0, name=name, health={"licensed": licensed}),)
    assert values(facts_of(licence(host, gpus))) == told
