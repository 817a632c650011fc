"""The machine in a few rows of words, for every format that people read."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, State, value_of
from doctor.model.observation import Target, TargetKind
from doctor.report.view import gpus
from doctor.report.view.phrases import either, gib, listed, stated
from doctor.report.view.words import count

_SPEAKS_FOR_ITSELF = ("Python", "arch")
"""Entries of the tuple whose values need no name: cp311, x86_64."""


def rows(facts: Facts) -> list[tuple[str, str]]:
    """Return a label and a text for each part of the machine about which anything was looked up."""
    return [(label, text) for label, tell in _ROWS if (text := tell(facts))]


def target_name(target: Target) -> str:
    """Name what is examined, and how it was found."""
    what = (
        target.path
        if target.kind is TargetKind.INTERPRETER
        else f"the Cargo workspace {target.path}"
    )
    return f"{what} ({target.chosen_by})" if target.chosen_by else what


def wheel_tuple(facts: Facts) -> list[str]:
    """Return what decides which wheels fit: torch 2.7.0, CUDA 12.8, cp311."""
    known = value_of(facts, "stack.tuple")
    if not isinstance(known, dict):
        return []
    return [
        as_text(value) if name in _SPEAKS_FOR_ITSELF else f"{name} {as_text(value)}"
        for name, value in known.items()
    ]


def _python(facts: Facts) -> str:
    environment = (
        "virtual environment" if value_of(facts, "python.virtual_environment") is True else ""
    )
    environment = "conda environment" if value_of(facts, "python.conda") else environment
    implementation = value_of(facts, "python.implementation")
    return listed(
        stated(facts, "python.version")
        + (f" ({implementation})" if implementation not in (None, "cpython") else ""),
        "free-threaded" if value_of(facts, "python.free_threaded") is True else "",
        environment,
        stated(facts, "python.installer", "packages installed by {}"),
        "managed by the system" if value_of(facts, "python.externally_managed") is True else "",
        stated(facts, "python.executable", called="interpreter")
        if not value_of(facts, "python.executable")
        else "",
    )


def _host(facts: Facts) -> str:
    limit, memory = (
        gib(value_of(facts, "host.memory_limit_bytes")),
        gib(value_of(facts, "host.memory_bytes")),
    )
    cpus = value_of(facts, "host.cpu_count")
    system = stated(facts, "host.distribution") or stated(facts, "host.os")
    if container := value_of(facts, "host.container"):
        system = f"{system} in {as_text(container)}" if system else as_text(container)
    return listed(
        system,
        "WSL" if value_of(facts, "host.wsl") is True else "",
        stated(facts, "host.jetson"),
        "translated by Rosetta" if value_of(facts, "host.rosetta") is True else "",
        f"{cpus} CPU{'' if cpus == 1 else 's'}" if cpus else "",
        f"{limit} memory (limit)" if limit else f"{memory} memory" if memory else "",
    )


def _metal(facts: Facts) -> str:
    family = stated(facts, "metal.family", "Apple GPU family {}")
    return listed(stated(facts, "metal.chip"), family, stated(facts, "metal.macos", "macOS {}"))


def _toolkit(facts: Facts) -> str:
    broken = stated(facts, "cuda.home_broken", "CUDA_HOME is {}, which is no toolkit")
    if not (home := value_of(facts, "cuda.home")):
        building = (
            "building candle with CUDA"
            if "cuda" in as_text(value_of(facts, "candle.features"))
            else "only building extensions"
        )
        none = f"no CUDA toolkit; {building} needs one"
        elsewhere = stated(facts, "cuda.version", "CUDA {}") if "cuda.home" not in facts else ""
        return listed(
            stated(facts, "cuda.home", absent=none, called="toolkit") or elsewhere, broken
        )
    version = value_of(facts, "cuda.nvcc_version") or value_of(facts, "cuda.version")
    differs = {"same": "as torch has it", "minor": "near torch's", "major": "not torch's"}
    missing = value_of(facts, "cuda.missing")
    return listed(
        f"CUDA {as_text(version or '?')}" + stated(facts, "cuda.home_origin", " by {}"),
        differs.get(str(value_of(facts, "cuda.matches_torch")), ""),
        "not selected" if value_of(facts, "cuda.selected") is False else "",
        f"{count(len(missing), 'file')} missing" if isinstance(missing, list) and missing else "",
        stated(facts, "cuda.unlinkable", "no {}"),
        broken,
        f"in {as_text(home)}",
    )


def _build(facts: Facts) -> str:
    version, kind = value_of(facts, "compiler.cxx_version"), value_of(facts, "compiler.cxx_kind")
    compiler = f"{kind or 'C++ compiler'} {version or ''}".strip()
    found = value_of(facts, "compiler.cxx") or version
    headers = either(facts, "python.headers", "Python.h", "no Python.h")
    return listed(
        compiler
        if found
        else stated(facts, "compiler.cxx", absent="no C++ compiler", called="C++ compiler"),
        "too new for this nvcc" if value_of(facts, "cuda.host_compiler_fits") is False else "",
        stated(facts, "build.ninja", "ninja {}", absent="no ninja"),
        headers,
    )


def _triton(facts: Facts) -> str:
    fits = either(
        facts, "triton.fits_torch", "the one torch asks for", "not the one torch asks for"
    )
    if value_of(facts, "torch.version") is None and value_of(facts, "triton.version") is None:
        return ""
    told = stated(facts, "triton.version", absent="not installed", called="triton")
    return listed(told, fits if value_of(facts, "triton.version") else "")


def _rust(facts: Facts) -> str:
    if (
        value_of(facts, "cargo.workspace") is None
        and value_of(facts, "crate.candle-core.version") is None
    ):
        return ""
    return listed(
        stated(facts, "rust.rustc", "rustc {}", absent="no rustc", called="rustc"),
        stated(facts, "rust.cargo", "cargo {}", absent="no cargo"),
        _candle(facts),
        stated(facts, "cargo.lock_problem", "Cargo.lock: {}"),
    )


def _candle(facts: Facts) -> str:
    version = stated(
        facts, "crate.candle-core.version", "candle-core {}", absent="no candle-core in Cargo.lock"
    )
    if not value_of(facts, "crate.candle-core.version"):
        there = facts.get("cargo.lock")
        return "no Cargo.lock" if there is not None and there.state is State.ABSENT else version
    commit = value_of(facts, "crate.candle-core.commit")
    where = (
        f" (git {str(commit)[:9]})"
        if commit
        else " (a path)"
        if value_of(facts, "crate.candle-core.source") == "path"
        else ""
    )
    on = value_of(facts, "candle.features")
    told = stated(facts, "candle.features", absent="for the CPU", called="its features are")
    if (cargo := facts.get("rust.cargo")) and cargo.why and cargo.why in told:
        told = "its features are not known"
    return (
        version
        + where
        + (f" with {as_text(on)}" if on else f", {told}" if "not known" in told else f" {told}")
    )


_ROWS: tuple[tuple[str, Callable[[Facts], str]], ...] = (
    ("python", _python),
    ("machine", _host),
    ("gpu", gpus.row),
    ("metal", _metal),
    ("toolkit", _toolkit),
    ("build", _build),
    ("triton", _triton),
    ("rust", _rust),
)
