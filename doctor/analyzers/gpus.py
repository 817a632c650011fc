"""Name the GPU that an event or a log speaks of, with its compute capability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from doctor.analyzers.case import Case
from doctor.analyzers.recipes import command
from doctor.base.patterns import compile_for_fact
from doctor.model.events import Event
from doctor.model.issues import Recipe

_NAMES_A_GPU = re.compile(r"(?i)nvidia|geforce|[rg]tx|tesla|quadro|titan|\b[ABHTVPLK]\d{1,3}\b")
_RTX = re.compile(r"(?i)(?<![a-z0-9])([rg]tx)[ _-]?(?=\d{3,4})")
"""People write rtx5070ti for RTX 5070 Ti."""
_MOST_LINES = 4000


class Gpu(NamedTuple):
    """A GPU with what its table row says of it; `name` is empty where the log names none."""

    name: str
    capability: str
    row: Mapping[str, Any]

    @property
    def sm(self) -> str:
        """Return the architecture as compilers write it: `sm_120`."""
        return "sm_" + self.capability.replace(".", "")

    @property
    def label(self) -> str:
        """Return the name with the architecture, or the architecture alone."""
        return f"{self.name} ({self.sm})" if self.name else f"a GPU of {self.sm}"


def gpu_of(case: Case, event: Event) -> Gpu | None:
    """Return the GPU that an event speaks of, or else the one that the log names; None for two."""
    objects = event.objects
    capability = ""
    if arch := objects.get("arch"):
        capability = f"{arch[:-2]}.{arch[-2]}"
    elif sm := objects.get("sm", "").rstrip("af"):
        capability = f"{sm[:-1]}.{sm[-1]}"
    elif objects.get("own"):
        capability = f"{objects['own']}.{objects['tenth']}"
    elif device := objects.get("device"):
        capability = device if "." in device else f"{device[:-1]}.{device[-1]}"
    named = dict(_named_gpus(case))
    if not capability:
        facts = case.facts.get("nvidia.capabilities")
        known = map(str, (facts.value if facts else None) or ())
        there = list(dict.fromkeys([*named.values(), *known]))
        if len(there) != 1:
            return None
        capability = there[0]
    name = objects.get("gpu", "") if not objects.get("gpu", "").isdigit() else ""
    name = name or next((name for name, other in named.items() if other == capability), "")
    name = name.rpartition(": ")[2].strip(" :'\"")
    return Gpu(name, capability, _row(case, capability))


def _row(case: Case, capability: str) -> Mapping[str, Any]:
    table = case.catalog.tables.get("gpu-arch")
    rows = table.rows if table is not None else ()
    return next((row for row in rows if row["capability"] == capability), {})


def _named_gpus(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each GPU that the log names, with its compute capability."""
    table = case.catalog.tables.get("gpu-arch")
    models = [
        (compile_for_fact(row["models"]), str(row["capability"]))
        for row in (table.rows if table is not None else ())
        if isinstance(row.get("models"), str)
    ]
    texts = [*case.context.gpus, *case.log.lines[:_MOST_LINES]]
    for line in texts:
        if not _NAMES_A_GPU.search(line[:400]):
            continue
        text = _RTX.sub(lambda match: f"{match[1].upper()} ", line[:400])
        for pattern, capability in models:
            if (found := pattern.search(text)) is not None:
                yield found.text.strip(), capability


def see_capability() -> Recipe:
    """Return the recipe that shows the compute capability of the GPUs."""
    return command(
        "See the compute capability that the build has to name",
        "nvidia-smi",
        "--query-gpu=name,compute_cap",
        "--format=csv",
        look=True,
    )
