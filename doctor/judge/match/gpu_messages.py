"""What frameworks and the driver's library say of GPUs that nothing reaches."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.facts.devices import state_said, vendors
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, State, unknown, value_of
from doctor.model.roles import Role


class Framework(msgspec.Struct, frozen=True):
    """A framework: its spelling, the fact with its error about GPUs, its check's role."""

    name: str
    spelled: str
    error: str
    role: Role


FRAMEWORKS = (
    Framework("torch", "torch", "torch.cuda_error", Role.PROVES_TORCH),
    Framework("jax", "JAX", "jax.error", Role.PROVES_JAX),
    Framework("onnxruntime", "ONNX Runtime", "onnxruntime.error", Role.PROVES_ONNXRUNTIME),
)
"""Those that are asked for their devices."""


_OF_DRIVER = Pattern(
    r"cuInit|CUDA_ERROR_|CUDA failure \d|no CUDA-capable device|No visible GPU|"
    r"no supported devices found|No CUDA GPUs are available|Found no NVIDIA driver"
)


def blames_driver(framework: Framework, facts: Facts) -> bool:
    """Say whether a framework repeats what the driver said, which every other one hears as well.

    Another reason, such as a library of another release, is its own.
    """
    return bool(_OF_DRIVER.search(as_text(value_of(facts, error_fact(framework, facts)) or "")))


def says_no_device(words: str) -> bool:
    """Say whether words repeat that the driver does not start, or shows no GPU."""
    return bool(_OF_DRIVER.search(words))


def names_of(frameworks: Sequence[Framework]) -> str:
    """Name frameworks: `torch`, `torch and JAX`, `torch, JAX and ONNX Runtime`."""
    *others, last = (framework.spelled for framework in frameworks)
    return f"{', '.join(others)} and {last}" if others else last


def error_fact(framework: Framework, facts: Facts) -> str:
    """Return the fact that holds what a framework says of the devices that it is built for."""
    return (
        "torch.xpu_error"
        if value_of(facts, f"{framework.name}.unreached") == "xpu"
        else framework.error
    )


def gpu_obstacle(framework: Framework, facts: Facts) -> str:
    """Return what keeps a framework from GPUs that are well.

    "busy" or "full", where it says so and NVML sees the same of each.
    """
    seen = (
        value_of(facts, "nvidia.taken")
        if value_of(facts, f"{framework.name}.unreached") == "cuda"
        else None
    )
    return str(seen) if seen and state_said(value_of(facts, framework.error)) == seen else ""


def _is_of_containers_alone(facts: Facts) -> bool:
    """Say whether NVML uses the words for a container that lost its GPUs, and this is none.

    Facts tell the reason of such a machine.
    """
    outside = facts.get("host.container", unknown("")).state is State.ABSENT
    return outside and str(value_of(facts, "nvidia.nvml")).startswith("Unknown Error")


_OF_NVIDIA = ("nvidia.nvml", "nvidia.cards_left_alone")


def _of_amd(facts: Facts) -> tuple[str, ...]:
    wanted = (
        value_of(facts, "torch.build") == "rocm" and value_of(facts, "torch.reaches_cuda") is None
    )
    return ("amd.left_out",) if wanted else ()


def message_facts(facts: Facts) -> tuple[str, ...]:
    """Return the facts with messages about GPUs that nothing reaches.

    They are those of frameworks, of NVML, and of drivers in the kernel's log.
    """
    missed = [
        error_fact(one, facts)
        for one in FRAMEWORKS
        if value_of(facts, f"{one.name}.unreached") and not gpu_obstacle(one, facts)
    ]
    wanted = (
        "nvidia" in vendors(facts)
        and bool(value_of(facts, "nvidia.wanted_by"))
        and value_of(facts, "torch.reaches_cuda") is None
        and not _is_of_containers_alone(facts)
    )
    return tuple(
        name
        for name in (*missed, *(_OF_NVIDIA if wanted else ()), *_of_amd(facts))
        if isinstance(value_of(facts, name), str)
    )
