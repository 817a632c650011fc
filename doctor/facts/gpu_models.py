"""Which compute capability a GPU has that somebody names: `H100`, `RTX 5090`, `Jetson Orin`.

The names are those of the table gpu-arch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.base.patterns import compile_pattern
from doctor.model.catalog import Catalog

_CAPABILITY = Pattern(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?")
_LONGEST = 60
_GEFORCE = Pattern(r"(?:GEFORCE )?(?:(RTX|GTX) ?)?([1-9]0[5-9]0|16[56]0)( ?TI)?( ?SUPER)?")
_AMD = Pattern(r"(?:INSTINCT )?MI ?\d{2,3}[A-Z]?|RADEON.*|(?:RADEON )?RX ?\d{4}.*|GFX\d{3,4}[A-F]?")
_INTEL = Pattern(r"(?:INTEL )?ARC.*|(?:INTEL )?(?:DATA CENTER GPU )?MAX ?\d{4}|[AB][3-7][0-9]0")


def gpu_facts(name: str, catalog: Catalog) -> Mapping[str, Any] | None:
    """Return the facts that a name of a GPU declares; None for a name that nobody knows.

    An architecture is a name as well: `sm_90`, `9.0`.
    """
    text = " ".join(name.replace("_", " ").replace("-", " ").upper().split())[:_LONGEST]
    if (found := _CAPABILITY.fullmatch(name.lower())) and len(name) < 8:
        return {"nvidia.capabilities": [f"{found[1]}.{found[2]}"], "gpu.declared": True}
    if _AMD.fullmatch(text):
        return {"gpu.vendors": ["amd"], "amd.gpu_present": True}
    if _INTEL.fullmatch(text):
        return {"gpu.vendors": ["intel"], "intel.gpu_present": True}
    if text.startswith("APPLE") or text in ("MPS", "METAL"):
        return {"gpu.vendors": ["apple"]}
    for spelled in _spellings(text):
        if capability := _capability(spelled, catalog):
            facts: dict[str, Any] = {
                "nvidia.capabilities": [capability],
                "nvidia.gpu_names": [f"NVIDIA {spelled}"],
                "gpu.declared": True,
            }
            if _is_jetson(spelled):
                facts["host.jetson"] = f"Jetson {spelled.removeprefix('Jetson ')}"
                facts["host.machine"] = "aarch64"
            return facts
    return None


def _spellings(text: str) -> list[str]:
    """Return how NVIDIA may spell a name: RTX5090 and 5090 are RTX 5090."""
    text = text.removeprefix("NVIDIA ")
    spelled = [text]
    if found := _GEFORCE.fullmatch(text):
        kind = found[1] or ("GTX" if found[2].startswith("1") else "RTX")
        spelled.append(f"{kind} {found[2]}{' Ti' if found[3] else ''}")
    spelled.append(re.sub(r"^(RTX|GTX|L|PRO) ?(\w)", r"\1 \2", text))
    spelled.append(re.sub(r"^RTX ?PRO ?", "RTX PRO ", text))
    spelled.append(text.title())
    spelled.append(re.sub(r"^RTX ?(\d{4}) ?ADA.*", r"RTX \1 Ada", text))
    return list(dict.fromkeys(spelled))


def _is_jetson(name: str) -> bool:
    return any(word in name.lower() for word in ("orin", "thor", "jetson", "xavier"))


def _capability(name: str, catalog: Catalog) -> str | None:
    table = catalog.tables.get("gpu-arch")
    for row in table.rows if table else ():
        if (models := row.get("models")) and compile_pattern(str(models)).search(name):
            return str(row["capability"])
    return None


def family(capability: str, catalog: Catalog) -> Mapping[str, Any]:
    """Return the row of a compute capability; empty where there is none."""
    table = catalog.tables.get("gpu-arch")
    rows = table.rows if table else ()
    return next((row for row in rows if str(row["capability"]) == capability), {})
