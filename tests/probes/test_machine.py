"""The machine, what it grants, and the environment variables that steer the stack."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.binaries.loader_cache import find_library, loader_cache
from doctor.observe.probes import environment, machine, resources
from doctor.observe.scene import ProbeInput
from tests.hosts import HANG, facts_of, made_host, put, python_at, values

_WIDTH = {"x86_64": 0x0303, "aarch64": 0x0A03}.get(platform.machine(), 3)
_UBUNTU = (
    'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n# ID=no\n'
)


def _cache(entries: Mapping[str, str], *, flags: int = _WIDTH, old_layout: bool = False) -> bytes:
    """Write a loader's cache as ldconfig does."""
    texts, rows = b"", b""
    base = 48 + 24 * len(entries)
    for name, path in entries.items():
        at = base + len(texts)
        rows += struct.pack("<iIIIQ", flags, at, at + len(name) + 1, 0, 0)
        texts += name.encode() + b"\0" + path.encode() + b"\0"
    new = (
        b"glibc-ld.so.cache1.1"
        + struct.pack("<II", len(entries), len(texts))
        + bytes(20)
        + rows
        + texts
    )
    return b"ld.so-1.7.0\0" + bytes(4) + new if old_layout else new


@pytest.mark.parametrize("old_layout", [False, True])
def test_the_loaders_cache_is_read(tmp_path: Path, old_layout: bool) -> None:
    host = made_host(
        tmp_path,
        {"/etc/ld.so.cache": _cache({"libcuda.so.1": "/opt/libcuda.so.1"}, old_layout=old_layout)},
    )
    assert loader_cache(host) == {"libcuda.so.1": ("/opt/libcuda.so.1",)}


def test_libraries_of_another_width_are_left_out(tmp_path: Path) -> None:
    host = made_host(
        tmp_path,
        {"/etc/ld.so.cache": _cache({"libcuda.so.1": "/lib32/libcuda.so.1"}, flags=0x0803)},
    )
    assert dict(loader_cache(host)) == (
        {}
        if platform.machine() in {"x86_64", "aarch64"}
        else {"libcuda.so.1": ("/lib32/libcuda.so.1",)}
    )


@pytest.mark.parametrize(
    "cache", [b"", b"garbage" * 99, _cache({"a": "b"})[:30], _cache({"a": "b"})[:60]]
)
def test_a_broken_cache_is_no_cache(tmp_path: Path, cache: bytes) -> None:
    assert set(loader_cache(made_host(tmp_path, {"/etc/ld.so.cache": cache}))) <= {"a", ""}


def test_ld_library_path_comes_before_the_cache(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/etc/ld.so.cache": _cache({"liba.so": "/cached/liba.so"}),
        "/cached/liba.so": "",
    }
    assert find_library(made_host(tmp_path, files), "liba.so") == "/cached/liba.so"
    host = made_host(tmp_path, {"/first/liba.so": ""}, env={"LD_LIBRARY_PATH": ":/none:/first/"})
    assert find_library(host, "liba.so") == "/first/liba.so"


def test_an_ubuntu_machine(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/etc/os-release": _UBUNTU,
        "/proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
        "/proc/version": "Linux version 5.15.0-91-generic",
        "/lib64/libc.so.6": b"\0GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3.8) stable release "
        b"version 2.35.\n",
        "/lib64/libstdc++.so.6": b"\0GLIBCXX_3.4\0GLIBCXX_3.4.9\0GLIBCXX_3.4.30\0GLIBCXX_3.4.31x\0",
    }
    seen = values(facts_of(machine.probe(ProbeInput(host=made_host(tmp_path, files)))))
    assert seen == {
        "host.os": "linux",
        "host.kernel": "5.15.0-91-generic",
        "host.root": os.geteuid() == 0,
        "host.distribution": "Ubuntu 22.04.5 LTS",
        "host.distribution_id": "ubuntu",
        "host.distribution_version": "22.04",
        "host.package_manager": "apt",
        "host.glibc": "2.35",
        "host.glibcxx_max": "3.4.30",
        "host.machine": platform.machine(),
    }


def test_musl_has_no_glibc(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/lib/ld-musl-x86_64.so.1": "",
        "/etc/os-release": "ID=alpine\nVERSION_ID=3.20.3\n",
    }
    seen = facts_of(machine.probe(ProbeInput(host=made_host(tmp_path, files))))
    assert seen["host.glibc"].state is State.ABSENT
    assert seen["host.package_manager"].value == "apk"


def test_a_library_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    seen = facts_of(
        machine.probe(
            ProbeInput(
                host=made_host(tmp_path, {"/lib64/libstdc++.so.6": "version https://git-lfs"})
            )
        )
    )
    assert seen["host.glibcxx_max"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("files", "env", "kind"),
    [
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/proc/self/cgroup": "0::/kubepods/burstable/pod1"}, {}, "kubernetes"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"/proc/1/cgroup": "4:memory:/docker/0123"}, {}, "docker"),
        ({"/proc/1/environ": "A=1\0container=lxc\0B=2"}, {}, "lxc"),
        ({"/proc/1/environ": "A=1\0mycontainer=lxc\0"}, {}, None),
        ({}, {}, None),
    ],
)
def test_containers(
    tmp_path: Path, files: dict[str, str | bytes], env: dict[str, str], kind: str | None
) -> None:
    assert (
        facts_of(machine.probe(ProbeInput(host=made_host(tmp_path, files, env=env))))[
            "host.container"
        ].value
        == kind
    )


def test_wsl_and_jetson(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/version": "Linux version 5.15.167.4-microsoft-standard-WSL2",
        "/proc/device-tree/model": b"NVIDIA Jetson AGX Orin Developer Kit\0",
    }
    seen = values(facts_of(machine.probe(ProbeInput(host=made_host(tmp_path, files)))))
    assert (seen["host.wsl"], seen["host.jetson"]) == (True, "NVIDIA Jetson AGX Orin Developer Kit")


@pytest.mark.parametrize(
    "library", ["/mnt/c/Windows/System32/nvcuda.dll", "/usr/lib/wsl/lib/libcuda.so.1"]
)
@pytest.mark.parametrize("shown", [(), ("/dev/dxg",)])
def test_cuda_of_windows_is_asked_for_where_wsl_hands_no_gpu_in(
    tmp_path: Path, shown: tuple[str, ...], library: str
) -> None:
    files = {"/proc/version": "Linux version 4.4.0-19041-Microsoft", library: "MZ"}
    host = made_host(tmp_path, {**files, **dict.fromkeys(shown, "")})
    facts = values(facts_of(machine.probe(ProbeInput(host=host))))
    assert facts.get("host.wsl_windows_cuda") == (None if shown else library)
    assert facts["host.wsl_dxg"] is bool(shown)


@pytest.mark.parametrize(("process", "translated"), [("x86_64", True), ("arm64", False)])
def test_rosetta_is_what_the_interpreter_says_on_apple_silicon(
    tmp_path: Path, process: str, translated: bool
) -> None:
    host = made_host(tmp_path, tools={"sysctl": 'echo "1"'}, platform="darwin")
    seen = values(
        facts_of(
            machine.probe(ProbeInput(host=host, interpreter=python_at(tmp_path, machine=process)))
        )
    )
    assert (seen["host.os"], seen["host.machine"], seen["host.rosetta"]) == (
        "macos",
        "arm64",
        translated,
    )


_MEMINFO = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n"


def test_the_smallest_limit_above_us_counts(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/meminfo": _MEMINFO,
        "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/b/memory.max": "max\n",
        "/sys/fs/cgroup/a/memory.max": f"{2 << 30}\n",
        "/sys/fs/cgroup/a/memory.current": f"{1 << 30}\n",
        "/sys/fs/cgroup/a/memory.stat": f"anon 5\ninactive_file {1 << 29}\n",
        "/sys/fs/cgroup/memory.max": f"{4 << 30}\n",
    }
    seen = values(facts_of(resources.probe(ProbeInput(host=made_host(tmp_path, files)))))
    assert seen["host.memory_bytes"] == 16000000 << 10
    assert seen["host.memory_limit_bytes"] == 2 << 30
    assert seen["host.memory_available_bytes"] == (2 << 30) - (1 << 30) + (1 << 29)


def test_the_first_generation_mounts_a_container_at_its_root(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/meminfo": _MEMINFO,
        "/proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/0123\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{1 << 30}\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{1 << 20}\n",
    }
    seen = values(facts_of(resources.probe(ProbeInput(host=made_host(tmp_path, files)))))
    assert seen["host.memory_limit_bytes"] == 1 << 30
    assert seen["host.memory_available_bytes"] == (1 << 30) - (1 << 20)


@pytest.mark.parametrize("limit", ["9223372036854771712", "max", "", "many", str(1 << 40)])
def test_no_limit_and_no_sense_are_no_limit(tmp_path: Path, limit: str) -> None:
    files: dict[str, str | bytes] = {
        "/proc/meminfo": _MEMINFO,
        "/proc/self/cgroup": "4:memory:/../..\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": limit,
    }
    seen = facts_of(resources.probe(ProbeInput(host=made_host(tmp_path, files))))
    assert seen["host.memory_limit_bytes"].state is State.ABSENT
    assert seen["host.memory_available_bytes"].value == 8000000 << 10


def test_shared_memory_and_temporary_folder(tmp_path: Path) -> None:
    put(tmp_path / "root/dev/shm/x")
    seen = facts_of(
        resources.probe(
            ProbeInput(host=made_host(tmp_path, env={"TMPDIR": str(tmp_path / "none")}))
        )
    )
    held = os.statvfs(tmp_path)
    assert seen["host.shm_bytes"].value == held.f_blocks * held.f_frsize
    assert seen["host.tmp_free_bytes"].state is State.UNKNOWN
    (tmp_path / "root/tmp").mkdir()
    assert values(facts_of(resources.probe(ProbeInput(host=made_host(tmp_path)))))[
        "host.tmp_free_bytes"
    ]


@pytest.mark.parametrize(
    ("files", "translates"),
    [
        ({"/sys/class/net/lo": ""}, False),
        ({"/sys/class/iommu/dmar0/x": "", "/proc/cmdline": "quiet"}, True),
        ({"/sys/class/iommu/dmar0/x": "", "/proc/cmdline": "quiet iommu=pt"}, False),
        ({"/sys/class/iommu/ivhd0/x": "", "/sys/kernel/iommu_groups/0/type": "identity\n"}, False),
        ({"/sys/class/iommu/ivhd0/x": "", "/sys/kernel/iommu_groups/0/type": "DMA-FQ\n"}, True),
        ({}, None),
    ],
)
def test_iommu(tmp_path: Path, files: dict[str, str | bytes], translates: bool | None) -> None:
    assert (
        facts_of(resources.probe(ProbeInput(host=made_host(tmp_path, files))))["host.iommu"].value
        is translates
    )


def test_the_environment_is_an_allow_list(tmp_path: Path) -> None:
    env = {
        "CUDA_HOME": "/opt/cuda",
        "NCCL_DEBUG": "INFO",
        "HOME": "/home/me",
        "AWS_REGION": "x",
        "TORCH_HUB_TOKEN": "abc",
        "CC": "",
    }
    seen = facts_of(environment.probe(ProbeInput(host=made_host(tmp_path, env=env))))
    assert values(seen) == {"env.CUDA_HOME": "/opt/cuda", "env.NCCL_DEBUG": "INFO", "env.CC": ""}
    assert seen["env.LD_PRELOAD"].state is State.ABSENT


@pytest.mark.parametrize(
    "value", ["hf_0123456789abcdef", "https://me:pw@host/x", "a --token=x", "ghp_0123456789abcdef"]
)
def test_a_value_that_looks_secret_is_not_taken(tmp_path: Path, value: str) -> None:
    fact = facts_of(
        environment.probe(ProbeInput(host=made_host(tmp_path, env={"CMAKE_ARGS": value})))
    )["env.CMAKE_ARGS"]
    assert fact.state is State.UNKNOWN
    assert value not in str(fact)


def test_a_hung_sysctl_costs_little(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools={"sysctl": HANG}, platform="darwin")
    seen = facts_of(machine.probe(ProbeInput(host=host), patience=0.3))
    assert seen["host.rosetta"].state is State.UNKNOWN
    assert seen["host.os"].value == "macos"


def test_every_fact_has_a_name_in_the_vocabulary() -> None:
    scene = ProbeInput(host=Host())
    names = [
        name for probe in (machine, resources, environment) for name in facts_of(probe.probe(scene))
    ]
    assert [name for name in names if not is_known(name)] == []
