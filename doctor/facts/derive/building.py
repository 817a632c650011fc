"""What a build of an extension can use here: jobs, pip's own CUDA, symbolic sizes."""

from __future__ import annotations

from doctor.base.versions import in_range, major
from doctor.facts.conditions import lookup
from doctor.facts.derive.making import derived_fact
from doctor.model.facts import Facts, FactStream, State, value_of

_BYTES_A_JOB = 6 << 30
_ONE_FOLDER = 13
"""From CUDA 13 on pip's packages share one folder; before, each had its own."""


def building(facts: Facts) -> FactStream:
    """Yield how many jobs fit, where pip's CUDA lies, and whether torch makes sizes symbolic."""
    yield (
        "build.max_jobs",
        derived_fact(facts, "host.cpu_count", "host.memory_available_bytes", make=_max_jobs),
    )
    yield "cuda.pip_root", derived_fact(facts, "torch.path", "torch.cuda_version", make=_pip_root)
    if (
        value_of(facts, "torch.build") == "cuda"
        and lookup("torch.specializes_symbolic", facts).state is State.UNKNOWN
    ):
        yield (
            "torch.specializes_symbolic",
            derived_fact(
                facts, "torch.version", make=lambda text: in_range(text, introduced="2.6.0")
            ),
        )


def _max_jobs(cores: int, free: int) -> int:
    """Return how many compilers to run at once.

    A flash-attn unit takes some five gigabytes, and something must be left over.
    """
    return max(1, min(int(cores), int(free) // _BYTES_A_JOB))


def _pip_root(torch: str, cuda: str) -> str | None:
    generation = major(cuda)
    return (
        f"{torch.rpartition('/')[0]}/nvidia/cu{generation}"
        if generation and generation >= _ONE_FOLDER
        else None
    )
