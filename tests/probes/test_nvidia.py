"""NVIDIA's driver and GPUs: what files show, what NVML says, and what is left when either hangs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import CompletedCommand, Host, Termination
from doctor.host.nvml import ask_nvml, read_answer
from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import nvidia
from doctor.observe.probes.nvidia.files import driver_files
from doctor.observe.scene import ProbeInput
from tests.hosts import BABBLE, HANG, facts_of, made_host, put, script, values

_CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
    "2023\nGCC version:  gcc 12.3.0\n"
)
_OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
    "(dvs-builder@U22)\n"
)
_DRIVER: dict[str, str | bytes] = {"/proc/driver/nvidia/version": _CLOSED}
_SMI = (
    "echo '0, NVIDIA H100 80GB HBM3, 9.0, 81559, Disabled, 535.104.05'; echo '1, NVIDIA A100, "
    "8.0, 40960, Enabled, 535.104.05'"
)

# A library that answers as NVML does. NVML_HANGS_AT and NVML_FAILS_AT name a GPU, or -1 for the
# start; NVML_CODE is the error. NVML_REFUSES names a call that fails for every GPU, NVML_SLEEPS the
# milliseconds that each GPU takes to wake.
_NVML = r"""
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
typedef unsigned long long u64;
static int number(const char *name, int otherwise) { const char *v = getenv(name);
    return v ? atoi(v) : otherwise; }
static int at(const char *name, int index) { const char *v = getenv(name);
    return v && atoi(v) == index; }
static int gate(int index) { if (at("NVML_HANGS_AT", index)) sleep(60);
    return at("NVML_FAILS_AT", index) ? number("NVML_CODE", 18) : 0; }
static int refused(const char *call) {
  const char *v = getenv("NVML_REFUSES");
  return v && !strcmp(v, call) ? number("NVML_CODE", 999) : 0;
}
int nvmlInitWithFlags(unsigned f) { return gate(-1); }
int nvmlInit_v2(void) { return gate(-1); }
const char *nvmlErrorString(int code) {
  if (code == 15) return "GPU is lost";
  if (code == 4) return "Insufficient Permissions";
  return code == 12 ? "NVML Shared Library Not Found" : "Driver/library version mismatch";
}
int nvmlSystemGetDriverVersion(char *out, unsigned n) { strcpy(out, "570.124.06"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12080;
    return refused("CudaDriverVersion"); }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = number("NVML_GPUS", 2); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out) {
  usleep(1000 * number("NVML_SLEEPS", 0));
  *out = (void *)(long)(i + 1);
  return gate(i);
}
int nvmlDeviceGetName(void *d, char *out, unsigned n) { strcpy(out,
    d == (void *)1 ? "NVIDIA B200" : "NVIDIA L4"); return refused("Name"); }
int nvmlDeviceGetUUID(void *d, char *out, unsigned n) { sprintf(out, "GPU-%ld", (long)d);
    return 0; }
struct pci { char old[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out) { sprintf(out->bus_id,
    "00000000:%02lX:00.0", 9 + (long)d); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = d == (void *)1 ? 10 : 8;
    *b = d == (void *)1 ? 0 : 9; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, u64 *out) { out[0] = 1ULL << 34; out[1] = 0;
    out[2] = 1ULL << 30; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *a, unsigned *b) { if (d == (void *)1) { *a = *b = 1;
    return 0; } return 3; }
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *out) { *out = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **out) { *out = (void *)100;
    return i == 3 ? 0 : 6; }
int nvmlDeviceGetGpuInstanceId(void *d, unsigned *out) { *out = 5; return 0; }
int nvmlDeviceGetComputeInstanceId(void *d, unsigned *out) { *out = 0; return 0; }
int nvmlDeviceGetComputeMode(void *d, int *out) { *out = d == (void *)1 ? 3 : 0; return 0; }
int nvmlDeviceGetPersistenceMode(void *d, int *out) { *out = 1; return 0; }
int nvmlDeviceGetRemappedRows(void *d, unsigned *a, unsigned *b, unsigned *pending,
    unsigned *failed) {
  *a = 0; *b = 2; *pending = 1; *failed = 0; return d == (void *)1 ? 0 : 3;
}
int nvmlDeviceGetTotalEccErrors(void *d, int kind, int counter, u64 *out) {
  if (d == (void *)1 && at("NVML_HANGS_LATE", 0)) sleep(60);
  *out = 10 * kind + counter; return d == (void *)1 ? 0 : 3;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, u64 *out) { *out = 0x1 | 0x80; return 0; }
int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out) { *out = 300000; return 0; }
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out) { *out = 700000; return 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *out) { *out = 8; return 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *out) { *out = 16; return 0; }
struct fabric { unsigned version; unsigned char cluster[16]; int status; unsigned clique;
    unsigned char state; unsigned mask; };
int nvmlDeviceGetGpuFabricInfoV(void *d, struct fabric *out) { out->state = 2; out->status = 0;
    return 0; }
struct process { unsigned pid; u64 bytes; unsigned gpu, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, struct process *out) {
  if (d != (void *)1) { *count = 0; return 0; }
  if (!out || !*count) { *count = 1; return 7; }
  *count = 1; out[0].pid = 4711; out[0].bytes = 1 << 20; return 0;
}
"""


@pytest.fixture(scope="session")
def fake_nvml(needs: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a library that answers as NVML does."""
    folder = tmp_path_factory.mktemp("nvml")
    source = put(folder / "nvml.c", _NVML)
    subprocess.run(
        [needs("cc"), "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)],
        check=True,
    )
    return folder


@pytest.fixture
def no_nvml(tmp_path: Path) -> str:
    """Return an LD_LIBRARY_PATH that hides this machine's NVML behind a file of text."""
    return str(put(tmp_path / "broken/libnvidia-ml.so.1", "no library").parent)


def _seen(host: Host, patience: float = 2.0) -> dict[str, object]:
    return values(facts_of(nvidia.probe(ProbeInput(host=host), patience=patience)))


def test_without_nvidia_nothing_is_started(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools={"nvidia-smi": f"touch {tmp_path}/started"})
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    assert values(facts) == {
        "nvidia.gpu_present": False,
        "nvidia.smi": str(tmp_path / "root/tools/nvidia-smi"),
    }
    assert not (tmp_path / "started").exists()
    assert {
        facts[f"nvidia.{name}"].state for name in ("driver_version", "gpus", "visible", "nvml")
    } == {State.ABSENT}
    assert [name for name in facts if not is_known(name)] == []


@pytest.mark.parametrize(
    ("files", "version", "branch"),
    [
        ({"/proc/driver/nvidia/version": _CLOSED}, "535.104.05", 535),
        ({"/proc/driver/nvidia/version": _OPEN}, "580.65.06", 580),
        ({"/sys/module/nvidia/version": "470.256.02\n"}, "470.256.02", 470),
    ],
)
def test_the_kernel_tells_the_driver(
    tmp_path: Path, no_nvml: str, files: dict[str, str | bytes], version: str, branch: int
) -> None:
    seen = _seen(made_host(tmp_path, files, env={"LD_LIBRARY_PATH": no_nvml}))
    assert (seen["nvidia.driver_version"], seen["nvidia.driver_branch"]) == (version, branch)


@pytest.mark.parametrize(
    ("kind", "shows"), [("0x030200", True), ("0x030000", True), ("0x040300", False)]
)
def test_a_gpu_without_a_driver_is_seen_on_the_bus(tmp_path: Path, kind: str, shows: bool) -> None:
    device = "/sys/bus/pci/devices/0000:01:00.0"
    seen = _seen(
        made_host(tmp_path, {f"{device}/vendor": "0x10de\n", f"{device}/class": f"{kind}\n"})
    )
    assert seen["nvidia.gpu_present"] is shows
    assert "nvidia.driver_version" not in seen


def test_nvml_tells_everything(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(
        tmp_path, _DRIVER, {"nvidia-smi": HANG}, env={"LD_LIBRARY_PATH": str(fake_nvml)}
    )
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    seen = values(facts)
    assert seen["nvidia.driver_version"] == "535.104.05"
    assert seen["nvidia.cuda_version"] == "12.8"
    every = {"memory_bytes": 1 << 34, "memory_used_bytes": 1 << 30, "persistence": True}
    health = {
        "slowdown": ["hardware power brake"],
        "power_limit_w": 300,
        "power_default_w": 700,
        "pcie_width": 8,
        "pcie_width_max": 16,
    }
    health["fabric_state"] = "in progress"
    rows = {
        "remapped_uncorrectable": 2,
        "remap_pending": True,
        "remap_failed": False,
        "ecc_uncorrected": 10,
        "ecc_uncorrected_ever": 11,
    }
    part = {
        "index": 3,
        "uuid": "GPU-100",
        "name": "NVIDIA L4",
        "gpu_instance": 5,
        "compute_instance": 0,
    }
    first = {
        "index": 0,
        "name": "NVIDIA B200",
        "capability": "10.0",
        "uuid": "GPU-1",
        "pci_bus_id": "0000:0a:00.0",
        **every,
    }
    first |= {
        "mig": True,
        "mig_devices": [part],
        "compute_mode": "exclusive_process",
        "health": {**rows, **health},
    }
    second = {
        "index": 1,
        "name": "NVIDIA L4",
        "capability": "8.9",
        "uuid": "GPU-2",
        "pci_bus_id": "0000:0b:00.0",
        **every,
    }
    second |= {"mig": False, "compute_mode": "default", "processes": [], "health": health}
    assert seen["nvidia.gpus"] == [
        {**first, "processes": [{"pid": 4711, "memory_bytes": 1 << 20}]},
        second,
    ]
    assert {facts[f"nvidia.{name}"].state for name in ("nvml", "gpu_errors", "visible_error")} == {
        State.ABSENT
    }
    assert [name for name in facts if not is_known(name)] == []


def test_an_nvml_that_hangs_costs_what_only_it_knows(tmp_path: Path, fake_nvml: Path) -> None:
    files = {
        **_DRIVER,
        "/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t NVIDIA B200\nIRQ: 1\n",
    }
    tools = {"nvidia-smi": f"touch {tmp_path}/asked"}
    host = made_host(
        tmp_path, files, tools, env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_HANGS_AT": "-1"}
    )
    started = time.monotonic()
    facts = facts_of(nvidia.probe(ProbeInput(host=host), patience=0.7))
    assert time.monotonic() - started < 50
    assert "did not answer within 0.7 s" in facts["nvidia.gpus"].why
    seen = values(facts)
    assert (seen["nvidia.nvml"], seen["nvidia.gpu_names"]) == (
        "NVML did not answer within 0.7 s",
        ["NVIDIA B200"],
    )
    assert seen["nvidia.driver_version"] == "535.104.05"
    assert not (tmp_path / "asked").exists()


def test_a_gpu_that_hangs_costs_itself_alone(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(
        tmp_path,
        _DRIVER,
        env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_GPUS": "3", "NVML_HANGS_AT": "1"},
    )
    facts = facts_of(nvidia.probe(ProbeInput(host=host), patience=0.7))
    assert facts["nvidia.gpu_errors"].value == ["GPU 1: NVML did not answer within 0.7 s"]
    assert [gpu.get("error") for gpu in facts["nvidia.gpus"].value] == [
        *(
            None,
            "NVML did not answer within 0.7 s",
            "not asked: NVML did not answer within 0.7 s about GPU 1",
        )
    ]
    assert facts["nvidia.nvml"].state is State.ABSENT


def test_who_a_gpu_is_outlives_a_hang_over_how_it_is(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(
        tmp_path, _DRIVER, env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_HANGS_LATE": "0"}
    )
    gpus = facts_of(nvidia.probe(ProbeInput(host=host), patience=0.7))["nvidia.gpus"].value
    assert [(gpu["name"], gpu.get("error")) for gpu in gpus] == [
        ("NVIDIA B200", "NVML did not answer within 0.7 s"),
        ("NVIDIA L4", None),
    ]


def test_gpus_that_wake_one_after_another_are_waited_for(tmp_path: Path, fake_nvml: Path) -> None:
    env = {"LD_LIBRARY_PATH": str(fake_nvml), "NVML_GPUS": "8", "NVML_SLEEPS": "300"}
    facts = facts_of(
        nvidia.probe(ProbeInput(host=made_host(tmp_path, _DRIVER, env=env)), patience=1.5)
    )
    assert [gpu["name"] for gpu in facts["nvidia.gpus"].value] == [
        "NVIDIA B200",
        *["NVIDIA L4"] * 7,
    ]
    assert facts["nvidia.gpu_errors"].state is State.ABSENT


def test_a_lost_gpu_is_named_by_its_place_on_the_bus(tmp_path: Path, fake_nvml: Path) -> None:
    files = {
        **_DRIVER,
        **{f"/proc/driver/nvidia/gpus/0000:0{bus}:00.0/information": "" for bus in "abc"},
    }
    env = {
        "LD_LIBRARY_PATH": str(fake_nvml),
        "NVML_GPUS": "3",
        "NVML_FAILS_AT": "1",
        "NVML_CODE": "15",
    }
    # The fake gives the second GPU the address 0000:0b:00.0, which it does not come to say.
    facts = facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, files, env=env))))
    assert facts["nvidia.gpu_errors"].value == ["GPU 1 (0000:0b:00.0): GPU is lost"]
    assert [gpu["name"] for gpu in facts["nvidia.gpus"].value] == ["NVIDIA B200", None, "NVIDIA L4"]


def test_a_gpu_that_the_job_was_not_given_is_no_fault(tmp_path: Path, fake_nvml: Path) -> None:
    env = {"LD_LIBRARY_PATH": str(fake_nvml), "NVML_FAILS_AT": "0", "NVML_CODE": "4"}
    facts = facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, _DRIVER, env=env))))
    assert facts["nvidia.gpu_errors"].state is State.ABSENT
    assert [gpu["index"] for gpu in facts["nvidia.visible"].value] == [1]


@pytest.mark.parametrize("call", ["CudaDriverVersion", "Name"])
def test_a_refused_call_costs_its_own_answer(tmp_path: Path, fake_nvml: Path, call: str) -> None:
    env = {"LD_LIBRARY_PATH": str(fake_nvml), "NVML_REFUSES": call, "NVML_CODE": "12"}
    facts = facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, _DRIVER, env=env))))
    assert [gpu["capability"] for gpu in facts["nvidia.gpus"].value] == ["10.0", "8.9"]
    assert facts["nvidia.nvml"].state is State.ABSENT
    lost = (
        facts["nvidia.cuda_version"].why
        if call == "CudaDriverVersion"
        else facts["nvidia.gpus"].value[0]["name"]
    )
    assert lost in ("NVML Shared Library Not Found", None)


@pytest.mark.parametrize(
    "sign",
    ["/dev/nvidiactl", "/proc/driver/nvidia/params", "/dev/dxg", ""],
    ids=["a device node", "gVisor", "Docker on WSL", "the library alone"],
)
def test_a_driver_without_a_version_file_is_asked(
    tmp_path: Path, fake_nvml: Path, sign: str
) -> None:
    library = tmp_path / "root/usr/lib64/libnvidia-ml.so.1"
    put(library)
    shutil.copy(fake_nvml / library.name, library)
    seen = _seen(
        made_host(
            tmp_path, {sign: ""} if sign else {}, env={"LD_LIBRARY_PATH": str(library.parent)}
        )
    )
    assert [gpu["name"] for gpu in seen["nvidia.gpus"]] == ["NVIDIA B200", "NVIDIA L4"]  # type: ignore[attr-defined]
    assert seen["nvidia.driver_version"] == "570.124.06"


def test_a_library_without_a_driver_is_no_driver(tmp_path: Path, fake_nvml: Path) -> None:
    library = tmp_path / "root/usr/lib64/libnvidia-ml.so.1"
    put(library)
    shutil.copy(fake_nvml / library.name, library)
    host = made_host(
        tmp_path,
        env={"LD_LIBRARY_PATH": str(library.parent), "NVML_FAILS_AT": "-1", "NVML_CODE": "9"},
    )
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    assert {facts[f"nvidia.{name}"].state for name in ("driver_version", "gpus", "nvml")} == {
        State.ABSENT
    }


def test_what_nvml_complains_about_is_kept(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(
        tmp_path, _DRIVER, env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_FAILS_AT": "-1"}
    )
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    assert facts["nvidia.nvml"].value == "Driver/library version mismatch"
    assert "Driver/library version mismatch" in facts["nvidia.visible"].why


def test_nvidia_smi_is_the_last_to_be_asked(tmp_path: Path, no_nvml: str) -> None:
    seen = _seen(
        made_host(tmp_path, _DRIVER, {"nvidia-smi": _SMI}, env={"LD_LIBRARY_PATH": no_nvml})
    )
    told = [(gpu["name"], gpu["capability"], gpu["mig"]) for gpu in seen["nvidia.visible"]]  # type: ignore[attr-defined]
    assert told == [("NVIDIA H100 80GB HBM3", "9.0", False), ("NVIDIA A100", "8.0", True)]
    assert "nvidia.nvml" in seen
    assert "nvidia.cuda_version" not in seen


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (HANG, "did not answer within 0.5 s"),
        (BABBLE, "did not answer within 0.5 s"),
        ("head -c 3000 /dev/urandom", "nvidia-smi (exit code"),
        ("echo 'No devices were found' >&2; exit 6", "(exit code 6) said: No devices were found"),
        ("echo 'a, b, c, d, e, f'", "said: a, b"),
        ("echo '0, NVIDIA H100'", "said: 0, NVIDIA H100"),
        (":", "said: nothing"),
    ],
)
def test_a_bad_nvidia_smi_costs_the_gpus_alone(
    tmp_path: Path, no_nvml: str, body: str, why: str
) -> None:
    host = made_host(tmp_path, _DRIVER, {"nvidia-smi": body}, env={"LD_LIBRARY_PATH": no_nvml})
    facts = facts_of(nvidia.probe(ProbeInput(host=host), patience=0.5))
    assert why in facts["nvidia.gpus"].why
    assert facts["nvidia.driver_version"].value == "535.104.05"


def test_a_capability_that_smi_does_not_know_is_unknown(tmp_path: Path, no_nvml: str) -> None:
    smi = "echo '0, Quadro K620, [N/A], 2048, [N/A], 470.256.02'"
    facts = facts_of(
        nvidia.probe(
            ProbeInput(
                host=made_host(
                    tmp_path, _DRIVER, {"nvidia-smi": smi}, env={"LD_LIBRARY_PATH": no_nvml}
                )
            )
        )
    )
    assert [(gpu["name"], gpu["capability"]) for gpu in facts["nvidia.gpus"].value] == [
        ("Quadro K620", None)
    ]


def test_wsl_has_a_driver_that_proc_does_not_show(tmp_path: Path, fake_nvml: Path) -> None:
    files: dict[str, str | bytes] = {"/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": ""}
    host = made_host(tmp_path, files, env={"LD_LIBRARY_PATH": str(fake_nvml)})
    script(tmp_path / "root/usr/lib/wsl/lib/nvidia-smi", ":")
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    assert (facts["nvidia.gpu_present"].value, facts["nvidia.driver_branch"].value) == (True, 570)
    assert facts["nvidia.smi"].value == str(tmp_path / "root/usr/lib/wsl/lib/nvidia-smi")
    assert "not in the loader's cache" in facts["nvidia.libcuda"].source


def test_device_nodes(tmp_path: Path, no_nvml: str) -> None:
    env = {"LD_LIBRARY_PATH": no_nvml}
    files = {
        **_DRIVER,
        "/dev/nvidia0": "",
        "/sys/module/nvidia_uvm/x": "",
        "/dev/nvidia-nvswitch0": "",
    }
    assert _seen(made_host(tmp_path, files, env=env))["nvidia.device_nodes"] is False
    seen = _seen(made_host(tmp_path, {"/dev/nvidiactl": ""}, env=env))
    assert (seen["nvidia.device_nodes"], seen["nvidia.uvm"], seen["nvidia.nvswitch"]) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("files", "loaded"),
    [
        ({**_DRIVER, "/sys/module/nvidia_uvm/x": ""}, True),
        (_DRIVER, False),
        ({"/proc/driver/nvidia/params": ""}, None),
    ],
    ids=["loaded", "not loaded", "gVisor shows no modules"],
)
def test_the_memory_module(
    tmp_path: Path, no_nvml: str, files: dict[str, str | bytes], loaded: bool | None
) -> None:
    seen = _seen(
        made_host(tmp_path, {**files, "/dev/nvidia-uvm": ""}, env={"LD_LIBRARY_PATH": no_nvml})
    )
    assert (seen.get("nvidia.uvm"), seen["nvidia.uvm_node"]) == (loaded, True)


def test_who_may_load_modules(tmp_path: Path, no_nvml: str) -> None:
    host = made_host(tmp_path, _DRIVER, env={"LD_LIBRARY_PATH": no_nvml})
    assert "nvidia.modprobe" not in _seen(host)
    put(tmp_path / "root/usr/bin/nvidia-modprobe").chmod(0o4755)
    assert _seen(host)["nvidia.modprobe"] == "/usr/bin/nvidia-modprobe"


def test_what_holds_a_gpu_on_the_bus(tmp_path: Path) -> None:
    device = "/sys/bus/pci/devices/0000:01:00.0"
    host = made_host(
        tmp_path,
        {
            f"{device}/vendor": "0x10de\n",
            f"{device}/class": "0x030000\n",
            "/sys/bus/pci/drivers/nouveau/x": "",
        },
    )
    assert "nvidia.bound_to" not in _seen(host)
    (tmp_path / f"root{device}/driver").symlink_to("../../drivers/nouveau")
    assert _seen(host)["nvidia.bound_to"] == ["nouveau"]


def test_devices_of_a_jetson_that_are_closed_to_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = ("/dev/nvmap", "/dev/nvhost-gpu", "/dev/nvhost-vic", "/dev/nvidia0")
    host = made_host(tmp_path, {**_DRIVER, **dict.fromkeys(nodes, "")})
    assert "nvidia.jetson_nodes_refused" not in _seen(host)
    monkeypatch.setattr(os, "access", lambda path, mode: "/nvidia" in str(path))
    assert _seen(host)["nvidia.jetson_nodes_refused"] == ["/dev/nvhost-gpu", "/dev/nvmap"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_nodes_that_may_not_be_opened(tmp_path: Path, no_nvml: str) -> None:
    host = made_host(
        tmp_path,
        {**_DRIVER, "/dev/nvidiactl": "", "/dev/nvidia0": ""},
        env={"LD_LIBRARY_PATH": no_nvml},
    )
    assert "nvidia.nodes_refused" not in _seen(host)
    (tmp_path / "root/dev/nvidiactl").chmod(0)
    assert _seen(host)["nvidia.nodes_refused"] == ["/dev/nvidiactl"]


def test_device_files_that_nobody_made(tmp_path: Path, no_nvml: str) -> None:
    gpu = "/proc/driver/nvidia/gpus/0000:0{}:00.0/information"
    held: dict[str, str | bytes] = {
        **_DRIVER,
        "/proc/driver/nvidia/params": "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n",
        gpu.format(1): "Model: \t NVIDIA L4\nDevice Minor: \t 0\n",
        gpu.format(2): "Model: \t NVIDIA L4\nDevice Minor: \t 1\n",
    }
    env = {"LD_LIBRARY_PATH": no_nvml}
    seen = _seen(made_host(tmp_path, held, env=env))
    assert seen["nvidia.nodes_missing"] == ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1"]
    assert seen["nvidia.device_file_mode"] == "0666"
    put(tmp_path / "root/dev/nvidiactl")
    put(tmp_path / "root/dev/nvidia1")
    assert "nvidia.nodes_missing" not in _seen(made_host(tmp_path, held, env=env))


def test_files_under_the_names_of_device_files(tmp_path: Path, no_nvml: str) -> None:
    files = {**_DRIVER, "/dev/nvidiactl": "", "/dev/nvidia3": ""}
    env = {"LD_LIBRARY_PATH": no_nvml}
    assert "nvidia.nodes_wrong" not in _seen(made_host(tmp_path, files, env=env))
    put(tmp_path / "root/proc/devices", "Character devices:\n195 nvidia\n")
    seen = _seen(made_host(tmp_path, files, env=env))
    assert seen["nvidia.nodes_wrong"] == [
        "/dev/nvidiactl is no device file",
        "/dev/nvidia3 is no device file",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_device_files_are_compared_with_the_numbers_of_the_driver(
    tmp_path: Path, no_nvml: str
) -> None:
    devices = "Character devices:\n195 nvidia-frontend\n238 nvidia-uvm\n"
    host = made_host(
        tmp_path, {**_DRIVER, "/proc/devices": devices}, env={"LD_LIBRARY_PATH": no_nvml}
    )
    dev = tmp_path / "root/dev"
    dev.mkdir()
    made = {"nvidiactl": (195, 255), "nvidia0": (195, 0), "nvidia-uvm": (238, 0)}
    try:
        for name, (major, minor) in made.items():
            os.mknod(dev / name, 0o666 | 0o020000, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("device files cannot be made here")
    seen = _seen(host)
    assert "nvidia.nodes_wrong" not in seen
    assert "nvidia.nodes_stale" not in seen
    (dev / "nvidia0").rename(dev / "nvidia1")
    assert _seen(host)["nvidia.nodes_wrong"] == [
        "/dev/nvidia1 has the number 195:0, and the driver's is 195:1"
    ]


def test_a_library_that_only_nixos_finds_is_no_missing_library(tmp_path: Path) -> None:
    facts = facts_of(
        nvidia.probe(
            ProbeInput(host=made_host(tmp_path, {"/run/opengl-driver/lib/libcuda.so.1": ""}))
        )
    )
    assert facts["nvidia.libcuda"].state is State.UNKNOWN


def test_an_error_of_a_gpu_that_is_hidden_is_nobodys_business(
    tmp_path: Path, fake_nvml: Path
) -> None:
    env = {
        "LD_LIBRARY_PATH": str(fake_nvml),
        "NVML_FAILS_AT": "1",
        "NVML_CODE": "15",
        "CUDA_VISIBLE_DEVICES": "GPU-1",
    }
    facts = facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, _DRIVER, env=env))))
    assert len(facts["nvidia.gpus"].value) == 2
    assert (facts["nvidia.gpu_errors"].state, len(facts["nvidia.visible"].value)) == (
        State.ABSENT,
        1,
    )


def test_nvml_complains_beside_a_gpu_that_nothing_drives(tmp_path: Path, fake_nvml: Path) -> None:
    library = tmp_path / "root/usr/lib64/libnvidia-ml.so.1"
    device = "/sys/bus/pci/devices/0000:01:00.0"
    files: dict[str, str | bytes] = {
        f"{device}/vendor": "0x10de\n",
        f"{device}/class": "0x030000\n",
    }
    shutil.copy(fake_nvml / library.name, put(library))
    host = made_host(
        tmp_path,
        files,
        env={"LD_LIBRARY_PATH": str(library.parent), "NVML_FAILS_AT": "-1", "NVML_CODE": "9"},
    )
    facts = facts_of(nvidia.probe(ProbeInput(host=host)))
    assert facts["nvidia.nvml"].state is State.PRESENT
    assert facts["nvidia.driver_version"].state is State.ABSENT


def test_libcuda_and_the_driver_behind_it(tmp_path: Path) -> None:
    host = made_host(tmp_path, {"/usr/lib64/libcuda.so.535.104.05": "x"})
    (tmp_path / "root/usr/lib64/libcuda.so.1").symlink_to("libcuda.so.535.104.05")
    seen = _seen(host)
    assert seen["nvidia.libcuda"] == "/usr/lib64/libcuda.so.1"
    assert (seen["nvidia.libcuda_version"], seen["nvidia.libcuda_link"]) == ("535.104.05", False)
    put(tmp_path / "root/usr/lib64/libcuda.so")
    assert _seen(host)["nvidia.libcuda_link"] is True


_MOUNT = "36 35 98:0 {} {} ro,nosuid - ext4 /dev/root rw\n"


@pytest.mark.parametrize(
    ("points", "mounted"),
    [
        (["/usr/lib64/libcuda.so.535.104.05"], True),
        (["/usr/lib64/libnvidia-ml.so.535.104.05", "/usr"], False),
        # The folder of a node, as GKE hands it in, or anybody's volume.
        (["/usr/lib64"], None),
        ([], None),
    ],
)
def test_a_library_that_the_toolkit_hands_in_is_a_mount(
    tmp_path: Path, points: list[str], mounted: bool | None
) -> None:
    text = "".join(_MOUNT.format(point, point) for point in points)
    host = made_host(
        tmp_path, {"/usr/lib64/libcuda.so.535.104.05": "x", "/proc/self/mountinfo": text}
    )
    (tmp_path / "root/usr/lib64/libcuda.so.1").symlink_to("libcuda.so.535.104.05")
    assert _seen(host).get("nvidia.libcuda_mounted") is mounted


def test_a_compatibility_library_without_a_number_has_that_of_its_package(tmp_path: Path) -> None:
    compat = "/usr/local/cuda/compat"
    files: dict[str, str | bytes] = {
        f"{compat}/libcuda.so.1": "x",
        f"{compat}/libnvidia-ptxjitcompiler.so.580.65.06": "x",
    }
    host = made_host(tmp_path, files, env={"LD_LIBRARY_PATH": compat})
    assert _seen(host)["nvidia.libcuda_version"] == "580.65.06"
    put(tmp_path / f"root{compat}/libnvidia-ptxjitcompiler.so.550.54.15")
    assert _seen(host).get("nvidia.libcuda_version") is None


def test_a_compatibility_library_comes_first(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/usr/lib64/libcuda.so.1": "x",
        "/usr/local/cuda/compat/libcuda.so.1": "x",
    }
    facts = facts_of(
        nvidia.probe(
            ProbeInput(
                host=made_host(tmp_path, files, env={"LD_LIBRARY_PATH": "/usr/local/cuda/compat"})
            )
        )
    )
    assert facts["nvidia.libcuda"].value == "/usr/local/cuda/compat/libcuda.so.1"
    assert facts["nvidia.libcuda_version"].state is State.UNKNOWN


@pytest.mark.parametrize(("of_class", "there"), [("0x068000", True), ("0x060400", False)])
def test_a_switch_shows_on_pci_before_the_fabric_manager_has_made_its_file(
    tmp_path: Path, no_nvml: str, of_class: str, there: bool
) -> None:
    place = "/sys/bus/pci/devices/0000:06:00.0"
    files = {**_DRIVER, f"{place}/vendor": "0x10de\n", f"{place}/class": f"{of_class}\n"}
    seen = _seen(made_host(tmp_path, files, env={"LD_LIBRARY_PATH": no_nvml}))
    assert seen["nvidia.nvswitch"] is there


def test_the_fabric_manager_tells_its_version(tmp_path: Path, no_nvml: str) -> None:
    tools = {"nv-fabricmanager": "echo 'Fabric Manager version is : 535.104.05'"}
    assert (
        _seen(made_host(tmp_path, _DRIVER, tools, env={"LD_LIBRARY_PATH": no_nvml}))[
            "nvidia.fabric_manager"
        ]
        == "535.104.05"
    )


@pytest.mark.parametrize(
    "output", ["", "garbage\n{\n", '{"gpu": 3}', '{"gpu": {"index": 0, "name": "x"}}\n']
)
def test_an_answer_that_breaks_off_is_not_a_machine_without_gpus(output: str) -> None:
    answer = read_answer(
        CompletedCommand(
            ended=Termination.ITSELF, code=-11, output=output, errors="Segmentation fault\n"
        ),
        timeout=4,
    )
    assert answer.gpus is None
    assert answer.error == "NVML could not be asked: exit code -11: Segmentation fault"


def test_the_child_says_what_is_missing(tmp_path: Path, no_nvml: str) -> None:
    answer = ask_nvml(
        made_host(tmp_path, env={"LD_LIBRARY_PATH": no_nvml, "PYTHONPATH": "/nowhere"})
    )
    assert answer.gpus is None
    assert "Shared Library" in answer.error


@pytest.mark.parametrize(
    ("folder", "text", "before"),
    [
        ("/opt/nvidia/lib", "a driver of Linux", True),
        ("/usr/lib/wsl/drivers/nv", "a driver of Windows, whole", False),
        ("/opt/copied", "of Windows", False),
    ],
)
def test_a_libcuda_before_that_of_wsl_in_whatever_folder(
    tmp_path: Path, folder: str, text: str, *, before: bool
) -> None:
    path = f"{folder}/libcuda.so.1"
    files = {"/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": "of Windows", path: text}
    host = made_host(tmp_path, files, env={"LD_LIBRARY_PATH": folder})
    facts = dict(driver_files(host, shown=True))
    assert facts["nvidia.libcuda"].value == path
    assert facts["nvidia.libcuda_before_wsl"].value == (path if before else None)


@pytest.mark.parametrize("env", [{}, {"CUDA_MPS_PIPE_DIRECTORY": "/run/nvidia-mps"}])
def test_the_control_pipe_of_mps(tmp_path: Path, env: dict[str, str]) -> None:
    folder = env.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    bare = made_host(tmp_path, {}, env=env)
    assert dict(driver_files(bare, shown=True))["nvidia.mps"].value is None
    host = made_host(tmp_path, {f"{folder}/control": ""}, env=env)
    assert dict(driver_files(host, shown=True))["nvidia.mps"].value == folder


@pytest.mark.parametrize("mine", [True, False])
def test_the_control_pipe_of_another_user_shares_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mine: bool
) -> None:
    # Root may write to every pipe.
    monkeypatch.setattr("doctor.observe.probes.nvidia.files.os.access", lambda *_: mine)
    host = made_host(tmp_path, {"/tmp/nvidia-mps/control": ""})
    told = {name: fact.value for name, fact in driver_files(host, shown=True)}
    asked = (told["nvidia.mps"], told["nvidia.mps_refused"])
    assert asked == (("/tmp/nvidia-mps", None) if mine else (None, "/tmp/nvidia-mps"))
