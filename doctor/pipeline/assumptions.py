"""Facts that somebody declares in place of observed ones: `--assume gpu=H100,driver=550`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doctor.base.errors import UsageError
from doctor.base.lazy_pattern import Pattern
from doctor.facts.gpu_models import gpu_facts
from doctor.model.catalog import Catalog

_DRIVER = Pattern(r"[0-9]{2,4}(\.[0-9]{1,4}){0,2}")
_PYTHON = Pattern(r"3\.[0-9]{1,2}(\.[0-9]{1,3})?t?")
_GLIBC = Pattern(r"2\.[0-9]{1,2}")
_SYSTEM = Pattern(r"(linux|windows|macos)(?:-(x86_64|aarch64|arm64|[0-9]{2}(?:\.[0-9]{1,2})?))?")


def parse_assumptions(
    texts: Sequence[str], catalog: Callable[[], Catalog], *, elsewhere: bool = False
) -> Mapping[str, Any]:
    """Return the facts that `gpu=H100` and `driver=535.104` declare; commas separate several.

    `elsewhere` allows what makes it another machine: `os=`, `python=` and `glibc=`. The catalog is
    asked for only where a GPU is named. Raises UsageError for anything else.
    """
    facts: dict[str, Any] = {}
    for item in (part.strip() for text in texts for part in text.split(",")):
        key, _, value = item.partition("=")
        more = _gpu(value, catalog) if key == "gpu" else _plain(key, value, elsewhere=elsewhere)
        if more is None:
            raise UsageError(f"--assume {item}: {_expected(key, elsewhere=elsewhere)}")
        for name, told in more.items():
            facts[name] = [*facts.get(name, []), *told] if isinstance(told, list) else told
    return facts


def _gpu(value: str, catalog: Callable[[], Catalog]) -> Mapping[str, Any] | None:
    digits = value.removeprefix("sm_").rstrip("af")
    if digits.isdecimal() and 2 <= len(digits) <= 3:
        return {"nvidia.capabilities": [f"{digits[:-1]}.{digits[-1]}"], "gpu.declared": True}
    return gpu_facts(value, catalog()) if value else None


def _plain(key: str, value: str, *, elsewhere: bool) -> Mapping[str, Any] | None:
    if key == "driver" and _DRIVER.fullmatch(value):
        return {"nvidia.driver_version": value}
    if not elsewhere:
        return None
    if key == "python" and _PYTHON.fullmatch(value):
        return {"python.version": value}
    if key == "glibc" and _GLIBC.fullmatch(value):
        return {"host.glibc": value}
    if key == "os" and (found := _SYSTEM.fullmatch(value)):
        return _system(found[1], found[2] or "")
    return None


def _system(name: str, more: str) -> Mapping[str, Any]:
    """Return the facts of a system: `linux-aarch64`, `macos-15`."""
    facts: dict[str, Any] = {"host.os": name}
    if more[:1].isdecimal():
        facts |= {"metal.macos": more} if name == "macos" else {}
    machine = more if more and not more[0].isdecimal() else ""
    default = "arm64" if name == "macos" else "x86_64"
    facts["host.machine"] = machine or default
    return facts


def _expected(key: str, *, elsewhere: bool) -> str:
    known = {
        "gpu": "say gpu=sm_90, or the name of a GPU such as gpu=H100 or gpu=RTX5090",
        "driver": "say driver=535.104",
        "python": "say python=3.12",
        "glibc": "say glibc=2.28",
        "os": "say os=linux, os=linux-aarch64, os=windows or os=macos-15",
    }
    if key in known and (elsewhere or key in ("gpu", "driver")):
        return known[key]
    others = ", os=, python= or glibc=" if elsewhere else ""
    return f"say gpu=sm_90 or driver=535.104{others}"
