"""GPUs of AMD and Intel, read from /sys and /dev."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.model.facts import value_of
from doctor.observe.binaries import drm
from doctor.observe.probes import amd, environment, intel
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, put, values

CPU = "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n"
MI300X = (
    "simd_count 1216\ngfx_target_version 90402\nlocation_id 1280\ndomain 0\ndrm_render_minor 128\n"
)
_PCI = "/sys/bus/pci/devices"
SERVER = {
    "/sys/class/kfd/kfd/topology/nodes/0/properties": CPU,
    "/sys/class/kfd/kfd/topology/nodes/1/properties": MI300X,
    "/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties": "heap_type 1\nsize_in_bytes "
    "206141652992\n",
    f"{_PCI}/0000:05:00.0/vendor": "0x1002\n",
    f"{_PCI}/0000:05:00.0/class": "0x120000\n",
    f"{_PCI}/0000:05:00.0/product_name": "AMD Instinct MI300X OAM\n",
    "/sys/module/amdgpu/version": "6.10.5\n",
    "/dev/kfd": "",
    "/dev/dri/renderD128": "",
}


def seen(folder: Path, probe: object, files: dict[str, str]) -> dict[str, object]:
    return values(facts_of(probe.probe(ProbeInput(host=made_host(folder, files)))))  # type: ignore[attr-defined]


def test_what_kfd_lists(tmp_path: Path) -> None:
    facts = seen(tmp_path, amd, SERVER)
    assert facts["amd.gpus"] == [
        {
            "name": "AMD Instinct MI300X OAM",
            "gfx": "gfx942",
            "node": 1,
            "pci_bus_id": "0000:05:00.0",
            "memory_bytes": 206141652992,
            "render": "/dev/dri/renderD128",
        }
    ]
    assert (
        facts["amd.gpu_present"],
        facts["amd.driver"],
        facts["amd.kfd"],
        facts["amd.render"],
    ) == (True, "6.10.5", "usable", "usable")
    assert "amd.groups_missing" not in facts


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (110003, "gfx1103"),
        (100306, "gfx1036"),
        (90500, "gfx950"),
    ],
)
def test_targets_are_spelled_as_compilers_do(version: int, name: str) -> None:
    assert amd.gfx(version) == name


def test_a_container_that_was_given_no_device_file(tmp_path: Path) -> None:
    facts = seen(
        tmp_path, amd, {path: text for path, text in SERVER.items() if not path.startswith("/dev")}
    )
    assert (facts["amd.kfd"], facts["amd.render"]) == ("missing", "missing")


def test_a_container_that_was_given_one_of_two_gpus(tmp_path: Path) -> None:
    paths = ["/dev/dri/renderD128", "/dev/dri/renderD136"]
    host = made_host(tmp_path, {paths[1]: ""})
    assert (drm.rights(host, paths).value, drm.in_reach(host, paths).value) == ("usable", "1 of 2")
    assert drm.in_reach(host, paths[1:]).value is None


def test_a_card_without_a_driver_is_seen_on_pci(tmp_path: Path) -> None:
    facts = seen(
        tmp_path, amd, {path: text for path, text in SERVER.items() if path.startswith(_PCI)}
    )
    assert facts["amd.gpus"] == [{"name": "AMD Instinct MI300X OAM", "pci_bus_id": "0000:05:00.0"}]
    assert facts["amd.kfd"] == "missing"
    assert "amd.driver" not in facts


@pytest.mark.parametrize(
    ("line", "told"), [("ro quiet nomodeset", "nomodeset in /proc/cmdline"), ("ro quiet", None)]
)
def test_a_kernel_that_lets_no_driver_set_up_a_gpu(
    tmp_path: Path, line: str, told: str | None
) -> None:
    card = {path: text for path, text in SERVER.items() if path.startswith(_PCI)}
    facts = seen(tmp_path, amd, {**card, "/proc/cmdline": line})
    assert facts.get("amd.blocked_by") == told
    driven = seen(tmp_path, amd, {**SERVER, "/proc/cmdline": line})
    assert "amd.blocked_by" not in driven


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_device_files_that_this_user_may_not_open_name_their_group(tmp_path: Path) -> None:
    host = made_host(tmp_path, SERVER)
    group = os.stat(host.at("/dev/kfd")).st_gid  # noqa: PTH116
    put(host.at("/etc/group"), f"root:x:0:\nrender:x:{group}:\n")
    host.at("/dev/kfd").chmod(0o460)
    facts = values(facts_of(amd.probe(ProbeInput(host=host))))
    assert (facts["amd.kfd"], facts["amd.render"], facts["amd.groups_missing"]) == (
        "no permission",
        "usable",
        ["render"],
    )


def test_a_machine_without_such_gpus(tmp_path: Path) -> None:
    nvidia = {f"{_PCI}/0000:01:00.0/vendor": "0x10de\n", f"{_PCI}/0000:01:00.0/class": "0x030200\n"}
    assert seen(tmp_path, amd, nvidia) == {"amd.gpu_present": False}
    assert seen(tmp_path, intel, nvidia) == {"intel.gpu_present": False}


def on_bus(address: str, device: str) -> dict[str, str]:
    folder = f"{_PCI}/{address}"
    return {
        f"{folder}/vendor": "0x8086\n",
        f"{folder}/class": "0x030000\n",
        f"{folder}/device": f"{device}\n",
        f"{folder}/drm/renderD129/dev": "226:129",
        "/dev/dri/renderD129": "",
    }


@pytest.mark.parametrize(
    ("address", "device", "computes"),
    [
        ("0000:00:02.0", "0x46a6", False),
        ("0000:00:02.0", "0x7d55", True),
        ("0000:03:00.0", "0xe20b", True),
    ],
    ids=["the screen of a laptop", "a Core Ultra", "an Arc B580"],
)
def test_gpus_of_intel_on_which_one_computes(
    tmp_path: Path, address: str, device: str, computes: bool
) -> None:
    host = made_host(tmp_path, on_bus(address, device))
    (host.at(_PCI) / address / "driver").symlink_to("../../../bus/pci/drivers/xe")
    facts = values(facts_of(intel.probe(ProbeInput(host=host))))
    assert facts["intel.gpu_present"] is computes
    if computes:
        assert facts["intel.gpus"] == [
            {
                "pci_bus_id": address,
                "device": device,
                "driver": "xe",
                "render": "/dev/dri/renderD129",
            }
        ]
        assert (facts["intel.driver"], facts["intel.render"]) == ("xe", "usable")


def test_the_level_zero_driver_tells_its_version_by_its_file(tmp_path: Path) -> None:
    host = made_host(
        tmp_path,
        {
            **on_bus("0000:03:00.0", "0xe20b"),
            "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.3.27642": "",
            "/usr/lib/aarch64-linux-gnu/libze_intel_gpu.so.1.3.27642": "",
        },
    )
    for folder in ("x86_64-linux-gnu", "aarch64-linux-gnu"):
        link = host.at("/usr/lib") / folder / "libze_intel_gpu.so.1"
        link.symlink_to("libze_intel_gpu.so.1.3.27642")
    facts = values(facts_of(intel.probe(ProbeInput(host=host))))
    assert facts["intel.level_zero_version"] == "1.3.27642"


@pytest.mark.parametrize(
    ("vendor", "count"), [("0x8086", 1), ("0x1002", 2)], ids=["Intel's NPU", "an Instinct"]
)
def test_an_accelerator_is_a_gpu_of_amd_alone(tmp_path: Path, vendor: str, count: int) -> None:
    files = {
        f"{_PCI}/{place}/{name}": f"{value}\n"
        for place, of_class in (("0000:00:0b.0", "0x120000"), ("0000:03:00.0", "0x030000"))
        for name, value in (("vendor", vendor), ("class", of_class))
    }
    assert len(list(drm.devices(made_host(tmp_path, files), vendor))) == count


def test_a_gpu_that_this_kernel_does_not_serve_by_itself(tmp_path: Path) -> None:
    words = "Your graphics device 56a0 is not properly supported by i915 in this kernel version."
    log = f"4,9,3,-;i915 0000:03:00.0: {words} To force driver probe anyway, use i915.force_probe\n"
    host = made_host(tmp_path, {**on_bus("0000:03:00.0", "0x56a0"), "/dev/kmsg": log})
    facts = values(facts_of(intel.probe(ProbeInput(host=host))))
    assert str(facts["intel.kernel_older"]).startswith(words)


_SKIPPED = "kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 494<509"


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"0": CPU}, _SKIPPED),
        ({"0": CPU, "1": MI300X}, None),
        ({"0": CPU, "1": ""}, None),  # a container is not shown a GPU that it was not given
    ],
)
def test_a_card_that_kfd_left_out(tmp_path: Path, nodes: dict[str, str], said: str | None) -> None:
    host = made_host(
        tmp_path,
        {
            **{
                f"/sys/class/kfd/kfd/topology/nodes/{number}/properties": text
                for number, text in nodes.items()
            },
            f"{_PCI}/0000:05:00.0/vendor": "0x1002\n",
            f"{_PCI}/0000:05:00.0/class": "0x030000\n",
            f"{_PCI}/0000:05:00.0/device": "0x744c\n",
            "/dev/kfd": "",
            "/dev/kmsg": f"4,905,7218830,-;{_SKIPPED}\n",
        },
    )
    (host.at(_PCI) / "0000:05:00.0/driver").symlink_to("../../../bus/pci/drivers/amdgpu")
    facts = values(facts_of(amd.probe(ProbeInput(host=host))))
    assert facts.get("amd.left_out") == said
    assert facts.get("amd.unlisted") == (["0000:05:00.0 (1002:744c)"] if said else None)


def test_a_card_of_intel_whose_firmware_is_missing(tmp_path: Path) -> None:
    log = (
        "4,903,3420514,-;xe 0000:03:00.0: Direct firmware load for xe/bmg_guc_70.bin failed "
        "with error -2\n4,904,3420515,-;xe 0000:04:00.0: Direct firmware load for xe/other.bin "
        "failed with error -2\n"
    )
    host = made_host(tmp_path, {**on_bus("0000:03:00.0", "0xe20b"), "/dev/kmsg": log})
    facts = values(facts_of(intel.probe(ProbeInput(host=host))))
    assert facts["intel.undriven"] == ["0000:03:00.0 (8086:e20b)"]
    assert facts["intel.firmware_missing"] == ["xe/bmg_guc_70.bin"]
    (host.at(_PCI) / "0000:03:00.0/driver").symlink_to("../../../bus/pci/drivers/xe")
    assert "intel.undriven" not in values(facts_of(intel.probe(ProbeInput(host=host))))


def test_a_line_that_keeps_amdgpu_away(tmp_path: Path) -> None:
    card = {f"{_PCI}/0000:03:00.0/vendor": "0x1002\n", f"{_PCI}/0000:03:00.0/class": "0x030000\n"}
    line = {"/etc/modprobe.d/blacklist-amdgpu.conf": "blacklist amdgpu\n"}
    facts = seen(tmp_path, amd, {**card, **line})
    assert facts["amd.blacklisted_in"] == ["/etc/modprobe.d/blacklist-amdgpu.conf"]
    # A driver that is there is not forbidden, whatever a file says.
    (tmp_path / "driven").mkdir()
    assert "amd.blacklisted_in" not in seen(tmp_path / "driven", amd, {**SERVER, **line})


@pytest.mark.parametrize(
    ("files", "way"),
    [
        ({}, None),
        ({"/dev/dxg": ""}, "missing"),
        ({"/dev/dxg": "", "/opt/rocm-7.2.1/lib/librocdxg.so.1": ""}, "there"),
    ],
)
def test_the_library_of_rocm_for_wsl(
    tmp_path: Path, files: dict[str, str], way: str | None
) -> None:
    assert seen(tmp_path, amd, {"/proc/version": "Linux", **files}).get("amd.dxg") == way


_WAITING = "0000:0b:00.0"
_STATUS = (
    "Package: linux-firmware\nStatus: {} ok installed\nPriority: optional\n"
    "Version: 20240318.git3b128b60-0ubuntu2\nDescription: files\n\n"
)


@pytest.mark.parametrize(
    ("device", "listed", "told"),
    [
        ("0x7550", True, True),
        ("0x7550", False, True),
        ("0x1586", False, True),
        # Nobody misses the graphics of a processor, or of a server's board, beside a card.
        ("0x164e", True, False),
        ("0x515e", False, False),
    ],
)
def test_an_amd_card_that_no_driver_took(
    tmp_path: Path, device: str, listed: bool, told: bool
) -> None:
    words = f"amdgpu {_WAITING}: Direct firmware load for amdgpu/psp_14_0_3_sos.bin failed with"
    others = SERVER if listed else {"/sys/module/amdgpu/refcnt": "0\n"}
    card = {
        f"{_PCI}/{_WAITING}/vendor": "0x1002\n",
        f"{_PCI}/{_WAITING}/class": "0x030000\n",
        f"{_PCI}/{_WAITING}/device": f"{device}\n",
        "/dev/kmsg": f"4,9,3,-;{words} error -2\n4,9,4,-;amdgpu: probe of {_WAITING} failed with "
        "error -19\n",
        "/var/lib/dpkg/status": _STATUS.format("hold"),
    }
    facts = seen(tmp_path, amd, {**others, **card})
    names = ("undriven", "firmware_missing", "firmware_package", "firmware_held", "probe_failed")
    expected = (
        [f"{_WAITING} (1002:{device[2:]})"],
        ["amdgpu/psp_14_0_3_sos.bin"],
        "linux-firmware 20240318.git3b128b60-0ubuntu2",
        "linux-firmware",
        f"probe of {_WAITING} failed with error -19",
    )
    assert tuple(facts.get(f"amd.{name}") for name in names) == (expected if told else (None,) * 5)


def test_a_package_that_apt_may_change(tmp_path: Path) -> None:
    host = made_host(tmp_path, {"/var/lib/dpkg/status": _STATUS.format("install")})
    facts = values(facts_of(drm.firmware_package(host, "intel", asked=True)))
    assert facts == {"intel.firmware_package": "linux-firmware 20240318.git3b128b60-0ubuntu2"}


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("/etc/environment", "HIP_VISIBLE_DEVICES=1", True),
        ("/etc/profile.d/gpu.sh", "export HIP_VISIBLE_DEVICES='1'  # the second", True),
        ("/home/me/.config/fish/config.fish", "set -gx HIP_VISIBLE_DEVICES 1", True),
        ("/etc/environment", "HIP_VISIBLE_DEVICES=0", False),
        ("/etc/environment", "#HIP_VISIBLE_DEVICES=1", False),
        ("/etc/environment", "NOT_HIP_VISIBLE_DEVICES=1", False),
    ],
)
def test_where_a_variable_is_set(tmp_path: Path, path: str, line: str, found: bool) -> None:
    files = {path: f"# first\n{line}\n"}
    env = {"HOME": "/home/me", "HIP_VISIBLE_DEVICES": "1"}
    facts = dict(environment.probe(ProbeInput(host=made_host(tmp_path, files, env=env))))
    said = value_of(facts, "set_in.HIP_VISIBLE_DEVICES")
    assert said == (f"{path}, line 2" if found else None)
    assert value_of(facts, "set_in.CUDA_VISIBLE_DEVICES") is None
