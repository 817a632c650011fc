"""What follows for a build of candle.

From its features, cudarc's list, the toolkit, the driver and the GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.base.versions import in_range, minor
from doctor.facts.conditions import lookup
from doctor.facts.derive.arch import runs
from doctor.facts.derive.making import SOURCE, derived_fact
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, unknown, value_of

_HAVE_KERNELS = ("candle-nn", "candle-transformers")
_ASKS_NVCC = "cuda-version-from-build-system"


def candle(facts: Facts) -> FactStream:
    """Yield what decides whether a build of candle with CUDA goes through and runs here."""
    yield "cuda.ahead_of_driver", _ahead_of_driver(facts)
    yield "rust.too_old", derived_fact(facts, "rust.rustc", "cargo.rust_wanted", make=_is_older)
    yield "cudarc.rejects_toolkit", _rejects_toolkit(facts)
    target = _target(facts)
    yield "candle.built_for", target
    yield (
        "candle.built_too_new_for",
        derived_fact(
            {**facts, "candle.built_for": target},
            "candle.built_for",
            "nvidia.capabilities",
            make=_older,
        ),
    )
    yield (
        "candle.without_kernels",
        derived_fact(
            facts, "crate.candle-core.features", make=lambda on: _without_kernels(on, facts)
        ),
    )


def _is_older(here: str, wanted: str) -> bool | None:
    return in_range(here.partition("-")[0], fixed=wanted)


def _listed(facts: Facts, name: str) -> list[str]:
    value = value_of(facts, name)
    return list(map(str, value)) if isinstance(value, list | tuple) else []


def _ahead_of_driver(facts: Facts) -> Fact:
    if value_of(facts, "nvidia.forward_compatibility") is True:
        return absent(SOURCE)
    return derived_fact(
        facts,
        "cuda.version",
        "nvidia.cuda_version",
        make=lambda toolkit, speaks: _parts(toolkit) > _parts(speaks),
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in (minor(version) or "").split("."))


def _rejects_toolkit(facts: Facts) -> Fact:
    if lookup("crate.cudarc.features", facts).state is State.UNKNOWN:
        return unknown("not known: crate.cudarc.features", SOURCE)
    features = _listed(facts, "crate.cudarc.features")
    told = value_of(facts, "env.CUDARC_CUDA_VERSION") and in_range(
        str(value_of(facts, "crate.cudarc.version")), introduced="0.16.5"
    )
    if (
        _ASKS_NVCC not in features
        or told
        or any(re.fullmatch(r"cuda-\d+", feature) for feature in features)
    ):
        return absent(SOURCE)
    return derived_fact(
        facts,
        "cuda.nvcc_version",
        "cudarc.known_cuda",
        make=lambda nvcc, known: minor(nvcc) not in known,
    )


def _target(facts: Facts) -> Fact:
    if lookup("candle.features", facts).state is State.UNKNOWN:
        return unknown("not known: candle.features", SOURCE)
    return _built_for(facts) if "cuda" in _listed(facts, "candle.features") else absent(SOURCE)


def _built_for(facts: Facts) -> Fact:
    """Return what build scripts compile for.

    Without the variable they take the first GPU that nvidia-smi lists.
    """
    said = lookup("env.CUDA_COMPUTE_CAP", facts)
    if said.value is not None:
        number = re.fullmatch(r"(\d{1,2})\.?(\d)[af]?", str(said.value))
        return present(f"{number[1]}.{number[2]}", SOURCE) if number else absent(SOURCE)
    return derived_fact(facts, "nvidia.capabilities", make=lambda all_: all_[0])


def _older(built: str, here: Iterable[str]) -> list[str] | None:
    """Return the GPUs that cannot run candle's kernels.

    These are PTX, which runs on what it names and on anything later.
    """
    return [one for one in here if not runs(f"compute_{built.replace('.', '')}", one)] or None


def _without_kernels(on: list[str], facts: Facts) -> list[str] | None:
    found = []
    for crate in _HAVE_KERNELS:
        if value_of(facts, f"crate.{crate}.used") is True:
            its = _listed(facts, f"crate.{crate}.features")
            found += [
                f"{crate} without {switch}"
                for switch in ("cuda", "metal")
                if switch in on and switch not in its
            ]
    return found or None
