"""Metal: the version of macOS, the chip, and the GPU family that follows from its name."""

from __future__ import annotations

import re
from pathlib import Path

from doctor.host import Host, Termination
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput

BOUND = 3.0

_VERSION = "/System/Library/CoreServices/SystemVersion.plist"
_FAMILIES = {1: "apple7", 2: "apple8", 3: "apple9", 4: "apple9", 5: "apple10"}


def probe(scene: ProbeInput) -> FactStream:
    """Yield `metal.*`; elsewhere than on macOS all are absent, and nothing is run."""
    host = scene.host
    if host.platform != "darwin":
        for name in ("macos", "chip", "family"):
            yield f"metal.{name}", absent("only macOS has Metal")
        return
    yield "metal.macos", _macos(host)
    chip = _chip(host)
    yield "metal.chip", chip
    yield "metal.family", _family(chip)


def _macos(host: Host) -> Fact:
    text = host.read(_VERSION, limit=1 << 16) or ""
    if found := re.search(r"<key>ProductVersion</key>\s*<string>([\d.]+)</string>", text):
        return present(found[1], _VERSION)
    ran = host.run(["sw_vers", "-productVersion"], timeout=2.0, limit=1 << 12, cwd=Path("/"))
    version = ran.output.strip()
    if ran.ok and re.fullmatch(r"\d+(\.\d+)*", version):
        return present(version, "sw_vers")
    return unknown(ran.why or "neither SystemVersion.plist nor sw_vers tells it")


def _chip(host: Host) -> Fact:
    ran = host.run(
        ["sysctl", "-n", "machdep.cpu.brand_string"], timeout=2.0, limit=1 << 12, cwd=Path("/")
    )
    name = ran.output.strip().partition("\n")[0]
    if ran.ok and name:
        return present(name, "sysctl machdep.cpu.brand_string")
    return unknown(
        "sysctl did not answer within 2 s"
        if ran.ended is Termination.TIMEOUT
        else ran.why or f"sysctl: exit code {ran.code}"
    )


def _family(chip: Fact) -> Fact:
    if not isinstance(chip.value, str):
        return unknown(chip.why, chip.source)
    found = re.match(r"Apple M(\d+)\b", chip.value)
    if found is None:
        return (
            absent(f"{chip.value} is no Apple silicon")
            if "Apple" not in chip.value
            else unknown(f"{chip.value} is not in the table")
        )
    family = _FAMILIES.get(int(found[1]))
    return (
        present(family, chip.source) if family else unknown(f"{chip.value} is newer than the table")
    )
