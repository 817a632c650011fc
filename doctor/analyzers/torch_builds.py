"""Which published builds of torch hold code for which GPUs, from the table of its wheels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.analyzers.case import Case
from doctor.base.versions import in_range
from doctor.facts.derive.arch import uncovered
from doctor.model.facts import value_of
from doctor.model.issues import Action, Recipe

INDEX = "https://download.pytorch.org/whl/"


def architectures(case: Case, release: str, cuda: str) -> list[str]:
    """Return what a wheel of torch for Linux has code for."""
    table = case.catalog.tables.get("torch-archs")
    seen = {
        "torch": release,
        "cuda": cuda,
        "machine": str(value_of(case.facts, "host.machine") or case.context.machine or "x86_64"),
        "os": "linux",
    }
    row = next((row for row in (table.rows if table else ()) if _fits(row, seen)), None)
    return str(row["archs"]).split() if row else []


def _fits(row: Mapping[str, Any], seen: Mapping[str, str]) -> bool:
    for name, value in seen.items():
        cell = row.get(name)
        if isinstance(cell, Mapping):
            here = in_range(value, introduced=cell.get("from"), fixed=cell.get("before"))
            if not here:
                return False
        elif value not in (cell if isinstance(cell, list | tuple) else (cell,)):
            return False
    return True


def newest_for_python(case: Case, capability: str) -> tuple[Recipe, ...]:
    """Return the recipe of the newest torch for an old Python, where that has code for a GPU."""
    release = value_of(case.facts, "python.newest_torch")
    tags = value_of(case.facts, "python.newest_torch_tags")
    python = value_of(case.facts, "python.minor")
    if not isinstance(release, str) or not isinstance(tags, list) or len(tags) == 0:
        return ()
    for tag in sorted(map(str, tags), reverse=True):
        archs = architectures(case, release, f"{tag[2:-1]}.{tag[-1]}")
        if archs and not uncovered(archs, [capability]):
            return (
                Recipe(
                    title=f"Take torch {release}, the newest for Python {python}, from {tag}",
                    use_if=("driver 580 or newer is there",) if tag >= "cu130" else (),
                    note="Compile extensions again afterwards.",
                    steps=(
                        Action(
                            install=(f"torch=={release}+{tag}",),
                            companions=("torchvision", "torchaudio"),
                            index=INDEX + tag,
                        ),
                    ),
                ),
            )
    return ()
