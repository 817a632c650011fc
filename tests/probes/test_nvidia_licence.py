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


@pytest.mark.parametrize(
    ("licensed", "told"),
    [
        (False, {"nvidia.vgpu_token": [_TOKEN], "nvidia.vgpu_refusal": _SAID}),
        (True, {}),
        (None, {}),
    ],
)
def test_the_last_refusal_of_the_licence_server(
    tmp_path: Path, licensed: bool | None, told: dict[str, object]
) -> None:
    host = made_host(tmp_path, {_TOKEN: "x", "/var/log/syslog": _LOG})
    gpus = (Gpu(index=0, name="NVIDIA L40S-24Q", health={"licensed": licensed}),)
    assert values(facts_of(licence(host, gpus))) == told
