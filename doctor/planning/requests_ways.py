"""The ways out where no choice of releases works: each a change of what is asked, or of where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.versions import parse
from doctor.facts.derive.cells import accepts
from doctor.model.catalog import Catalog
from doctor.planning.requests_builds import order
from doctor.planning.requests_place import Place
from doctor.planning.requests_solver import Excluded, RequestedRelease, allowed

_PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10")
_DRIVERS = ("525.60.13", "570.26", "580.65.06", "610.43.02")
_BACKENDS = {"amd": "auto", "intel": "xpu"}
"""https://docs.astral.sh/uv/guides/integration/pytorch/"""
_ARCH_OF_FLASH = "8.0"


class WayOut(msgspec.Struct, frozen=True, kw_only=True):
    """One way out: what to do first, and the wishes and the machine after it.

    `source` names what is built from source on this machine. `backend` is what uv calls the index
    of another vendor's torch; `auto` looks at the GPU.
    """

    title: str
    wishes: tuple[RequestedRelease, ...]
    place: Place
    source: str = ""
    backend: str = ""


def ways_out(
    excluded: Excluded, wishes: Sequence[RequestedRelease], catalog: Catalog, place: Place
) -> tuple[WayOut, ...]:
    """Return the ways out that the tables allow, the nearest first."""
    found = [
        way
        for way in _tried(excluded, tuple(wishes), place)
        if not isinstance(allowed(_by_table(way), catalog, way.place), Excluded)
    ]
    seen: dict[str, WayOut] = {}
    for way in found:
        seen.setdefault(way.title.split(":")[0], way)
    return tuple(seen.values())[:4]


def _by_table(way: WayOut) -> tuple[RequestedRelease, ...]:
    return tuple(wish for wish in way.wishes if wish.name != way.source)


def _tried(
    excluded: Excluded, wishes: tuple[RequestedRelease, ...], place: Place
) -> Iterator[WayOut]:
    if excluded.kind == "driver":
        for driver in _DRIVERS:
            if place.driver and order(driver) > order(place.driver):
                title = f"Update the NVIDIA driver: {driver.partition('.')[0]} or newer"
                there = msgspec.structs.replace(place, driver=driver)
                yield WayOut(title=title, wishes=wishes, place=there)
    yield from _other_releases(excluded, wishes, place)
    if excluded.kind == "python":
        near = sorted(_PYTHONS, key=lambda one: abs(_number(one) - _number(place.python_minor)))
        for python in near:
            if python != place.python_minor:
                there = msgspec.structs.replace(place, python=python)
                yield WayOut(
                    title=f"Take another Python: {python}, in an environment of its own",
                    wishes=wishes,
                    place=there,
                )
    if excluded.kind == "vendor" and place.vendor in _BACKENDS:
        there = msgspec.structs.replace(place, vendor="", gpu="", capabilities=())
        name = {"amd": "ROCm", "intel": "XPU"}[place.vendor]
        title = f"Take torch from PyTorch's index for {name}"
        yield WayOut(title=title, wishes=wishes, place=there, backend=_BACKENDS[place.vendor])
    yield from _without_flash(wishes, place)


def _other_releases(
    excluded: Excluded, wishes: tuple[RequestedRelease, ...], place: Place
) -> Iterator[WayOut]:
    """Yield the wishes with one of them at another release, then with all of them so."""
    pinned = [wish for wish in wishes if wish.specifier]
    for wish in sorted(pinned, key=lambda one: one.name != "torch"):
        others = tuple(_any_release(one) if one is wish else one for one in wishes)
        title = f"Take another release of {wish.name} than {wish.specifier}"
        yield WayOut(title=title, wishes=others, place=place)
    if len(pinned) > 1:
        names = " and ".join(wish.name for wish in pinned)
        others = tuple(map(_any_release, wishes))
        yield WayOut(title=f"Take other releases of {names}", wishes=others, place=place)
    del excluded


def _without_flash(wishes: tuple[RequestedRelease, ...], place: Place) -> Iterator[WayOut]:
    if not any(wish.name == "flash-attn" for wish in wishes):
        return
    able = place.vendor == "nvidia" and all(
        accepts({"from": _ARCH_OF_FLASH}, one) for one in place.capabilities
    )
    others = tuple(wish for wish in wishes if wish.name != "flash-attn")
    with_torch = others if _has_torch(others) else (_TORCH, *others)
    yield WayOut(
        title="Do without flash-attn: torch's own scaled_dot_product_attention has such kernels "
        "(attn_implementation='sdpa' in transformers)",
        wishes=with_torch,
        place=place,
    )
    if able and place.os == "linux":
        yield WayOut(
            title="Compile flash-attn here: it takes a CUDA toolkit with nvcc of torch's CUDA, "
            "some 10 GB of memory for each job, and up to hours",
            wishes=(*with_torch, *(wish for wish in wishes if wish.name == "flash-attn")),
            place=place,
            source="flash-attn",
        )


_TORCH = RequestedRelease(text="torch", name="torch")


def _has_torch(wishes: Sequence[RequestedRelease]) -> bool:
    return any(wish.name in ("torch", "vllm", "sglang", "xformers") for wish in wishes)


def _any_release(wish: RequestedRelease) -> RequestedRelease:
    extras = f"[{','.join(wish.extras)}]" if wish.extras else ""
    return msgspec.structs.replace(wish, text=f"{wish.name}{extras}", specifier="")


def _number(python: str) -> int:
    version = parse(python)
    return version.minor if version else 0
