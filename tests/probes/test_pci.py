"""The PCI path between GPUs on made-up machines: bridges that redirect, virtual machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import pci
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, put

_GPU, _BRIDGE = "0000:02:00.0", "0000:00:01.0"
_INTEL = "processor\t: 0\nflags\t\t: fpu vme de pse\nvmx flags\t: vnmi\n"


def _space(control: int, *, before: int = 0) -> bytes:
    """Make a PCI configuration of 4096 bytes with an ACS capability, first or second."""
    space, place = bytearray(4096), 0x100
    if before:
        space[place : place + 4] = (before | 1 << 16 | 0x140 << 20).to_bytes(4, "little")
        place = 0x140
    space[place : place + 4] = (0x000D | 1 << 16).to_bytes(4, "little")
    space[place + 6 : place + 8] = control.to_bytes(2, "little")
    return bytes(space)


def _machine(folder: Path, configuration: bytes) -> Host:
    """Make a machine with one GPU below one bridge."""
    host = made_host(
        folder,
        {f"/proc/driver/nvidia/gpus/{_GPU}/information": "Model: B200", "/proc/cpuinfo": _INTEL},
    )
    tree = folder / "root/sys/devices/pci0000:00" / _BRIDGE
    put(tree / "config", configuration)
    put(tree / _GPU / "config", bytes(64))
    devices = folder / "root/sys/bus/pci/devices"
    devices.mkdir(parents=True)
    for name, target in ((_BRIDGE, tree), (_GPU, tree / _GPU)):
        (devices / name).symlink_to(target)
    return host


def _acs(host: Host) -> Fact:
    return facts_of(pci.probe(ProbeInput(host=host)))["host.acs"]


@pytest.mark.parametrize("before", [0, 0x0001])
@pytest.mark.parametrize(
    ("control", "redirects"),
    [(0x1D, True), (0x04, True), (0x01, True), (0x00, False), (0x10, False)],
)
def test_control_of_a_bridge(tmp_path: Path, control: int, redirects: bool, before: int) -> None:
    assert _acs(_machine(tmp_path, _space(control, before=before))).value is redirects


def test_a_bridge_that_only_root_may_read_is_unknown(tmp_path: Path) -> None:
    fact = _acs(_machine(tmp_path, bytes(64)))
    assert (fact.state, "only root" in fact.why) == (State.UNKNOWN, True)


def test_capabilities_in_a_ring_end(tmp_path: Path) -> None:
    ring = bytearray(4096)
    ring[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert _acs(_machine(tmp_path, bytes(ring))).value is False


def test_without_a_gpu_nothing_is_read(tmp_path: Path) -> None:
    assert _acs(made_host(tmp_path)).state is State.ABSENT


def test_a_gpu_that_sys_does_not_show_is_unknown(tmp_path: Path) -> None:
    host = made_host(
        tmp_path,
        {
            f"/proc/driver/nvidia/gpus/{_GPU}/information": "",
            "/proc/driver/nvidia/gpus/../x/information": "",
        },
    )
    assert _acs(host).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({"/proc/cpuinfo": _INTEL}, False),
        ({"/proc/cpuinfo": "flags\t\t: fpu hypervisor lahf_lm\n"}, True),
        (
            {"/proc/cpuinfo": "Features : fp asimd\n", "/sys/class/dmi/id/sys_vendor": "QEMU\n"},
            True,
        ),
        (
            {
                "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
                "/sys/class/dmi/id/product_name": "AS-4125GS\n",
            },
            False,
        ),
        ({}, None),
    ],
)
def test_virtual_machines(
    tmp_path: Path, files: dict[str, str | bytes], virtual: bool | None
) -> None:
    assert (
        facts_of(pci.probe(ProbeInput(host=made_host(tmp_path, files))))[
            "host.virtual_machine"
        ].value
        is virtual
    )


def test_every_fact_has_a_name_in_the_vocabulary() -> None:
    assert [
        name for name in facts_of(pci.probe(ProbeInput(host=Host()))) if not is_known(name)
    ] == []
