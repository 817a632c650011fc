"""Limits, processor, clock and MTU, as other programs of this machine name them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.model.facts import State
from doctor.observe.probes import limits
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, values

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sources are those of Linux")

_ULIMIT = {"host.limit_files": ("-n", 1), "host.limit_memlock": ("-l", 1024)}


@pytest.mark.parametrize("name", _ULIMIT)
def test_limits_are_those_of_the_shell(tmp_path: Path, name: str) -> None:
    option, unit = _ULIMIT[name]
    said = subprocess.run(
        ["bash", "-c", f"ulimit {option}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    wanted = said if said == "unlimited" else int(said) * unit
    assert values(facts_of(limits.probe(ProbeInput(host=made_host(tmp_path)))))[name] == wanted


def test_files_name_the_processor_and_the_mtu(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9654\nmodel name\t: other\n",
        "/sys/class/net/eth0/mtu": "9000\n",
        "/sys/class/net/eth0/device/vendor": "0x15b3\n",
        "/sys/class/net/lo/mtu": "65536\n",
    }
    seen = values(facts_of(limits.probe(ProbeInput(host=made_host(tmp_path, files)))))
    assert seen["host.cpu_model"] == "AMD EPYC 9654"
    assert seen["host.network_mtu"] == {"eth0": 9000}


def test_the_kernel_tells_whether_ntp_keeps_the_clock(tmp_path: Path) -> None:
    fact = facts_of(limits.probe(ProbeInput(host=made_host(tmp_path))))["host.clock_synchronized"]
    assert fact.state is State.UNKNOWN or isinstance(fact.value, bool)
