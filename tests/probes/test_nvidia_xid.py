"""Xids of the kernel's log: which are kept, and which of them call for an action."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.model.facts import State
from doctor.observe.probes.nvidia.xid import kernel_log
from tests import toy
from tests.hosts import made_host

_SEEN = """\
6,1,662848,-;nvidia: loading out-of-tree module taints kernel.
 SUBSYSTEM=pci
 DEVICE=+pci:0000:00:06.0
6,2,36169015,-;NVRM: GPU at PCI:0000:00:06: GPU-58c034bb-ff23-0004-b010-47ca6f9e2400
6,3,36169023,-;NVRM: Xid (PCI:0000:00:06): 43, pid=459, name=python, channel 0x00000018
6,4,37546612,-;NVRM: Xid (PCI:0000:00:06): 43, pid=463, name=python, channel 0x00000051
6,5,57871103,-;NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): Misaligned Address
6,6,58550434,-;NVRM: Xid (PCI:0000:00:06): 31, pid=1193, name=cu-illegal, channel 0x00000015, intr 00000000. MMU Fault
6,7,61018853,c;NVRM: Xid (PCI:0000:00:06 GPU-I:01): 43, pid=1318, name=cu-trap, channel 0x0000000a
4,8,85659522,-;NVRM: migconfigsessionConstruct_IMPL: Capability validation failed
"""  # noqa: E501
"""Of an H100 with driver 580.159.04, on which programs with faults ran."""


def test_the_reports_are_counted_by_gpu_and_number(tmp_path: Path) -> None:
    fact = kernel_log(made_host(tmp_path, {"/dev/kmsg": _SEEN})).xids
    assert fact.state is State.PRESENT
    assert fact.value == [
        {
            "code": 43,
            "pci_bus_id": "0000:00:06",
            "count": 3,
            "last_seconds": 61,
            "text": "pid=1318, name=cu-trap, channel 0x0000000a",
            "process": "cu-trap",
        },
        {
            "code": 13,
            "pci_bus_id": "0000:00:06",
            "count": 1,
            "last_seconds": 57,
            "text": "Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): Misaligned Address",
        },
        {
            "code": 31,
            "pci_bus_id": "0000:00:06",
            "count": 1,
            "last_seconds": 58,
            "text": "pid=1193, name=cu-illegal, channel 0x00000015, intr 00000000. MMU Fault",
            "process": "cu-illegal",
        },
    ]


def test_a_log_without_reports_and_a_log_that_is_not_shown(tmp_path: Path) -> None:
    assert kernel_log(made_host(tmp_path)).xids.state is State.UNKNOWN
    assert (
        kernel_log(made_host(tmp_path, {"/dev/kmsg": "6,1,1,-;hello\n"})).xids.state is State.ABSENT
    )
    odd = "6,1,1,-;NVRM: Xid (PCI:" + "0" * 100_000 + "\n" + "NVRM: Xid\n" * 1000
    assert kernel_log(made_host(tmp_path, {"/dev/kmsg": odd})).xids.state is State.ABSENT


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every log")
def test_a_log_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    host = made_host(tmp_path, {"/dev/kmsg": _SEEN})
    (tmp_path / "root/dev/kmsg").chmod(0)
    assert kernel_log(host).xids.state is State.UNKNOWN


def test_many_kinds_of_reports_are_bounded(tmp_path: Path) -> None:
    lines = (f"6,1,{code},-;NVRM: Xid (PCI:0000:00:06): {code}, x\n" for code in range(1000))
    assert len(kernel_log(made_host(tmp_path, {"/dev/kmsg": "".join(lines)})).xids.value) == 64


_GPU = {"index": 2, "name": "NVIDIA H100", "pci_bus_id": "0000:00:06.0"}


def _xid(code: int, at: int = 100, text: str = "", place: str = "0000:00:06") -> dict[str, Any]:
    return {"code": code, "pci_bus_id": place, "count": 1, "last_seconds": at, "text": text}


def _sorts(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return what the reports call for: restart, reset, watch."""
    facts = {"nvidia.gpus": [_GPU], "nvidia.visible": [_GPU], "nvidia.xid": list(listed), **more}
    derived = derive(toy.seen(facts).facts, load())
    names = ("restart", "reset", "watch")
    return {
        name: len(found.value) for name in names if (found := derived[f"nvidia.xid_{name}"]).value
    }


@pytest.mark.parametrize("code", [13, 31, 43, 45, 8, 32, 69, 106, 108, 137])
def test_faults_of_programs_call_for_nothing(code: int) -> None:
    assert _sorts(_xid(code)) == {}


@pytest.mark.parametrize(
    ("code", "sort"),
    [(79, "restart"), (48, "reset"), (119, "reset"), (143, "reset"), (63, "watch"), (94, "watch")],
)
def test_what_nvidia_advises(code: int, sort: str) -> None:
    assert _sorts(_xid(code)) == {sort: 1}


def test_an_error_of_nvlink_counts_where_it_is_fatal() -> None:
    assert _sorts(_xid(149, text="NETIR_LINK_EVT  Nonfatal XC0 i0 Link 08")) == {}
    assert _sorts(_xid(149, text="NETIR_LINK_EVT  Fatal   XC0 i0 Link 08")) == {"reset": 1}


def test_the_last_word_of_the_driver_replaces_what_it_said_before() -> None:
    reset = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    well = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    assert _sorts(_xid(95, 50), _xid(154, 60, reset)) == {"reset": 1}
    assert _sorts(_xid(95, 50), _xid(154, 60, well)) == {}
    assert _sorts(_xid(95, 70), _xid(154, 60, well)) == {"reset": 1}


def test_gpus_that_are_not_of_this_process_are_left_out() -> None:
    other = {"index": 0, "pci_bus_id": "0000:81:00.0"}
    far = _xid(119, place="0000:81:00")
    assert _sorts(far, **{"nvidia.gpus": [_GPU, other]}) == {}
    assert _sorts(far) == {"reset": 1}
    assert _sorts(far, **{"host.container": "docker"}) == {}


def test_odd_values_of_a_replayed_snapshot_are_no_reports() -> None:
    assert _sorts({"code": "x"}, {"code": 119, "last_seconds": "x", "pci_bus_id": 4}) == {
        "reset": 1
    }


def test_a_start_that_failed_and_firmware_that_is_missing(tmp_path: Path) -> None:
    log = kernel_log(
        made_host(
            tmp_path,
            {
                "/dev/kmsg": (
                    "3,1,1,-;nvidia 0000:10:00.0: Direct firmware load for "
                    "nvidia/580.95.05/gsp_ga10x.bin failed with error -2\n"
                    "3,2,2,-;NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x61:0x56:1852)\n"
                    "3,3,3,-;NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x61:0x56:1852)\n"
                    "3,4,4,-;NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:"
                    "\\x0aNVRM: BAR1 is 0M @ 0x0 (PCI:0000:02:00.0)\n"
                    "3,5,5,-;NVRM: GPU 0000:0A:00.0: GPU does not have the necessary power cables "
                    "connected.\n"
                    "3,6,6,-;nvidia 0000:03:00.0: Unable to change power state from D3cold to D0, "
                    "device inaccessible\n"
                    "3,7,7,-;iwlwifi 0000:04:00.0: Unable to change power state from D3cold to D0, "
                    "device inaccessible\n"
                )
            },
        )
    )
    assert log.firmware_missing.value == ["nvidia/580.95.05/gsp_ga10x.bin"]
    assert log.bar_missing.value == ["0000:02:00.0: BAR1 is 0M @ 0x0"]
    assert log.start_failed.value == ["0000:10:00.0: RmInitAdapter failed! (0x61:0x56:1852)"]
    assert log.unpowered.value == [
        "0000:0a:00.0: GPU does not have the necessary power cables connected"
    ]
    assert log.asleep.value == [
        "0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible"
    ]
    assert log.xids.state is State.ABSENT


def test_what_the_kernel_says_of_switches_and_of_peer_memory(tmp_path: Path) -> None:
    log = kernel_log(
        made_host(
            tmp_path,
            {
                "/dev/kmsg": (
                    "3,1,1,-;nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 "
                    "LTSSM Fault Up\n"
                    "3,2,2,-;nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 22013, Non-fatal, Link "
                    "27\n"
                    "3,3,3,-;nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err "
                    "-2)\n"
                )
            },
        )
    )
    assert log.sxid_fatal.value == [
        "NVSwitch 2 (0000:85:00.0): SXid 20034, Fatal, Link 30 LTSSM Fault Up"
    ]
    assert log.peermem_refused.value == [
        "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)"
    ]
    assert log.xids.state is State.ABSENT
