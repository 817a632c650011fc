"""Machines where CUDA's own words name a symptom, and the facts hold the cause."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.fixes.attach import with_fixes
from doctor.judge.match import diagnose
from doctor.model.findings import Finding
from doctor.model.scales import Severity
from tests import toy

_UNKNOWN = "CUDA unknown error - this may be due to an incorrectly set up environment"
_REFUSED = "Error 804: forward compatibility was attempted on non supported HW"
_MODULE = "/lib/modules/6.8.0-90-generic/updates/dkms/nvidia.ko"
_MACHINE: dict[str, Any] = {
    "host.os": "linux",
    "host.container": None,
    "host.wsl": None,
    "host.jetson": None,
    "host.package_manager": "apt",
    "packages": {},
    "python.executable": "/venv/bin/python",
    "torch.version": "2.13.0+cu130",
    "torch.build": "cuda",
    "torch.cuda_version": "13.0",
    "torch.cuda_available": False,
    "torch.devices": ["cpu"],
    "nvidia.gpu_present": True,
    "nvidia.driver_version": "580.95.05",
    "nvidia.uvm": True,
    "nvidia.uvm_node": True,
    "nvidia.nvswitch": False,
    "nvidia.fabric_manager": None,
    "nvidia.gpu_errors": None,
    "nvidia.visible_error": None,
    "env.SLURM_JOB_ID": None,
}


def _gpu(index: int, **more: Any) -> dict[str, Any]:
    return {
        "index": index,
        "name": "NVIDIA H100 80GB HBM3",
        "capability": "9.0",
        "uuid": f"GPU-{index}",
        "pci_bus_id": f"0000:1{index}:00.0",
        "mig": False,
        "health": {"fabric_state": "completed"},
        **more,
    }


def _found(words: str, **changes: Any) -> tuple[Finding, ...]:
    """Judge the machine, on which the check of torch ends with these words where there are any."""
    facts = _MACHINE | {name.replace("__", "."): value for name, value in changes.items()}
    red = msgspec.structs.replace(
        toy.outcome("failed", check="torch-runtime", device="cuda"), reason=words
    )
    seen = toy.seen(
        facts | ({"torch.cuda_error": words} if words else {}), *([red] if words else [])
    )
    known = derive(seen.facts, load())
    return with_fixes(diagnose(msgspec.structs.replace(seen, facts=known), load()).findings, known)


def _commands(found: Finding) -> str:
    return "\n".join(str(step) for fix in found.fixes for step in fix.steps)


def test_a_lost_gpu_stands_before_the_error_that_follows_from_it() -> None:
    busy = _gpu(0, processes=[{"pid": 118203, "memory_bytes": 1 << 30}])
    lost = {"index": 1, "pci_bus_id": "0000:11:00.0", "error": "GPU is lost"}
    told = _found(
        _UNKNOWN,
        nvidia__gpus=[busy, lost],
        nvidia__visible=[busy, lost],
        nvidia__gpu_errors=["GPU 1 (0000:11:00.0): GPU is lost"],
        nvidia__nvswitch=True,
    )
    assert [one.id for one in told] == [
        "nvidia/gpu-lost-or-faulty",
        "cuda/driver-lost-its-memory-module",
    ]
    assert told[0].symptoms == ("cuda/driver-lost-its-memory-module",)
    first = told[0].fixes[0]
    assert "process 118203 on GPU 0" in first.title
    assert "118203" in _commands(told[0])
    assert not any(step.reboot for step in first.steps)
    assert "-lgc" not in _commands(told[0])
    assert "nvidia_uvm" not in "".join(_commands(one) for one in told)


def test_an_old_module_in_the_kernel_stands_before_error_804() -> None:
    told = _found(
        _REFUSED,
        nvidia__nvml="Driver/library version mismatch",
        nvidia__driver_version="580.65.06",
        nvidia__libcuda="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        nvidia__libcuda_version="580.95.05",
    )
    assert told[0].id == "nvidia/driver-library-mismatch"
    assert told[0].symptoms == ("cuda/forward-compatibility-refused",)


@pytest.mark.parametrize("secure_boot", [True, False, None])
def test_nouveau_beside_a_module_that_is_not_loaded(secure_boot: bool | None) -> None:
    told = _found(
        "",
        nvidia__driver_version=None,
        nvidia__bound_to=["nouveau"],
        nvidia__module_file=_MODULE,
        nvidia__blacklisted_in=None,
        host__secure_boot=secure_boot,
    )
    refused, nouveau = "nvidia/module-refused-by-secure-boot", "nvidia/nouveau-holds-the-gpu"
    assert told[0].id == (refused if secure_boot else nouveau)
    assert told[0].severity is Severity.ERROR
    if secure_boot is not False:
        assert "blacklist" not in str(told[0].fixes[0])
    if secure_boot:
        assert nouveau in told[0].symptoms
        assert "blacklist" not in _commands(told[0])
    elif secure_boot is None:
        assert "--sb-state" in str(told[0].fixes[0].steps[0])


def test_a_stale_entry_costs_no_gpu_that_fits() -> None:
    gpus = [_gpu(index) for index in range(4)]
    (told,) = _found(
        "",
        torch__cuda_available=True,
        torch__devices=["cpu", "cuda:0"],
        env__CUDA_VISIBLE_DEVICES="GPU-0,GPU-9,GPU-2,GPU-3",
        nvidia__gpus=gpus,
        nvidia__visible=gpus[:1],
        nvidia__visible_error=(
            "CUDA_VISIBLE_DEVICES=…: no GPU here is GPU-9, so CUDA shows the first 1 of the "
            "list alone"
        ),
    )
    assert told.id == "cuda/visible-devices-wrong"
    assert "GPU-0,GPU-1,GPU-2,GPU-3" in str(told.fixes[0].steps)
    assert "GPU-0,GPU-2,GPU-3" in str(told.fixes[1].steps)
    assert len(told.fixes) == 3


def test_the_instances_of_another_gpu_are_never_offered() -> None:
    told = _found(
        "",
        env__CUDA_VISIBLE_DEVICES="MIG-a",
        nvidia__gpus=[
            _gpu(0, mig=True, mig_devices=[]),
            _gpu(1, mig=True, mig_devices=[{"index": 0, "uuid": "MIG-b"}]),
        ],
        nvidia__visible=None,
        nvidia__visible_error=(
            "CUDA_VISIBLE_DEVICES=MIG-a: no MIG device here is MIG-a, so CUDA shows no GPU"
        ),
    )
    assert (told[0].id, told[0].severity) == ("nvidia/mig-without-instances", Severity.ERROR)
    assert "MIG-b" not in "".join(_commands(one) for one in told)


def test_a_fabric_manager_of_another_release_is_named() -> None:
    gpus = [_gpu(0, health={"fabric_state": "in progress"})]
    told = _found(
        "Error 802: system not yet initialized",
        nvidia__nvswitch=True,
        nvidia__fabric_manager="580.65.06",
        nvidia__gpus=gpus,
        nvidia__visible=gpus,
    )
    assert told[0].id == "nvidia/fabric-manager-not-running"
    assert "the fabric manager is of 580.65.06, the driver of 580.95.05" in told[0].title
    assert "nvidia-fabricmanager-580=580.95.05-*" in _commands(told[0])


@pytest.mark.parametrize(("job", "offered"), [("4711", False), (None, True)])
def test_a_job_of_slurm_leaves_the_compute_mode_alone(job: str | None, offered: bool) -> None:
    gpus = [_gpu(0, compute_mode="exclusive_process")]
    (told,) = _found(
        "",
        torch__cuda_available=True,
        torch__devices=["cpu", "cuda:0"],
        env__SLURM_JOB_ID=job,
        nvidia__gpus=gpus,
        nvidia__visible=gpus,
    )
    assert ("DEFAULT" in _commands(told)) is offered


@pytest.mark.parametrize("override", ["10.3.0", None])
def test_a_build_with_code_for_the_gpu_needs_no_override(override: str | None) -> None:
    told = _found(
        "HIP error: invalid device function",
        torch__build="rocm",
        torch__arch_list=["gfx90a", "gfx1030"],
        amd__gpus=[{"gfx": "gfx90a"}],
        env__HSA_OVERRIDE_GFX_VERSION=override,
        nvidia__gpu_present=False,
        nvidia__driver_version=None,
    )
    assert "torch/rocm-no-code-for-gpu" in [one.id for one in told]
    assert "'HSA_OVERRIDE_GFX_VERSION':" not in "".join(_commands(one) for one in told)
    assert (told[0].id == "rocm/override-does-not-fit") is (override is not None)


@pytest.mark.parametrize(
    ("container", "first"),
    [
        (None, "nvidia/driver-answers-unknown-error"),
        ("docker", "container/nvml-unknown-error"),
    ],
)
def test_unknown_error_of_nvml_is_a_matter_of_containers_in_containers_alone(
    container: str | None, first: str
) -> None:
    nodes = {"nvidia.nodes_missing": None, "nvidia.gpus_barred": None, "nvidia.xid": None}
    changes = {"host.container": container, "nvidia.nvml": "Unknown Error", **nodes}
    assert _found(_UNKNOWN, **changes)[0].id == first
