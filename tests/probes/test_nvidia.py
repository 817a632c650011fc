"""NVIDIA's driver and GPUs: what files show, what NVML says, and what is left when either hangs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import Ended, Host, Ran
from doctor.host.nvml import ask_nvml, read_answer
from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.probes import nvidia
from doctor.probes.contract import Scene
from tests.hosts import BABBLE, HANG, facts_of, made_host, put, script, values

_CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc 12.3.0\n"
_OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)\n"
_DRIVER: dict[str, str | bytes] = {"/proc/driver/nvidia/version": _CLOSED}
_SMI = "echo '0, NVIDIA H100 80GB HBM3, 9.0, 81559, Disabled, 535.104.05'; echo '1, NVIDIA A100, 8.0, 40960, Enabled, 535.104.05'"

# A library that answers as NVML does. NVML_HANGS_AT and NVML_FAILS_AT name a GPU, or -1 for the start.
_NVML = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int at(const char *name, int index) { const char *v = getenv(name); return v && atoi(v) == index; }
static int gate(int index) { if (at("NVML_HANGS_AT", index)) sleep(60); return at("NVML_FAILS_AT", index) ? 18 : 0; }
int nvmlInitWithFlags(unsigned f) { return gate(-1); }
int nvmlInit_v2(void) { return gate(-1); }
const char *nvmlErrorString(int code) { return "Driver/library version mismatch"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { strcpy(out, "570.124.06"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12080; return 0; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out) { *out = (void *)(long)(i + 1); return gate(i); }
int nvmlDeviceGetName(void *d, char *out, unsigned n) { strcpy(out, d == (void *)1 ? "NVIDIA B200" : "NVIDIA L4"); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = d == (void *)1 ? 10 : 8; *b = d == (void *)1 ? 0 : 9; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *out) { out[0] = 1ULL << 34; out[1] = out[2] = 0; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *a, unsigned *b) { if (d == (void *)1) { *a = *b = 1; return 0; } return 3; }
"""


@pytest.fixture(scope="session")
def fake_nvml(needs: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a library that answers as NVML does."""
    folder = tmp_path_factory.mktemp("nvml")
    source = put(folder / "nvml.c", _NVML)
    subprocess.run([needs("cc"), "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)], check=True)
    return folder


@pytest.fixture
def no_nvml(tmp_path: Path) -> str:
    """Return an LD_LIBRARY_PATH that hides this machine's own NVML behind a file that is no library."""
    return str(put(tmp_path / "broken/libnvidia-ml.so.1", "no library").parent)


def _seen(host: Host, patience: float = 2.0) -> dict[str, object]:
    return values(facts_of(nvidia.probe(Scene(host=host), patience=patience)))


def test_without_nvidia_nothing_is_started(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools={"nvidia-smi": f"touch {tmp_path}/started"})
    facts = facts_of(nvidia.probe(Scene(host=host)))
    assert values(facts) == {"nvidia.gpu_present": False, "nvidia.smi": str(tmp_path / "root/tools/nvidia-smi")}
    assert not (tmp_path / "started").exists()
    assert {facts[f"nvidia.{name}"].state for name in ("driver_version", "gpus", "capability_min", "nvml")} == {State.ABSENT}
    assert [name for name in facts if not is_known(name)] == []


@pytest.mark.parametrize(
    ("files", "version", "branch"),
    [
        ({"/proc/driver/nvidia/version": _CLOSED}, "535.104.05", 535),
        ({"/proc/driver/nvidia/version": _OPEN}, "580.65.06", 580),
        ({"/sys/module/nvidia/version": "470.256.02\n"}, "470.256.02", 470),
    ],
)
def test_the_kernel_tells_the_driver(tmp_path: Path, no_nvml: str, files: dict[str, str | bytes], version: str, branch: int) -> None:
    seen = _seen(made_host(tmp_path, files, env={"LD_LIBRARY_PATH": no_nvml}))
    assert (seen["nvidia.driver_version"], seen["nvidia.driver_branch"]) == (version, branch)


@pytest.mark.parametrize(("kind", "shows"), [("0x030200", True), ("0x030000", True), ("0x040300", False)])
def test_a_gpu_without_a_driver_is_seen_on_the_bus(tmp_path: Path, kind: str, shows: bool) -> None:
    device = "/sys/bus/pci/devices/0000:01:00.0"
    seen = _seen(made_host(tmp_path, {f"{device}/vendor": "0x10de\n", f"{device}/class": f"{kind}\n"}))
    assert seen["nvidia.gpu_present"] is shows
    assert "nvidia.driver_version" not in seen


def test_nvml_tells_everything(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(tmp_path, _DRIVER, {"nvidia-smi": HANG}, env={"LD_LIBRARY_PATH": str(fake_nvml)})
    facts = facts_of(nvidia.probe(Scene(host=host)))
    seen = values(facts)
    assert seen["nvidia.driver_version"] == "535.104.05"
    assert seen["nvidia.cuda_version"] == "12.8"
    assert seen["nvidia.gpus"] == [
        {"index": 0, "name": "NVIDIA B200", "capability": "10.0", "memory_bytes": 1 << 34, "mig": True},
        {"index": 1, "name": "NVIDIA L4", "capability": "8.9", "memory_bytes": 1 << 34, "mig": False},
    ]
    assert (seen["nvidia.capability_min"], seen["nvidia.capability_max"]) == ("8.9", "10.0")
    assert facts["nvidia.nvml"].state is State.ABSENT


def test_an_nvml_that_hangs_costs_what_only_it_knows(tmp_path: Path, fake_nvml: Path) -> None:
    files = {**_DRIVER, "/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t NVIDIA B200\nIRQ: 1\n"}
    host = made_host(tmp_path, files, env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_HANGS_AT": "1"})
    started = time.monotonic()
    facts = facts_of(nvidia.probe(Scene(host=host), patience=0.7))
    assert time.monotonic() - started < 3
    assert "did not answer within 0.7 s" in facts["nvidia.gpus"].why
    seen = values(facts)
    assert (seen["nvidia.cuda_version"], seen["nvidia.gpu_names"]) == ("12.8", ["NVIDIA B200"])
    assert seen["nvidia.driver_version"] == "535.104.05"


def test_what_nvml_complains_about_is_kept(tmp_path: Path, fake_nvml: Path) -> None:
    host = made_host(tmp_path, _DRIVER, env={"LD_LIBRARY_PATH": str(fake_nvml), "NVML_FAILS_AT": "-1"})
    facts = facts_of(nvidia.probe(Scene(host=host)))
    assert facts["nvidia.nvml"].value == "Driver/library version mismatch"
    assert "Driver/library version mismatch" in facts["nvidia.capability_min"].why


def test_nvidia_smi_is_the_last_to_be_asked(tmp_path: Path, no_nvml: str) -> None:
    seen = _seen(made_host(tmp_path, _DRIVER, {"nvidia-smi": _SMI}, env={"LD_LIBRARY_PATH": no_nvml}))
    assert seen["nvidia.gpu_names"] == ["NVIDIA H100 80GB HBM3", "NVIDIA A100"]
    assert seen["nvidia.capabilities"] == ["9.0", "8.0"]
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
def test_a_bad_nvidia_smi_costs_the_gpus_alone(tmp_path: Path, no_nvml: str, body: str, why: str) -> None:
    host = made_host(tmp_path, _DRIVER, {"nvidia-smi": body}, env={"LD_LIBRARY_PATH": no_nvml})
    facts = facts_of(nvidia.probe(Scene(host=host), patience=0.5))
    assert why in facts["nvidia.gpus"].why
    assert facts["nvidia.driver_version"].value == "535.104.05"


def test_a_capability_that_smi_does_not_know_is_unknown(tmp_path: Path, no_nvml: str) -> None:
    smi = "echo '0, Quadro K620, [N/A], 2048, [N/A], 470.256.02'"
    facts = facts_of(nvidia.probe(Scene(host=made_host(tmp_path, _DRIVER, {"nvidia-smi": smi}, env={"LD_LIBRARY_PATH": no_nvml}))))
    assert facts["nvidia.gpu_names"].value == ["Quadro K620"]
    assert facts["nvidia.capability_min"].state is State.UNKNOWN


def test_wsl_has_a_driver_that_proc_does_not_show(tmp_path: Path, fake_nvml: Path) -> None:
    files: dict[str, str | bytes] = {"/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": ""}
    host = made_host(tmp_path, files, env={"LD_LIBRARY_PATH": str(fake_nvml)})
    script(tmp_path / "root/usr/lib/wsl/lib/nvidia-smi", ":")
    facts = facts_of(nvidia.probe(Scene(host=host)))
    assert (facts["nvidia.gpu_present"].value, facts["nvidia.driver_branch"].value) == (True, 570)
    assert facts["nvidia.smi"].value == str(tmp_path / "root/usr/lib/wsl/lib/nvidia-smi")
    assert "not in the loader's cache" in facts["nvidia.libcuda"].source


def test_device_nodes(tmp_path: Path, no_nvml: str) -> None:
    env = {"LD_LIBRARY_PATH": no_nvml}
    files = {**_DRIVER, "/dev/nvidia0": "", "/sys/module/nvidia_uvm/x": "", "/dev/nvidia-nvswitch0": ""}
    assert _seen(made_host(tmp_path, files, env=env))["nvidia.device_nodes"] is False
    seen = _seen(made_host(tmp_path, {"/dev/nvidiactl": ""}, env=env))
    assert (seen["nvidia.device_nodes"], seen["nvidia.uvm"], seen["nvidia.nvswitch"]) == (True, True, True)


def test_libcuda_and_the_driver_behind_it(tmp_path: Path) -> None:
    host = made_host(tmp_path, {"/usr/lib64/libcuda.so.535.104.05": ""})
    (tmp_path / "root/usr/lib64/libcuda.so.1").symlink_to("libcuda.so.535.104.05")
    seen = _seen(host)
    assert seen["nvidia.libcuda"] == "/usr/lib64/libcuda.so.1"
    assert (seen["nvidia.libcuda_version"], seen["nvidia.libcuda_link"]) == ("535.104.05", False)
    put(tmp_path / "root/usr/lib64/libcuda.so")
    assert _seen(host)["nvidia.libcuda_link"] is True


def test_a_compatibility_library_comes_first(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"/usr/lib64/libcuda.so.1": "", "/usr/local/cuda/compat/libcuda.so.1": ""}
    facts = facts_of(nvidia.probe(Scene(host=made_host(tmp_path, files, env={"LD_LIBRARY_PATH": "/usr/local/cuda/compat"}))))
    assert facts["nvidia.libcuda"].value == "/usr/local/cuda/compat/libcuda.so.1"
    assert facts["nvidia.libcuda_version"].state is State.UNKNOWN


def test_the_fabric_manager_tells_its_version(tmp_path: Path, no_nvml: str) -> None:
    tools = {"nv-fabricmanager": "echo 'Fabric Manager version is : 535.104.05'"}
    assert _seen(made_host(tmp_path, _DRIVER, tools, env={"LD_LIBRARY_PATH": no_nvml}))["nvidia.fabric_manager"] == "535.104.05"


@pytest.mark.parametrize("output", ["", "garbage\n{\n", '{"gpu": 3}', '{"gpu": {"index": 0, "name": "x"}}\n'])
def test_an_answer_that_breaks_off_is_not_a_machine_without_gpus(output: str) -> None:
    answer = read_answer(Ran(ended=Ended.ITSELF, code=-11, output=output, errors="Segmentation fault\n"), timeout=4)
    assert answer.gpus is None
    assert answer.error == "NVML could not be asked: exit code -11: Segmentation fault"


def test_the_child_says_what_is_missing(tmp_path: Path, no_nvml: str) -> None:
    answer = ask_nvml(made_host(tmp_path, env={"LD_LIBRARY_PATH": no_nvml, "PYTHONPATH": "/nowhere"}))
    assert answer.gpus is None
    assert "Shared Library" in answer.error
