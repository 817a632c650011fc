"""Find device files of NVIDIA's driver that are missing, wrong, or closed to this user.

The driver has the major number 195 for /dev/nvidiactl (minor 255) and /dev/nvidiaN (minor N), and
the kernel gives nvidia-uvm a number of its own whenever the module is loaded. That is how
nvidia-modprobe makes these files, with the owner and the mode of /proc/driver/nvidia/params
(https://github.com/NVIDIA/nvidia-modprobe/blob/main/modprobe-utils/nvidia-modprobe-utils.c).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present

_CONTROL = "/dev/nvidiactl"
_CONTROL_MINOR = 255
_OF_DRIVER = Pattern(r"^ {0,3}(\d{1,4}) nvidia(?:-frontend|ctl)?$", re.MULTILINE)
"""What the driver calls itself in /proc/devices; it was nvidia-frontend up to release 545."""
_OF_UVM = Pattern(r"^ {0,3}(\d{1,4}) nvidia-uvm$", re.MULTILINE)
_OF_JETSON = Pattern(r"nvmap|nvhost-(?:as-|ctrl-)?gpu|nvhost-ctrl")
_MINOR = Pattern(r"^Device Minor:[ \t]*(\d{1,3})$", re.MULTILINE)
_MODE = Pattern(r"^DeviceFileMode: (\d{1,4})$", re.MULTILINE)


def device_nodes(host: Host, *, shown: bool) -> FactStream:
    """Yield what the device files tell; `shown` says whether there is a driver."""
    yield "nvidia.device_nodes", _usable(host) if shown else absent("no driver is loaded")
    refused, barred = _refused(host) if shown else ([], [])
    yield "nvidia.nodes_refused", _listed(refused, "/dev/nvidia*")
    yield "nvidia.nodes_barred", _listed(barred, "/dev/nvidia*")
    yield "nvidia.jetson_nodes_refused", _listed(_of_jetson_refused(host), "/dev/nv*")
    gpus = _gpu_nodes(host) if shown else []
    yield "nvidia.gpus_refused", _listed(_if_all(gpus, refused), "/dev/nvidia*")
    yield "nvidia.gpus_barred", _listed(_if_all(gpus, barred), "/dev/nvidia*")
    numbers = (host.read("/proc/devices", limit=1 << 16) or "") if shown else ""
    stale = _stale(host, numbers)
    yield (
        "nvidia.nodes_stale",
        present(stale, "/proc/devices") if stale else absent("/proc/devices"),
    )
    wrong = dict(_wrong(host, numbers))
    yield "nvidia.nodes_wrong", _listed(list(wrong.values()), "/proc/devices")
    yield "nvidia.nodes_wrong.files", _listed(list(wrong), "/proc/devices")
    yield "nvidia.nodes_missing", _listed(_missing(host) if shown else [], "/dev/nvidia*")
    yield "nvidia.device_file_mode", _meant_mode(host) if shown else absent("no driver is loaded")
    yield (
        "nvidia.uvm_node",
        present(host.exists("/dev/nvidia-uvm"), "/dev/nvidia-uvm")
        if shown
        else absent("/dev/nvidia-uvm"),
    )


def _listed(found: list[str], source: str) -> Fact:
    return present(found, source) if found else absent(source)


def _gpu_nodes(host: Host) -> list[str]:
    return [f"/dev/{name}" for name in host.list("/dev") if re.fullmatch(r"nvidia\d+", name)]


def _usable(host: Host) -> Fact:
    if host.exists("/dev/dxg"):
        return present(os.access(host.at("/dev/dxg"), os.R_OK | os.W_OK), "/dev/dxg")
    nodes = _gpu_nodes(host)
    # Opening a GPU's own node wakes the GPU, which takes seconds; nvidiactl costs nothing and is
    # refused the same way.
    usable = _opens(host.at(_CONTROL)) and all(
        os.access(host.at(node), os.R_OK | os.W_OK) for node in nodes
    )
    return present(bool(nodes) and usable, "/dev/nvidiactl, /dev/nvidia*")


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0)))
    except OSError:
        return False
    return True


def _refused(host: Host) -> tuple[list[str], list[str]]:
    """Return the device nodes closed by their mode, and those closed by a control group."""
    nodes = [
        f"/dev/{name}"
        for name in host.list("/dev")
        if re.fullmatch(r"nvidia(?:\d+|ctl|-uvm)", name)
    ]
    closed = [node for node in nodes if not os.access(host.at(node), os.R_OK | os.W_OK)]
    barred = [node for node in closed if _mode_allows(host.at(node))]
    return [node for node in closed if node not in barred], barred


def _of_jetson_refused(host: Host) -> list[str]:
    """Return the nodes through which CUDA reaches a Jetson's GPU and that this user may not open.

    L4T's udev rules give them to the group video. Other machines have none.
    """
    nodes = [f"/dev/{name}" for name in sorted(host.list("/dev")) if _OF_JETSON.fullmatch(name)]
    return [node for node in nodes if not os.access(host.at(node), os.R_OK | os.W_OK)]


def _mode_allows(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    member = status.st_gid in (os.getegid(), *os.getgroups())
    shift = 6 if status.st_uid == os.geteuid() else 3 if member else 0
    return (status.st_mode >> shift) & 0o6 == 0o6


def _if_all(gpus: list[str], closed: list[str]) -> list[str]:
    """Return the nodes of the GPUs where all of them are closed.

    Where some are open, somebody gave this user those and no others.
    """
    return gpus if gpus and all(node in closed for node in gpus) else []


def _stale(host: Host, numbers: str) -> str:
    """Say whether /dev/nvidia-uvm has another major number than the kernel's."""
    listed, number = _OF_UVM.search(numbers), _number(host.at("/dev/nvidia-uvm"))
    if listed is None or number is None or number[0] == int(listed[1]):
        return ""
    return (
        f"/dev/nvidia-uvm has the number {number[0]}, and nvidia-uvm is {listed[1]} "
        f"in /proc/devices"
    )


def _wrong(host: Host, numbers: str) -> Iterator[tuple[str, str]]:
    """Yield device files of the driver that stand for something else, and how that shows."""
    # Docker makes a folder for what it is to mount and does not find on the host.
    for node in (_CONTROL, *_gpu_nodes(host)):
        if host.at(node).is_dir():
            yield node, f"{node} is a folder and no device file"
    listed = _OF_DRIVER.search(numbers)
    if listed is None:
        return
    minors = {node: int(node.removeprefix("/dev/nvidia")) for node in _gpu_nodes(host)}
    for node, minor in {_CONTROL: _CONTROL_MINOR, **minors}.items():
        number, wanted = _number(host.at(node)), (int(listed[1]), minor)
        if number is not None and number != wanted:
            yield (
                node,
                (
                    f"{node} has the number {number[0]}:{number[1]}, and the driver's is "
                    f"{wanted[0]}:{wanted[1]}"
                ),
            )
        elif number is None and host.exists(node):
            yield node, f"{node} is no device file"


def _number(path: Path) -> tuple[int, int] | None:
    """Return the major and the minor number of a device file; None where it is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISCHR(status.st_mode):
        return None
    return os.major(status.st_rdev), os.minor(status.st_rdev)


def _missing(host: Host) -> list[str]:
    """Return the device files that are not there, of a driver that holds GPUs.

    Some GPUs without a file are a matter of a container or a cluster. Then nothing is missing.
    """
    if host.exists("/dev/dxg"):
        return []
    held = [
        f"/dev/nvidia{found[1]}"
        for path in host.glob("/proc/driver/nvidia/gpus", "*/information")
        if (found := _MINOR.search(host.read(path, limit=4096) or ""))
    ]
    gpus = [] if _gpu_nodes(host) else sorted(held)
    control = [_CONTROL] if held and not host.exists(_CONTROL) else []
    return [*control, *gpus]


def _meant_mode(host: Host) -> Fact:
    """Return the mode that the driver wants its device files to have, in octal digits."""
    params = "/proc/driver/nvidia/params"
    found = _MODE.search(host.read(params, limit=1 << 14) or "")
    return present(f"{int(found[1]):04o}", params) if found else absent(params)
