"""Read the driver's error reports (Xid) and failed starts from the kernel's log.

The form of the records of /dev/kmsg is in
https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg, that of the lines in
https://docs.nvidia.com/deploy/xid-errors/index.html. Many systems let only root read the log.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, absent, present, unknown

_LOG = "/dev/kmsg"
_RECORD = 8192
"""Bytes that hold any record of /dev/kmsg."""
_MOST_BYTES = 4 << 20
_MOST_KINDS = 64
_PATIENCE = 0.15
"""Seconds: NVML, which is asked at the same time, takes no less."""
_MARKS = (
    b"NVRM: Xid",
    b"RmInitAdapter failed",
    b"irmware load for nvidia/",
    b"is 0M @ 0x0",
    b"NVRM: The NVIDIA GPU ",
    b"requires use of the NVIDIA open",
    b": BAR 1",
    b"necessary power cables connected",
    b"hange power state from D3cold to D0",
    b"nvidia_peermem: ",
    b"SXid",
)
_REFUSED_MARKS = (b"oading of ", b"odule loading is restricted")
_REFUSED = Pattern(
    r";(?P<text>(?:Loading of (?:unsigned )?module (?:with \w{4,12} key )?is rejected"
    r"|Lockdown: modprobe: unsigned module loading is restricted)[^\n]{0,60})"
)
"""The words of module_sig_check() and of lockdown's reasons in the kernel."""
_LEFT_MARKS = (b"Legacy drivers", b"not supported by open")
_LEFT = Pattern(
    r";(?P<text>NVRM: [^\n]{0,300}(?:\d{3}\.xx Legacy drivers|not supported by open)[^\n]{0,300})"
)
"""The words of nv_pci_probe() for a card that the release, or the open module, does not serve."""
_PROBE_MARKS = (b"NVRM: The NVIDIA probe routine failed for", b"probe with driver nvidia failed")
_PROBE = (
    r";(?P<text>nvidia [0-9a-f:.]{7,16}: probe with driver nvidia failed with error -\d{1,4}"
    r"|NVRM: The NVIDIA probe routine failed for \d{1,3} device\(s\)\.)"
)
"""The words of really_probe() in the kernel, and of nv_module_init() in NVIDIA's module."""
_KFD_MARKS = (b"kfd kfd: ",)
_KFD = Pattern(
    r";(?P<text>kfd kfd: [^\n]{0,60}(?:PCI rejects atomics|not supported in kfd)[^\n]{0,60})"
)
"""The words of kgd2kfd_probe() and kgd2kfd_device_init() in drivers/gpu/drm/amd/amdkfd."""
_BREAK = Pattern(r"\\x0a(?:NVRM:[ \t]{0,8})?")
"""How a record of the log writes a line break, and what NVIDIA's driver begins a line with."""
_INTEL_MARKS = (b"irmware load for xe/", b"irmware load for i915/", b"Your graphics device ")
_OF_AMD = (
    r";amdgpu (?P<place>[0-9a-f:.]{7,16}): (?:amdgpu: )?Direct firmware load for "
    r"(?P<file>amdgpu/[\w./-]{1,80}) failed with error -2\b"
)
_PROBE_OF_AMD = (
    r";amdgpu (?P<place>[0-9a-f:.]{7,16}): (?:amdgpu: )?"
    r"(?P<text>probe with driver amdgpu failed with error -\d{1,4})"
    r"|;amdgpu: (?P<older>probe of [0-9a-f:.]{7,16} failed with error -\d{1,4})"
)
"""The words of really_probe() in drivers/base/dd.c, since Linux 6.7 and before it."""
_AMD_MARKS = (b"irmware load for amdgpu/", b"amdgpu: probe of ", b"probe with driver amdgpu")
_FORCED = Pattern(
    r";(?:xe|i915) (?P<place>[0-9a-f:.]{7,16}): "
    r"(?P<text>Your graphics device [0-9a-f]{4} is not (?:properly|officially) supported by "
    r"(?:xe|i915)[^\n]{0,200})"
)
"""The words of i915_pci_probe() and of xe_pci_probe() for a GPU that waits for force_probe."""
_XID = Pattern(
    r"^\d{1,6},\d{1,20},(?P<at>\d{1,20}),[^;\n]{0,80};NVRM: Xid "
    r"\(PCI:(?P<place>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)\n]{0,40}\): "
    r"(?P<code>\d{1,4}),(?P<text>.{0,400})",
    re.MULTILINE,
)
_FAILED = Pattern(
    r";NVRM: GPU (?P<place>[0-9a-fA-F:.]{7,16}): "
    r"(?P<text>RmInitAdapter failed! \([0-9a-fx:]{1,40}\))"
)
_UNPOWERED = Pattern(
    r";NVRM: GPU (?:at )?(?P<place>[0-9a-fA-F:.]{7,16}): "
    r"(?P<text>GPU does not have the necessary power cables connected)"
)
"""The words of RmInitAdapter() for NV_ERR_INSUFFICIENT_POWER."""
_ASLEEP = Pattern(
    r";(?:nvidia|pci) (?P<place>[0-9a-f:.]{7,16}): (?P<text>(?:Unable to|can't) change power state "
    r"from D3cold to D0[^\n]{0,60})"
)
"""The words of pci_power_up() in the kernel, since Linux 5.19 and before it."""
_FIRMWARE = Pattern(r"irmware load for (?P<file>nvidia/[\w./-]{1,80}) failed with error -2\b")
_OF_INTEL = Pattern(
    r";(?:xe|i915) (?P<place>[0-9a-f:.]{7,16}): Direct firmware load for "
    r"(?P<file>(?:xe|i915)/[\w./-]{1,80}) failed with error -2\b"
)
_NO_BAR = Pattern(r"NVRM: (?P<text>BAR\d is 0M @ 0x0) \(PCI:(?P<place>[0-9a-fA-F:.]{7,16})\)")
"""The words of nv_pci_probe() for a card whose memory window got no address."""
_BAR_SIZE = (
    r";pci (?P<place>[0-9a-f:.]{7,16}): BAR 1[^\n]{0,60}\[mem size 0x(?P<size>[0-9a-f]{1,16})\b"
)
"""The words of pci_assign_resource() for a window that found no room."""
_OPEN = Pattern(
    r"NVRM: The NVIDIA GPU (?P<place>[0-9a-fA-F:.]{7,16}) \(PCI ID: [0-9a-fA-F:]{4,12}\)"
    r"(?:(?!The NVIDIA GPU)[\s\S]){0,200}?requires use of the NVIDIA open"
)
"""The words of nv_pci_probe() in one record or in two."""
_PEERMEM = Pattern(
    r";(?P<text>nvidia_peermem: (?:Unknown symbol|disagrees about version of symbol) "
    r"ib_(?:un)?register_peer_memory_client[^\n]{0,40})"
)
"""The words of the kernel for a module whose functions the loaded drivers do not have."""
_SXID = Pattern(
    r";nvidia-nvswitch(?P<switch>\d{1,2}): SXid \(PCI:(?P<place>[0-9a-fA-F:.]{7,16})\): "
    r"(?P<code>\d{5}), (?P<text>Fatal[^\n]{0,120})"
)
"""The words of NVSWITCH_PRINT_SXID() for a fatal error of an NVSwitch."""
_MOST_STARTS = 16
_PROCESS = Pattern(r"\bname=([^,]{1,64})")
_KEPT = 160


class KernelLog(msgspec.Struct, frozen=True):
    """What the driver wrote into the kernel's log.

    `xids` are the Xids of each GPU by their number, in the order of their first report;
    `start_failed` the GPUs that the driver could not start, in its words; `firmware_missing` the
    files that it asked for in vain (error -2, ENOENT); `bar_missing` the GPUs whose memory window
    got no address, `bar_size` how large such a window is; `open_required` the GPUs for which the
    closed module asks for the open one; `unpowered` those whose power cables are missing; `asleep`
    those that the kernel could not bring back from their deepest power saving (D3cold);
    `peermem_refused` why nvidia-peermem was not loaded; `sxid_fatal` fatal errors of NVSwitches.
    """

    xids: Fact
    start_failed: Fact
    firmware_missing: Fact
    bar_missing: Fact
    bar_size: Fact
    open_required: Fact
    unpowered: Fact
    asleep: Fact
    peermem_refused: Fact
    sxid_fatal: Fact


def no_log(why: Fact) -> KernelLog:
    """Return a log of which nothing is known but why."""
    return KernelLog(*[why] * len(msgspec.structs.fields(KernelLog)))


def kernel_log(host: Host) -> KernelLog:
    """Return what the driver wrote into the kernel's log since the start of the machine."""
    text = _text(host)
    if isinstance(text, Fact):
        return no_log(text)
    failed, unpowered, asleep = (_by_place(one, text) for one in (_FAILED, _UNPOWERED, _ASLEEP))
    files = dict.fromkeys(one["file"] for one in _FIRMWARE.finditer(text))
    bars = _by_place(_NO_BAR, text)
    closed = dict.fromkeys(one["place"].lower() for one in _OPEN.finditer(text))
    sizes = [
        f"{int(one['size'], 16) / (1 << 30):g} GiB"
        for one in re.finditer(_BAR_SIZE, text)
        if any(one["place"] in bar.lower() for bar in bars)
    ]
    refused = [one["text"].strip() for one in _PEERMEM.finditer(text)]
    fatal = dict.fromkeys(
        f"NVSwitch {one['switch']} ({one['place'].lower()}): SXid {one['code']}, "
        f"{one['text'].strip()}"
        for one in _SXID.finditer(text)
    )
    starts = (
        list(one)[:_MOST_STARTS]
        for one in (
            *(failed, files, bars, sizes[:1], closed, unpowered, asleep),
            *(refused[:1], fatal),
        )
    )
    found = (_collected(text), *starts)
    return KernelLog(*(present(one, _LOG) if one else absent(_LOG) for one in found))


def _by_place(pattern: Pattern[str], text: str) -> dict[str, None]:
    """Return what a pattern says of which PCI address, each once: `0000:10:00.0: …`."""
    found = pattern.finditer(text)
    return dict.fromkeys(f"{one['place'].lower()}: {one['text'].strip()}" for one in found)


def words_about_modules(host: Host) -> tuple[Fact, Fact, Fact]:
    """Return the kernel's words for a refused signature, and NVIDIA's for cards left alone.

    The third fact are the kernel's words where the module was loaded, could start no card, and left
    again.
    """
    text = _text(host, (*_REFUSED_MARKS, *_LEFT_MARKS, *_PROBE_MARKS))
    if isinstance(text, Fact):
        return text, text, text
    found, gone = _REFUSED.search(text), re.search(_PROBE, text)
    return (
        present(found["text"], _LOG) if found else absent(_LOG),
        _words(_LEFT, text),
        present(gone["text"], _LOG) if gone else absent(_LOG),
    )


def words_of_kfd(host: Host) -> Fact:
    """Return why AMD's compute driver (kfd) left GPUs out, in its words."""
    text = _text(host, _KFD_MARKS)
    return text if isinstance(text, Fact) else _words(_KFD, text)


def _words(pattern: Pattern[str], text: str) -> Fact:
    """Return the different messages that match, one a line; a line break in one is a space."""
    found = dict.fromkeys(_BREAK.sub(" ", one["text"]).strip() for one in pattern.finditer(text))
    return present("\n".join(list(found)[:_MOST_STARTS]), _LOG) if found else absent(_LOG)


def words_of_intel(host: Host, places: Sequence[str]) -> tuple[Fact, Fact]:
    """Return the files of firmware that Intel's drivers asked for in vain, for these GPUs.

    The second fact are their words for GPUs that this kernel does not serve by itself.
    """
    text = _text(host, _INTEL_MARKS)
    if isinstance(text, Fact):
        return text, text
    found = dict.fromkeys(one["file"] for one in _OF_INTEL.finditer(text) if one["place"] in places)
    waiting = [one["text"] for one in _FORCED.finditer(text) if one["place"] in places]
    return (
        present(list(found)[:_MOST_STARTS], _LOG) if found else absent(_LOG),
        present(waiting[0], _LOG) if waiting else absent(_LOG),
    )


def words_of_amd(host: Host, places: Sequence[str]) -> tuple[Fact, Fact]:
    """Return the files of firmware that amdgpu asked for in vain, for these GPUs.

    The second fact are the kernel's words where amdgpu gave one of them up.
    """
    text = _text(host, _AMD_MARKS)
    if isinstance(text, Fact):
        return text, text
    found = dict.fromkeys(
        one["file"] for one in re.finditer(_OF_AMD, text) if one["place"] in places
    )
    failed = [
        one["text"] or one["older"]
        for one in re.finditer(_PROBE_OF_AMD, text)
        if any(place in one[0] for place in places)
    ]
    return (
        present(list(found)[:_MOST_STARTS], _LOG) if found else absent(_LOG),
        present(failed[-1], _LOG) if failed else absent(_LOG),
    )


def _text(host: Host, marks: tuple[bytes, ...] = _MARKS) -> str | Fact:
    try:
        opened = os.open(host.at(_LOG), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return unknown("there is no /dev/kmsg here", _LOG)
    except OSError as error:
        return unknown(f"the kernel's log may not be read: {error.strerror}", _LOG)
    try:
        return _read(opened, marks)
    except OSError as error:
        return unknown(f"the kernel's log may not be read: {error.strerror}", _LOG)
    finally:
        os.close(opened)


def _read(opened: int, marks: tuple[bytes, ...]) -> str:
    """Return the records of the driver; of a file that is no device, all of it."""
    whole = not stat.S_ISCHR(os.fstat(opened).st_mode)
    end, size = time.monotonic() + _PATIENCE, 0
    kept: list[bytes] = []
    while size < _MOST_BYTES and time.monotonic() < end:
        try:
            record = os.read(opened, _RECORD)
        except BlockingIOError:
            break
        except BrokenPipeError:
            # Records were overwritten meanwhile; the next one is the oldest that is left.
            continue
        if not record:
            break
        size += len(record)
        if whole or any(mark in record for mark in marks):
            kept.append(record)
    return b"".join(kept).decode("utf-8", "replace")


def _collected(text: str) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for match in _XID.finditer(text):
        key = match["place"].lower(), int(match["code"])
        if key not in found and len(found) == _MOST_KINDS:
            continue
        process = _PROCESS.search(match["text"])
        entry = found.setdefault(key, {"code": key[1], "pci_bus_id": key[0], "count": 0})
        entry["count"] += 1
        entry["last_seconds"] = int(match["at"]) // 1_000_000
        entry["text"] = match["text"].strip()[:_KEPT]
        if process:
            entry["process"] = process[1].strip()
    return list(found.values())
