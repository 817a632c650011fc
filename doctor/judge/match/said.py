"""What frameworks and the driver's library say of GPUs that nothing reaches."""

from __future__ import annotations

from typing import NamedTuple

from doctor.facts.devices import state_said, vendors
from doctor.model.facts import Facts, value_of


class Framework(NamedTuple):
    """A framework: its spelling, the fact with its message about GPUs, and its check."""

    name: str
    spelled: str
    error: str
    check: str


FRAMEWORKS = (
    Framework("torch", "torch", "torch.cuda_error", "torch-runtime"),
    Framework("jax", "JAX", "jax.error", "jax-devices"),
    Framework("onnxruntime", "ONNX Runtime", "onnxruntime.error", "onnxruntime-devices"),
)
"""Those that are asked for their devices."""


def error_fact(framework: Framework, facts: Facts) -> str:
    """Return the fact that holds what a framework says of the devices that it is built for."""
    return (
        "torch.xpu_error"
        if value_of(facts, f"{framework.name}.unreached") == "xpu"
        else framework.error
    )


def taken(framework: Framework, facts: Facts) -> str:
    """Return what keeps a framework from GPUs that are well.

    "busy" or "full", where it says so and NVML sees the same of each.
    """
    seen = (
        value_of(facts, "nvidia.taken")
        if value_of(facts, f"{framework.name}.unreached") == "cuda"
        else None
    )
    return str(seen) if seen and state_said(value_of(facts, framework.error)) == seen else ""


def said_facts(facts: Facts) -> tuple[str, ...]:
    """Return the facts with messages of frameworks and of NVML about GPUs that nothing reaches."""
    missed = [
        error_fact(one, facts)
        for one in FRAMEWORKS
        if value_of(facts, f"{one.name}.unreached") and not taken(one, facts)
    ]
    wanted = (
        "nvidia" in vendors(facts)
        and bool(value_of(facts, "nvidia.wanted_by"))
        and value_of(facts, "torch.reaches_cuda") is None
    )
    return tuple(
        name
        for name in (*missed, *(("nvidia.nvml",) if wanted else ()))
        if isinstance(value_of(facts, name), str)
    )
