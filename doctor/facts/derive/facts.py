"""The derived facts, in the order in which one builds on another."""

from __future__ import annotations

from functools import partial

from doctor.base.versions import in_range, major, minor, public
from doctor.facts.conditions import lookup
from doctor.facts.derive.amd import amd_choices
from doctor.facts.derive.arch import beyond, uncovered
from doctor.facts.derive.building import building
from doctor.facts.derive.builds_in_texts import published_build, without_build
from doctor.facts.derive.candle import candle
from doctor.facts.derive.cards import cards
from doctor.facts.derive.cells import table_facts
from doctor.facts.derive.choices import choices
from doctor.facts.derive.companions import companions
from doctor.facts.derive.devices import of_gpus
from doctor.facts.derive.driver import halves, wants
from doctor.facts.derive.extensions import extensions
from doctor.facts.derive.gpus import capabilities
from doctor.facts.derive.health import health
from doctor.facts.derive.intel import level_zero
from doctor.facts.derive.making import SOURCE, derived_fact
from doctor.facts.derive.pins import pins
from doctor.facts.derive.reach import reach
from doctor.facts.derive.system import system
from doctor.facts.derive.torch_for_python import torch_for_python
from doctor.facts.derive.wheels import driver_runs, wanted_tag
from doctor.facts.derive.xid import xid
from doctor.facts.families import Requirement, TableCell
from doctor.facts.placeholders import as_text
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, unknown, value_of


def derive(facts: Facts, catalog: Catalog) -> dict[str, Fact]:
    """Return the facts with those that follow from them.

    What was observed is never overwritten, unless it is unknown.
    """
    known = dict(facts)
    for step in (system, _torch, _packages, _gpus):
        _add(known, step(known))
    if (gpus := catalog.tables.get("gpu-arch")) is not None and known[
        "nvidia.capabilities"
    ].state is State.UNKNOWN:
        known["nvidia.capabilities"] = derived_fact(
            known, "nvidia.gpu_names", make=lambda names: capabilities(names, gpus)
        )
    _add(known, _stack(known))
    if "text.source" in known and (builds := catalog.tables.get("torch-cuda")) is not None:
        _add(known, table_facts("torch-cuda", builds, known))
        for step in (published_build, _torch, without_build):
            _add(known, step(known))
    for name, table in catalog.tables.items():
        _add(known, table_facts(name, table, known))
    _add(known, pins(known, catalog))
    for step in (
        _arch_list,
        _coverage,
        extensions,
        _toolkit,
        _triton,
        building,
        candle,
        amd_choices,
        level_zero,
        reach,
        wants,
        _tuple,
    ):
        _add(known, step(known))
    _add(known, _tag(known, catalog))
    _add(known, companions(known, catalog))
    _add(known, torch_for_python(known, catalog))
    return known


def _add(known: dict[str, Fact], more: FactStream) -> None:
    for name, fact in more:
        if name not in known or known[name].state is State.UNKNOWN:
            known[name] = fact


def _torch(facts: Facts) -> FactStream:
    yield "torch.release", derived_fact(facts, "torch.version", make=public)
    yield "torch.minor", derived_fact(facts, "torch.version", make=minor)
    yield (
        "torch.local",
        derived_fact(facts, "torch.version", make=lambda text: text.partition("+")[2] or None),
    )
    yield (
        "torch.cuda_major",
        derived_fact(
            facts, "torch.cuda_version", make=lambda text: str(major(text)) if major(text) else None
        ),
    )
    yield (
        "torch.cuda_tag",
        derived_fact(
            facts,
            "torch.cuda_version",
            make=lambda text: "cu" + (minor(text) or "").replace(".", ""),
        ),
    )
    yield (
        "torch.cxx11_abi_tag",
        derived_fact(facts, "torch.cxx11_abi", make=lambda new: "TRUE" if new else "FALSE"),
    )


def _packages(facts: Facts) -> FactStream:
    yield "package.torch.version", derived_fact(facts, "torch.version", make=str)
    yield "python.minor", derived_fact(facts, "python.version", make=minor)
    yield "triton.version", derived_fact(facts, "package.triton.version", make=str)
    built, abi = "package.flash-attn.wheel_torch", "package.flash-attn.wheel_abi"
    yield (
        "flash-attn.wheel_fits_torch",
        derived_fact(
            facts, built, "torch.version", make=lambda wheel, here: minor(wheel) == minor(here)
        ),
    )
    yield (
        "flash-attn.wheel_fits_abi",
        derived_fact(facts, abi, "torch.cxx11_abi", make=lambda wheel, here: wheel == here),
    )


def _gpus(facts: Facts) -> FactStream:
    yield from of_gpus(facts)
    yield from halves(facts)
    yield from cards(facts)
    yield from choices(facts)
    yield from health(facts)
    yield from xid(facts)
    # What was reached works, whatever the numbers say: data centre cards have packages that make up
    # for an older driver.
    yield (
        "torch.reaches_xpu",
        present(True, SOURCE) if value_of(facts, "torch.xpu_devices") else absent(SOURCE),
    )
    yield (
        "torch.reaches_cuda",
        present(True, SOURCE)
        if value_of(facts, "torch.cuda_available") is True
        else absent(SOURCE),
    )
    yield (
        "nvidia.driver_branch",
        derived_fact(
            facts, "nvidia.driver_version", make=lambda text: str(major(text) or "") or None
        ),
    )


def _stack(facts: Facts) -> FactStream:
    for name, pick in (("nvidia.capability_min", min), ("nvidia.capability_max", max)):
        yield (
            name,
            derived_fact(
                facts,
                "nvidia.capabilities",
                make=lambda all_, pick=pick: pick(all_, key=_capability),
            ),
        )


def _capability(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _arch_list(facts: Facts) -> FactStream:
    yield (
        "torch.arch_list",
        derived_fact(
            facts,
            TableCell("torch-archs", "archs").fact("wanted"),
            make=lambda text: text.replace(",", " ").split(),
        ),
    )


def _coverage(facts: Facts) -> FactStream:
    unified = in_range(str(value_of(facts, "torch.cuda_version")), introduced="13.2") is True

    def missing(_build: str, archs: list[str], here: list[str]) -> list[str] | None:
        return uncovered(archs, here, unified=unified) or None

    build = lookup("torch.build", facts)
    judged = build.value == "cuda" or build.state is State.UNKNOWN
    names = ("torch.build", "torch.arch_list", "nvidia.capabilities")
    yield (
        "gpu.unsupported_by_torch",
        derived_fact(facts, *names, make=missing) if judged else absent(SOURCE),
    )
    yield (
        "gpu.newer_than_cuda",
        derived_fact(
            facts,
            "torch.cuda_version",
            "nvidia.capabilities",
            make=lambda cuda, here: beyond(str(cuda), here) or None,
        )
        if judged and lookup("torch.arch_list", facts).state is State.UNKNOWN
        else absent(SOURCE),
    )
    yield "gpu.flash_attn_archs", derived_fact(facts, "nvidia.capabilities", make=_flash_attn_archs)
    yield (
        "gpu.arch_list",
        derived_fact(
            facts,
            "nvidia.capabilities",
            make=lambda here: ";".join(sorted(set(here), key=_capability)),
        ),
    )


def _flash_attn_archs(capabilities: list[str]) -> str | None:
    """Return the targets of flash-attn's own build, one a generation.

    Its code for 8.0 serves all of 8.x (setup.py of 2.8.3).
    """
    return (
        ";".join(
            f"{generation}0"
            for generation in sorted({_capability(one)[0] for one in capabilities})
            if generation >= 8
        )
        or None
    )


def _toolkit(facts: Facts) -> FactStream:
    yield (
        "cuda.matches_torch",
        derived_fact(facts, "cuda.version", "torch.cuda_version", make=_difference),
    )
    yield (
        "cuda.compiler_fits_headers",
        derived_fact(
            facts,
            "cuda.version",
            "cuda.headers_version",
            make=lambda one, other: minor(one) == minor(other),
        ),
    )
    parts = ("nvidia-cuda-nvcc", "nvidia-nvvm")
    yield (
        "cuda.mixed_packages",
        derived_fact(
            facts, *(f"package.{part}.version" for part in parts), make=partial(_mixed, parts)
        ),
    )
    yield "cuda.host_compiler_fits", _host_compiler_fits(facts)


def _difference(toolkit: str, torch: str) -> str:
    if major(toolkit) != major(torch):
        return "major"
    return "same" if minor(toolkit) == minor(torch) else "minor"


def _mixed(parts: tuple[str, ...], nvcc: str, nvvm: str) -> list[str] | None:
    """Name both where nvvm is of a newer release.

    Nvcc's own ptxas does not know the PTX that it writes.
    """
    newer = in_range(nvvm, introduced=nvcc) and minor(nvvm) != minor(nvcc)
    return (
        [f"{part} {version}" for part, version in zip(parts, (nvcc, nvvm), strict=True)]
        if newer
        else None
    )


def _host_compiler_fits(facts: Facts) -> Fact:
    kind = value_of(facts, "compiler.cuda_host_kind")
    if kind not in ("gcc", "clang"):
        return (
            absent(SOURCE)
            if "compiler.cuda_host_kind" in facts
            else unknown("not known: compiler.cuda_host_kind", SOURCE)
        )
    return derived_fact(
        facts,
        f"cuda.{kind}_max",
        "compiler.cuda_host_major",
        make=lambda most, here: int(here) <= int(most),
    )


def _triton(facts: Facts) -> FactStream:
    for package in ("triton", "pytorch-triton", "pytorch-triton-rocm"):
        if (
            fact := facts.get(Requirement("torch", package).fact("met"))
        ) is not None and fact.state is State.PRESENT:
            yield "triton.fits_torch", fact
            return
    wanted = TableCell("torch", "triton").fact("wanted")
    yield (
        "triton.fits_torch",
        derived_fact(
            facts, "triton.version", wanted, make=lambda here, pin: minor(here) == minor(pin)
        ),
    )


def _tag(facts: Facts, catalog: Catalog) -> FactStream:
    archs, drivers = catalog.tables.get("torch-archs"), catalog.tables.get("cuda-driver")
    if archs is None or drivers is None:
        return
    runs = partial(driver_runs, drivers=drivers)
    yield (
        "nvidia.runs_cuda_of_torch",
        derived_fact(facts, "torch.cuda_version", "nvidia.driver_version", make=runs),
    )
    names = ("torch.release", "host.machine", "nvidia.driver_version", "nvidia.capabilities")
    pick = partial(wanted_tag, archs=archs, drivers=drivers)
    yield (
        "torch.wanted_tag",
        derived_fact(
            facts, *names, make=lambda *seen: pick(*map(str, seen[:3]), capabilities=seen[3])
        ),
    )


_TUPLE = (
    ("torch", "torch.release"),
    ("CUDA", "torch.cuda_version"),
    ("ROCm", "torch.hip_version"),
    ("XPU", "torch.xpu_version"),
    ("C++11 ABI", "torch.cxx11_abi_tag"),
    ("Python", "python.tag"),
    ("arch", "host.machine"),
    ("glibc", "host.glibc"),
)


def _tuple(facts: Facts) -> FactStream:
    known = {
        title: as_text(value_of(facts, name))
        for title, name in _TUPLE
        if value_of(facts, name) is not None
    }
    yield "stack.tuple", present(known, SOURCE) if "torch" in known else absent(SOURCE)
