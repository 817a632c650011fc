"""Why a GPU on PCI has no driver: what the kernel's files tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.host import Host
from doctor.model.facts import State
from doctor.observe.probes import nvidia
from doctor.observe.probes.nvidia.modules import of_modules
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, values

_DEVICE = "/sys/bus/pci/devices/0000:01:00.0"
_CARD: dict[str, str | bytes] = {
    f"{_DEVICE}/vendor": "0x10de\n",
    f"{_DEVICE}/class": "0x030000\n",
    f"{_DEVICE}/device": "0x2B85\n",
}
_KERNEL: dict[str, str | bytes] = {
    "/proc/sys/kernel/osrelease": "6.8.0-90-generic\n",
    "/lib/modules/6.8.0-90-generic/modules.dep": "",
}
_NOUVEAU = """blacklist nouveau
alias nvidia nvidia-current
# blacklist nvidia
blacklist nvidiafb
install nvidia /sbin/modprobe -i nvidia-current
"""


def _seen(folder: Path, files: dict[str, str | bytes]) -> dict[str, object]:
    return values(
        facts_of(nvidia.probe(ProbeInput(host=made_host(folder, {**_CARD, **_KERNEL, **files}))))
    )


def test_a_card_without_any_driver(tmp_path: Path) -> None:
    seen = _seen(tmp_path, {})
    assert seen["nvidia.cards"] == [{"pci_bus_id": "0000:01:00.0", "device": "0x2b85"}]
    assert not {
        "nvidia.module_kind",
        "nvidia.module_file",
        "nvidia.module_of_kernels",
        "nvidia.blacklisted_in",
    } & set(seen)


@pytest.mark.parametrize(
    "line",
    [
        "blacklist nvidia",
        "alias nvidia off",
        "install nvidia /bin/false",
        "  blacklist nvidia-current # no",
    ],
)
@pytest.mark.parametrize("folder", ["/etc/modprobe.d", "/lib/modprobe.d"])
def test_a_module_that_is_blacklisted(tmp_path: Path, folder: str, line: str) -> None:
    path = f"{folder}/blacklist-nvidia.conf"
    assert _seen(tmp_path, {path: f"# prime\n{line}\nblacklist nvidia-drm\n"})[
        "nvidia.blacklisted_in"
    ] == [path]


def test_lines_that_keep_other_modules_away(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/etc/modprobe.d/nouveau.conf": _NOUVEAU,
        "/proc/cmdline": "quiet modprobe.blacklist=nouveau,nvidiafb\n",
    }
    assert "nvidia.blacklisted_in" not in _seen(tmp_path, files)


def test_a_file_hides_its_namesake(tmp_path: Path) -> None:
    assert "nvidia.blacklisted_in" not in _seen(
        tmp_path, {"/etc/modprobe.d/a.conf": "", "/lib/modprobe.d/a.conf": "blacklist nvidia\n"}
    )


def test_the_command_line_of_the_kernel(tmp_path: Path) -> None:
    assert _seen(tmp_path, {"/proc/cmdline": "quiet module_blacklist=nouveau,nvidia\n"})[
        "nvidia.blacklisted_in"
    ] == ["/proc/cmdline"]


def test_a_kernel_that_was_updated_without_its_module(tmp_path: Path) -> None:
    old = "/lib/modules/6.8.0-88-generic"
    seen = _seen(
        tmp_path,
        {
            f"{old}/modules.dep": "updates/dkms/nvidia.ko.zst:\n",
            f"{old}/updates/dkms/nvidia.ko.zst": "",
        },
    )
    assert seen["nvidia.module_of_kernels"] == ["6.8.0-88-generic"]
    assert "nvidia.module_file" not in seen


def test_a_module_that_is_there_and_not_loaded(tmp_path: Path) -> None:
    here = "/lib/modules/6.8.0-90-generic"
    listed = _seen(
        tmp_path,
        {
            f"{here}/modules.dep": "kernel/nvidia-580/nvidia.ko:\n",
            f"{here}/kernel/nvidia-580/nvidia.ko": "",
        },
    )
    assert listed["nvidia.module_file"] == f"{here}/kernel/nvidia-580/nvidia.ko"


_MAKE = (
    "DKMS (dkms-3.2.2) make.log for nvidia-current/550.163.01 for kernel {} (x86_64)\n"
    "nvidia/nv-nano-timer.c:207:5: error: implicit declaration of function 'del_timer_sync'; did "
    "you mean 'dev_mc_sync'? [-Wimplicit-function-declaration]\n{}\n# exit code: 2\n"
)


@pytest.mark.parametrize(
    ("kernel", "more", "driver"),
    [
        ("6.8.0-90-generic", "", "550.163.01"),
        ("6.8.0-91-generic", "", None),
        # Headers that are missing are no fault of the driver.
        ("6.8.0-90-generic", "  ERROR: Kernel configuration is invalid.", None),
    ],
)
def test_a_driver_that_does_not_build_for_the_kernel(
    tmp_path: Path, kernel: str, more: str, driver: str | None
) -> None:
    log = "/var/lib/dkms/nvidia-current/550.163.01/build/make.log"
    seen = _seen(tmp_path, {log: _MAKE.format(kernel, more)})
    said = "nv-nano-timer.c: implicit declaration of function 'del_timer_sync'"
    names = ("build_failed", "build_error", "build_log")
    expected = (driver, said, log) if driver else (None, None, None)
    assert tuple(seen.get(f"nvidia.{name}") for name in names) == expected


def test_a_module_that_refused_the_only_card_and_left(tmp_path: Path) -> None:
    words = (
        "pci 0000:01:00.0: BAR 1 [mem size 0x1000000000 64bit pref]: can't assign; no space",
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
        "nvidia 0000:01:00.0: probe with driver nvidia failed with error -1",
        "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
    )
    log = "".join(f"4,{900 + n},{n},-;{line}\n" for n, line in enumerate(words))
    seen = _seen(tmp_path, {"/dev/kmsg": log})
    assert seen["nvidia.bar_missing"] == ["0000:01:00.0: BAR1 is 0M @ 0x0"]
    assert seen["nvidia.bar_size"] == ["64 GiB"]
    assert seen["nvidia.probe_failed"] == words[2]
    # What the driver said of cards that it had is of the past.
    assert "nvidia.xid" not in seen


def test_a_container_shows_no_modules(tmp_path: Path) -> None:
    files = {**_CARD, "/proc/sys/kernel/osrelease": "6.8.0-90-generic\n"}
    facts = facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, files))))
    assert facts["nvidia.module_file"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("line", "kind"),
    [("Open Kernel Module for x86_64", "open"), ("x86_64 Kernel Module", "closed")],
)
def test_which_module_is_loaded(tmp_path: Path, line: str, kind: str) -> None:
    seen = _seen(
        tmp_path,
        {
            "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX {line}  580.95.05  Release "
            "Build\n"
        },
    )
    assert seen["nvidia.module_kind"] == kind


def test_secure_boot(tmp_path: Path) -> None:
    path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    assert _seen(tmp_path, {path: b"\x06\x00\x00\x00\x01"})["host.secure_boot"] is True


_PRIME_RULE = (
    'ACTION=="add", SUBSYSTEM=="pci", ATTR{vendor}=="0x10de", ATTR{class}=="0x03[0-9]*", '
    'ATTR{power/control}="auto", ATTR{remove}="1"\n'
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/prime-discrete", "off\n"),
        ("/usr/lib/udev/rules.d/50-pm-nvidia.rules", _PRIME_RULE),
        ("/etc/modprobe.d/blacklist-nvidia.conf", "blacklist nvidia\nalias nvidia off\n"),
    ],
)
@pytest.mark.parametrize(
    ("tool", "switcher"),
    [("prime-select", "prime-select"), ("nvidia-smi", "envycontrol"), ("nvidia-smi", None)],
)
def test_what_switches_a_gpu_off_is_asked_where_pci_shows_none(
    tmp_path: Path, path: str, text: str, tool: str, switcher: str | None
) -> None:
    tools = {name: "exit 9" for name in (tool, switcher) if name}
    found = values(
        facts_of(nvidia.probe(ProbeInput(host=made_host(tmp_path, {path: text}, tools))))
    )
    assert found["nvidia.switched_off_by"] == [path]
    assert found.get("nvidia.switcher") == switcher
    assert "nvidia.switched_off_by" not in _seen(tmp_path, {path: text})


def test_a_machine_without_card_and_driver_reads_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = dict.fromkeys(("/usr/lib/udev/rules.d/50-pm-nvidia.rules",), _PRIME_RULE)
    host = made_host(tmp_path, {"/etc/prime-discrete": "off\n", **rules})
    opened: list[str] = []
    for name in ("list", "read"):
        asked = getattr(Host, name)

        def watched(self: Host, path: str, *rest: Any, ask: Any = asked, **more: Any) -> Any:
            opened.append(path)
            return ask(self, path, *rest, **more)

        monkeypatch.setattr(Host, name, watched)
    assert "nvidia.switched_off_by" not in values(facts_of(nvidia.probe(ProbeInput(host=host))))
    assert opened
    assert not [path for path in opened if "udev" in path or "modprobe" in path or "prime" in path]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/prime-discrete", "on-demand\n"),
        ("/etc/udev/rules.d/50-usb.rules", _PRIME_RULE.replace("0x03[0-9]*", "0x0c0330")),
        ("/etc/udev/rules.d/50-off.rules", f"# {_PRIME_RULE}"),
        ("/etc/modprobe.d/nouveau.conf", _NOUVEAU),
    ],
)
def test_what_leaves_a_gpu_on(tmp_path: Path, path: str, text: str) -> None:
    host = made_host(tmp_path, {path: text}, {"prime-select": "echo intel"})
    assert "nvidia.switched_off_by" not in values(facts_of(nvidia.probe(ProbeInput(host=host))))


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("Loading of module with unavailable key is rejected", True),
        ("Lockdown: modprobe: unsigned module loading is restricted; see man", True),
        ("nvidia: loading out-of-tree module taints kernel.", False),
    ],
)
def test_a_module_that_the_kernel_refused(tmp_path: Path, line: str, refused: bool) -> None:
    seen = _seen(tmp_path, {"/dev/kmsg": f"5,1,100,-;{line}\n"})
    assert ("nvidia.module_refused" in seen) == refused


def test_a_gpu_that_the_driver_was_told_to_leave_out(tmp_path: Path) -> None:
    about = "/proc/driver/nvidia/gpus/0000:0{}:00.0/information"
    files = {
        "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05",
        about.format(1): "Model: NVIDIA L40S\nGPU Excluded:\t No\n",
        about.format(2): "Model: NVIDIA L40S\nGPU Excluded:\t Yes\n",
    }
    assert _seen(tmp_path, {**files})["nvidia.gpus_excluded"] == ["0000:02:00.0"]


def test_a_driver_of_nvidias_installer_leaves_its_tool_to_remove_it(tmp_path: Path) -> None:
    assert "nvidia.uninstaller" not in _seen(tmp_path, {})
    seen = _seen(tmp_path, {"/usr/bin/nvidia-uninstall": "#!/bin/sh\n"})
    assert seen["nvidia.uninstaller"] == "/usr/bin/nvidia-uninstall"


_LIBVIRT = (
    "<hostdev mode='subsystem' type='pci' managed='yes'>\n<source>\n"
    "<address domain='0x0000' bus='0x41' slot='0x00' function='0x0'/></source>\n"
    "<address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/></hostdev>"
)


@pytest.mark.parametrize(
    ("files", "places", "used"),
    [
        (
            {
                "/etc/modprobe.d/vfio.conf": "options vfio-pci ids=10de:2684,10de:22ba\n",
                "/etc/libvirt/qemu/win11.xml": _LIBVIRT,
            },
            ["/etc/modprobe.d/vfio.conf"],
            ["0000:41:00.0"],
        ),
        (
            {
                "/etc/modprobe.d/vfio.conf": "#options vfio-pci ids=10de:2684\n",
                "/proc/cmdline": "quiet vfio-pci.ids=10de:2684\n",
                "/etc/pve/qemu-server/101.conf": "hostpci0: 41:00,pcie=1\nhostpci1: 0000:42:00.1\n",
            },
            ["/proc/cmdline"],
            ["0000:41:00.0", "0000:42:00.1"],
        ),
        ({"/etc/modprobe.d/vfio.conf": "options vfio-pci ids=1002:744c\n"}, None, None),
    ],
)
def test_who_keeps_gpus_for_virtual_machines(
    tmp_path: Path, files: dict[str, str], places: list[str] | None, used: list[str] | None
) -> None:
    host = made_host(tmp_path, files)
    facts = values(facts_of(of_modules(host, {_DEVICE: "vfio-pci"}, loaded=False, installed=False)))
    assert (facts.get("nvidia.ids_of_vfio"), facts.get("nvidia.used_by_guests")) == (places, used)
    # Nothing is read where NVIDIA's driver has the card.
    facts = values(facts_of(of_modules(host, {_DEVICE: "nvidia"}, loaded=True, installed=True)))
    assert "nvidia.used_by_guests" not in facts
