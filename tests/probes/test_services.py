"""Whether a service of systemd runs this process, and what its /dev and its GPU tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import value_of
from doctor.observe.probes import services
from doctor.observe.probes.nvidia.confidential import confidential
from doctor.observe.probes.nvidia.modules import unplaced
from doctor.observe.probes.nvidia.xid import kernel_log
from doctor.observe.scene import ProbeInput
from tests.hosts import made_host, script

_STARTED = {"INVOCATION_ID": "5d0c", "SYSTEMD_EXEC_PID": "204"}
_OWN = "31 30 0:25 / /dev rw,nosuid - tmpfs tmpfs rw,size=4096k,mode=755\n"
_SHARED = "24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,mode=755\n"


@pytest.mark.parametrize(
    ("groups", "env", "mounts", "told"),
    [
        ("0::/system.slice/embed.service\n", {}, _OWN, (True, "embed.service", True)),
        ("0::/system.slice/system-w.slice/w@1.service\n", {}, "", (True, "w@1.service", None)),
        ("0::/\n", _STARTED, _SHARED + _OWN, (True, None, True)),
        ("0::/user.slice/user-1000.slice/t.scope\n", _STARTED, _SHARED, (None, None, None)),
        ("0::/system.slice/sshd.service\n", {}, _SHARED, (None, None, None)),
    ],
)
def test_who_runs_this_process(
    tmp_path: Path,
    groups: str,
    env: dict[str, str],
    mounts: str,
    told: tuple[bool | None, str | None, bool | None],
) -> None:
    files = {"/proc/self/cgroup": groups, "/proc/self/mountinfo": mounts}
    facts = dict(services.probe(ProbeInput(host=made_host(tmp_path, files, env=env))))
    assert tuple(value_of(facts, f"host.{n}") for n in ("service", "unit", "private_dev")) == told


@pytest.mark.parametrize(
    ("files", "said", "state"),
    [
        ({"/dev/sev-guest": ""}, "Confidential Compute GPUs Ready state: not-ready", "not-ready"),
        ({"/dev/tdx_guest": ""}, "Confidential Compute GPUs Ready state: ready", "ready"),
        ({"/dev/sev-guest": ""}, "Invalid combination of input arguments.", None),
        ({}, "Confidential Compute GPUs Ready state: not-ready", None),
    ],
)
def test_whether_a_confidential_gpu_takes_work(
    tmp_path: Path, files: dict[str, str], said: str, state: str | None
) -> None:
    smi = tmp_path / "tools" / "nvidia-smi"
    script(smi, f"echo '{said}'")
    facts = dict(confidential(made_host(tmp_path, files), str(smi), 4.0))
    assert value_of(facts, "nvidia.ready_state") == state


@pytest.mark.parametrize(
    ("second", "holder", "found"),
    [
        ("0x0000000000000000 0x0000000000000000 0x0000000000000000", "", 1),
        ("0x0000000000000000 0x0000000fffffffff 0x0000000020140204", "", 1),
        ("0x0000006000000000 0x0000006fffffffff 0x000000000014220c", "", 0),
        ("0x0000000000000000 0x0000000000000000 0x0000000000000000", "vfio-pci", 0),
    ],
)
def test_a_card_whose_window_has_no_address(
    tmp_path: Path, second: str, holder: str, found: int
) -> None:
    folder = "/sys/bus/pci/devices/0000:04:00.0"
    first = "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200"
    host = made_host(tmp_path, {f"{folder}/resource": f"{first}\n{second}\n"})
    assert unplaced(host, {folder: holder}) == ["0000:04:00.0: BAR1 has no address"][:found]


@pytest.mark.parametrize("between", ["\\x0aNVRM: ", "\n4,803,9401780,-;NVRM: "])
def test_the_line_that_asks_for_the_open_module(tmp_path: Path, between: str) -> None:
    """The kernel writes a line's end within a record as four characters."""
    text = (
        f"4,802,9401772,-;NVRM: The NVIDIA GPU 0000:c1:00.0 (PCI ID: 10de:2bb1){between}"
        "installed in this system requires use of the NVIDIA open kernel modules.\n"
    )
    fact = kernel_log(made_host(tmp_path, {"/dev/kmsg": text})).open_required
    assert fact.value == ["0000:c1:00.0"]
