"""Facts that follow from compiled files and the GPUs here."""

from __future__ import annotations

from doctor.facts.derive.arch import uncovered
from doctor.facts.derive.making import derived_fact
from doctor.facts.families import extension_facts
from doctor.model.facts import Facts, FactStream


def extensions(facts: Facts) -> FactStream:
    """Yield for each package the GPUs here that its code does not run on."""
    for one in [one for one in extension_facts(facts) if one.kind == "archs"]:
        yield (
            one._replace(kind="unsupported_gpus").name,
            derived_fact(facts, one.name, "nvidia.capabilities", make=_unsupported),
        )


def _unsupported(archs: list[str], here: list[str]) -> list[str] | None:
    """Return what none of the code runs on.

    A file does not say by which CUDA it was compiled, so the milder rule holds for Orin.
    """
    return uncovered(archs, here, unified=True) or None
