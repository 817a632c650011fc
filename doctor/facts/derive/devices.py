"""Names, number and capabilities of the GPUs that a program here would see."""

from __future__ import annotations

from typing import Any

from doctor.facts.conditions import lookup
from doctor.facts.derive.making import SOURCE
from doctor.facts.devices import is_soldered
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, unknown, value_of


def of_gpus(facts: Facts) -> FactStream:
    """Yield names, count and capabilities of the visible GPUs."""
    seen = _visible(facts)
    if seen.state is not State.PRESENT or not isinstance(seen.value, list):
        for name in ("capabilities", "gpu_names", "gpu_count", "soldered"):
            yield f"nvidia.{name}", seen if seen.state is State.UNKNOWN else absent(SOURCE)
        return
    gpus = [gpu for gpu in seen.value if isinstance(gpu, dict)]
    names = [str(gpu["name"]) for gpu in gpus if gpu.get("name")]
    yield "nvidia.capabilities", _capabilities(gpus)
    yield "nvidia.gpu_names", present(names, SOURCE) if names else absent(SOURCE)
    fixed = [name for name in names if is_soldered(name)]
    whole = fixed and len(fixed) == len(names)
    yield "nvidia.soldered", present(fixed, SOURCE) if whole else absent(SOURCE)
    yield "nvidia.gpu_count", present(len(gpus), SOURCE) if gpus else absent(SOURCE)


def _visible(facts: Facts) -> Fact:
    """Return the visible GPUs: of the probe, else of torch, else all of an older report."""
    visible = facts.get("nvidia.visible")
    if visible is not None and visible.state is State.PRESENT:
        return visible
    if value_of(facts, "torch.build") == "cuda" and value_of(facts, "torch.cuda_devices"):
        return facts["torch.cuda_devices"]
    return lookup("nvidia.gpus", facts) if visible is None else visible


def _capabilities(gpus: list[dict[str, Any]]) -> Fact:
    """Return the capability of each GPU that answers; a GPU that is lost runs no code."""
    told = [str(gpu["capability"]) for gpu in gpus if gpu.get("capability")]
    if any(not gpu.get("capability") and not gpu.get("error") for gpu in gpus):
        return unknown("the capability of every GPU is not known", SOURCE)
    return present(told, SOURCE) if told else absent(SOURCE)


def target_arch(facts: Facts, *, torch: bool) -> str | None:
    """Return the architecture to compile for, `sm_90`.

    The newest visible GPU's, which torch's builder bounds by what torch holds.

    So does `_get_cuda_arch_flags` in torch/utils/cpp_extension.py: a GPU newer than torch's own
    code is served by an older target.
    """
    declared = facts.get("nvidia.capabilities")
    seen = (
        declared
        if declared is not None and declared.state is State.PRESENT
        else dict(of_gpus(facts))["nvidia.capabilities"]
    )
    here = [pair for one in seen.value or () if (pair := _pair(str(one)))]
    if not here:
        return None
    compiled = [
        _pair(f"{digits[:-1]}.{digits[-1]}")
        for arch in value_of(facts, "torch.arch_list") or ()
        if (digits := _digits(arch))
    ]
    bound = max(filter(None, compiled), default=None) if torch else None
    return "sm_{}{}".format(*min(max(here), bound or max(here)))


def _digits(arch: Any) -> str:
    found = str(arch).removeprefix("sm_").rstrip("af")
    return found if str(arch).startswith("sm_") and found.isdigit() and len(found) > 1 else ""


def _pair(capability: str) -> tuple[int, int] | None:
    first, _, second = capability.partition(".")
    return (int(first), int(second)) if first.isdigit() and second.isdigit() else None
