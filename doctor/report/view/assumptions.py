"""What was declared with `--assume` rather than seen, as the person wrote it."""

from __future__ import annotations

from doctor.base.text import sanitize
from doctor.facts.placeholders import as_text
from doctor.model.facts import ASSUMED, Facts, value_of

_LONGEST = 500


def assumed(facts: Facts) -> tuple[str, ...]:
    """Return what was declared, `gpu=sm_90` and `driver=535.104`, in the words of `--assume`.

    Empty where everything was seen.
    """
    declared = {
        name: value_of(facts, name) for name, fact in facts.items() if fact.source == ASSUMED
    }
    capabilities = declared.get("nvidia.capabilities")
    gpus = [
        f"gpu=sm_{as_text(each).replace('.', '')}"
        for each in (capabilities if isinstance(capabilities, list | tuple) else ())
    ]
    driver = declared.get("nvidia.driver_version")
    return (*gpus, *([f"driver={as_text(driver)}"] if driver else []))


def as_if(facts: Facts) -> str:
    """Say what a judgement takes for given; empty where everything was seen."""
    declared = assumed(facts)
    return (
        " ".join(
            sanitize(f"judged as if there (--assume): {', '.join(declared)}"[:_LONGEST]).split()
        )
        if declared
        else ""
    )
