"""What the variables that choose among AMD's GPUs leave of them.

One is read by ROCm's runtime, the other by HIP above it.
"""

from __future__ import annotations

from doctor.facts.derive.making import SOURCE
from doctor.model.facts import Facts, FactStream, absent, present, value_of

_ABOVE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""What HIP reads, the first that is set."""


def chosen(facts: Facts) -> FactStream:
    """Yield `amd.visible_error`.

    In words, where the first GPU that HIP is told to take is not among those that the runtime
    leaves.
    """
    said = _wrong(facts)
    yield "amd.visible_error", present(said, SOURCE) if said else absent(SOURCE)


def _wrong(facts: Facts) -> str:
    listed = value_of(facts, "amd.gpus")
    here = len(listed) if isinstance(listed, list | tuple) else 0
    above = next((name for name in _ABOVE if isinstance(value_of(facts, f"env.{name}"), str)), "")
    first = _entries(facts, above)[:1]
    if not here or not first or not first[0].isdecimal():
        return ""
    below = _entries(facts, "ROCR_VISIBLE_DEVICES")
    left = _left(below, here) if below else here
    if int(first[0]) < left:
        return ""
    wanted = f"{above}={value_of(facts, f'env.{above}')}"
    if left < here:
        numbers = "0" if left == 1 else f"0 to {left - 1}"
        mask = f"ROCR_VISIBLE_DEVICES={value_of(facts, 'env.ROCR_VISIBLE_DEVICES')}"
        return (
            f"{wanted}, but {mask} leaves {left} of {here} GPUs, which HIP counts anew: {numbers}"
        )
    return f"{wanted}, but this machine has {here} GPU{'s' if here > 1 else ''}, counted from 0"


def _entries(facts: Facts, variable: str) -> list[str]:
    value = value_of(facts, f"env.{variable}") if variable else None
    return (
        [entry.strip() for entry in value.split(",")]
        if isinstance(value, str) and value.strip()
        else []
    )


def _left(entries: list[str], here: int) -> int:
    """Return how many GPUs a list leaves: it is read up to the first number that is too high.

    A UUID counts as one that is there.
    """
    valid = [not entry.isdecimal() or int(entry) < here for entry in entries]
    return min(valid.index(False) if False in valid else len(valid), here)
