"""The machine for which packages are asked: what of it decides over wheels."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.base.versions import minor
from doctor.facts.devices import texts, vendors
from doctor.facts.gpu_models import family
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of

_OTHERS = {"amd": "an AMD GPU", "intel": "an Intel GPU", "apple": "Apple's GPU"}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A machine: system, processor, Python, C library, GPUs and driver.

    `vendor` is whose GPU computes: nvidia, amd, intel, apple, or empty where there is none. `gpu`
    names it in words. `driver` is empty where nobody knows it; so are `glibc` and `macos` where
    the system has none.
    """

    os: str
    machine: str
    python: str
    glibc: str = ""
    macos: str = ""
    vendor: str = ""
    gpu: str = ""
    capabilities: tuple[str, ...] = ()
    driver: str = ""
    jetson: bool = False

    @property
    def python_minor(self) -> str:
        """Return the Python as wheels count it, 3.12."""
        return minor(self.python) or self.python

    @property
    def words(self) -> tuple[str, ...]:
        """Return what a reader has to know of it, in a few words each."""
        system = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(self.os, self.os)
        libc = f", glibc {self.glibc}" if self.glibc else ""
        return (
            f"{self.gpu or 'no GPU'}{f', driver {self.driver}' if self.driver else ''}",
            f"Python {self.python}",
            f"{system}{f' {self.macos}' if self.macos else ''} on {self.machine}{libc}",
        )


def place_of(facts: Facts, catalog: Catalog, python: str = "") -> Place:
    """Return the machine that facts describe; `python` replaces the Python that they name."""
    system = _text(facts, "host.os")
    machine = _text(facts, "host.machine")
    capabilities = tuple(dict.fromkeys(texts(facts, "nvidia.capabilities")))
    vendor = _vendor(facts, system, machine, capabilities)
    return Place(
        os=system or "linux",
        machine={"amd64": "x86_64", "AMD64": "x86_64"}.get(machine, machine) or "x86_64",
        python=python or _text(facts, "python.version"),
        glibc=_text(facts, "host.glibc") if system == "linux" else "",
        macos=_text(facts, "metal.macos") if system == "macos" else "",
        vendor=vendor,
        gpu=_gpu(facts, vendor, capabilities, catalog),
        capabilities=capabilities if vendor == "nvidia" else (),
        driver=_text(facts, "nvidia.driver_version") if vendor == "nvidia" else "",
        jetson=bool(_text(facts, "host.jetson")),
    )


def _text(facts: Facts, name: str) -> str:
    value: Any = value_of(facts, name)
    return "" if value is None else str(value)


def _vendor(facts: Facts, system: str, machine: str, capabilities: tuple[str, ...]) -> str:
    if capabilities:
        return "nvidia"
    others = [one for one in vendors(facts) if one != "nvidia"]
    if others:
        return others[0]
    if value_of(facts, "amd.gpu_present"):
        return "amd"
    return "apple" if system == "macos" and machine == "arm64" else ""


def _gpu(facts: Facts, vendor: str, capabilities: tuple[str, ...], catalog: Catalog) -> str:
    if vendor != "nvidia":
        return {"amd": "an AMD GPU", "intel": "an Intel GPU", "apple": "Apple's GPU"}.get(
            vendor, ""
        )
    names = list(dict.fromkeys(texts(facts, "nvidia.gpu_names")))
    words = []
    for number, capability in enumerate(capabilities):
        known = names[number] if number < len(names) else ""
        arch = "sm_" + capability.replace(".", "")
        kind = known or str(family(capability, catalog).get("family") or "a GPU")
        words.append(f"{kind} ({arch})")
    return " and ".join(words)
