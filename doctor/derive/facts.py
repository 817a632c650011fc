"""The derived facts, in the order in which one builds on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from doctor.derive.arch import uncovered
from doctor.derive.cells import table_facts
from doctor.holes import as_text
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, State, absent, present, unknown, value_of
from doctor.versions import major, minor, public

Named: TypeAlias = Iterator[tuple[str, Fact]]
_SOURCE = "derived"


def derive(facts: Facts, catalog: Catalog) -> dict[str, Fact]:
    """Return the facts with those that follow from them; what was observed is never overwritten, unless it is unknown."""
    known = dict(facts)
    for step in (_torch, _packages, _gpus, _stack):
        _add(known, step(known))
    for name, table in catalog.tables.items():
        _add(known, table_facts(name, table, known))
    for step in (_arch_list, _coverage, _toolkit, _triton, _tuple):
        _add(known, step(known))
    return known


def _add(known: dict[str, Fact], more: Named) -> None:
    for name, fact in more:
        if name not in known or known[name].state is State.UNKNOWN:
            known[name] = fact


def _from(facts: Facts, *names: str, make: Callable[..., Any]) -> Fact:
    """Make a fact out of others: absent if one of them is absent or `make` gives None, unknown if one of them is unknown."""
    parts = {name: facts.get(name) for name in names}
    if any(fact is not None and fact.state is State.ABSENT for fact in parts.values()):
        return absent(_SOURCE)
    missing = [name for name, fact in parts.items() if fact is None or fact.state is State.UNKNOWN]
    if missing:
        return unknown(f"not known: {', '.join(missing)}", _SOURCE)
    value = make(*(fact.value for fact in parts.values() if fact is not None))
    return absent(_SOURCE) if value is None else present(value, _SOURCE)


def _torch(facts: Facts) -> Named:
    yield "torch.release", _from(facts, "torch.version", make=public)
    yield "torch.minor", _from(facts, "torch.version", make=minor)
    yield "torch.local", _from(facts, "torch.version", make=lambda text: text.partition("+")[2] or None)
    yield "torch.cuda_major", _from(facts, "torch.cuda_version", make=lambda text: str(major(text)) if major(text) else None)
    yield "torch.cuda_tag", _from(facts, "torch.cuda_version", make=lambda text: "cu" + (minor(text) or "").replace(".", ""))
    yield "torch.cxx11_abi_tag", _from(facts, "torch.cxx11_abi", make=lambda new: "TRUE" if new else "FALSE")


def _packages(facts: Facts) -> Named:
    yield "package.torch.version", _from(facts, "torch.version", make=str)
    yield "flash-attn.wheel_fits_torch", _wheel_fits(facts, "flash-attn")


def _wheel_fits(facts: Facts, package: str) -> Fact:
    """Whether the torch in the local part of a wheel's version is the one that is installed."""
    return _from(facts, f"package.{package}.wheel_torch", "torch.version", make=lambda built, here: minor(built) == minor(here))


def _gpus(facts: Facts) -> Named:
    def capabilities(gpus: list[dict[str, Any]]) -> list[str] | None:
        return [gpu["capability"] for gpu in gpus if gpu.get("capability")] or None

    yield "nvidia.capabilities", _from(facts, "nvidia.gpus", make=capabilities)
    yield "nvidia.gpu_names", _from(facts, "nvidia.gpus", make=lambda gpus: [gpu["name"] for gpu in gpus if gpu.get("name")] or None)
    yield "nvidia.driver_branch", _from(facts, "nvidia.driver_version", make=lambda text: str(major(text) or "") or None)


def _stack(facts: Facts) -> Named:
    seen = {**facts, **dict(_gpus(facts))}
    for name, pick in (("nvidia.capability_min", min), ("nvidia.capability_max", max)):
        yield name, _from(seen, "nvidia.capabilities", make=lambda all_, pick=pick: pick(all_, key=_capability))


def _capability(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _arch_list(facts: Facts) -> Named:
    yield "torch.arch_list", _from(facts, "compat.torch-archs.archs.wanted", make=lambda text: text.replace(",", " ").split())


def _coverage(facts: Facts) -> Named:
    def missing(archs: list[str], capabilities: list[str]) -> list[str] | None:
        return uncovered(archs, capabilities) or None

    on_cuda = value_of(facts, "torch.build") == "cuda"
    yield "gpu.unsupported_by_torch", _from(facts, "torch.arch_list", "nvidia.capabilities", make=missing) if on_cuda else absent(_SOURCE)


def _toolkit(facts: Facts) -> Named:
    yield "cuda.matches_torch", _from(facts, "cuda.version", "torch.cuda_version", make=_difference)
    yield "cuda.host_compiler_fits", _host_compiler_fits(facts)


def _difference(toolkit: str, torch: str) -> str:
    if major(toolkit) != major(torch):
        return "major"
    return "same" if minor(toolkit) == minor(torch) else "minor"


def _host_compiler_fits(facts: Facts) -> Fact:
    kind = value_of(facts, "compiler.cuda_host_kind")
    if kind not in ("gcc", "clang"):
        return absent(_SOURCE) if "compiler.cuda_host_kind" in facts else unknown("not known: compiler.cuda_host_kind", _SOURCE)
    return _from(facts, f"cuda.{kind}_max", "compiler.cuda_host_major", make=lambda most, here: int(here) <= int(most))


def _triton(facts: Facts) -> Named:
    for package in ("triton", "pytorch-triton", "pytorch-triton-rocm"):
        if (fact := facts.get(f"requires.torch.{package}.met")) is not None and fact.state is State.PRESENT:
            yield "triton.fits_torch", fact
            return
    wanted = "compat.torch.triton.wanted"
    yield "triton.fits_torch", _from(facts, "triton.version", wanted, make=lambda here, pin: minor(here) == minor(pin))


_TUPLE = (
    ("torch", "torch.release"),
    ("CUDA", "torch.cuda_version"),
    ("C++11 ABI", "torch.cxx11_abi_tag"),
    ("Python", "python.tag"),
    ("arch", "host.machine"),
    ("glibc", "host.glibc"),
)


def _tuple(facts: Facts) -> Named:
    known = {title: as_text(value_of(facts, name)) for title, name in _TUPLE if value_of(facts, name) is not None}
    yield "stack.tuple", present(known, _SOURCE) if "torch" in known else absent(_SOURCE)
