"""Examine a Cargo workspace: its lock, cargo's offline resolution, candle's sources."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.cargo.lock import Lock, Locked, read_lock
from doctor.observe.cargo.resolution import Answer, Question, ask
from doctor.observe.cargo.sources import described, has_sources
from doctor.observe.cargo.toolchain import find_toolchain
from doctor.observe.scene import ProbeInput

WAITS = True
BOUND = 12.0

_LIST = """
candle-core candle-nn candle-transformers candle-kernels candle-metal-kernels candle-flash-attn
candle-ug
cudarc bindgen_cuda cudaforge half rand gemm metal objc2-metal intel-mkl-src accelerate-src
"""
_CRATES = tuple(_LIST.split())


def probe(scene: ProbeInput, *, patience: float = 5.0) -> FactStream:
    """Yield `cargo.*`, `crate.*`, `candle.*` and `cudarc.*`.

    Nothing is built, fetched or written.
    """
    host, folder = scene.host, scene.workspace
    if folder is None:
        for name in ("workspace", "lock", "lock_problem"):
            yield f"cargo.{name}", absent("no Cargo workspace")
        return
    yield "cargo.workspace", present(str(folder), "Cargo.toml")
    path = folder / "Cargo.lock"
    lock = read_lock(host, path)
    yield "cargo.lock", present(str(path), "workspace") if lock.there else absent(str(path))
    yield (
        "cargo.lock_problem",
        present(lock.problem, str(path)) if lock.problem else absent(str(path)),
    )
    yield (
        "cargo.lock_version",
        absent(str(path)) if lock.version is None else present(lock.version, str(path)),
    )
    yield (
        "cargo.features",
        present(list(scene.features), "--features") if scene.features else absent("--features"),
    )
    if not lock.packages:
        for name in _CRATES:
            yield (
                f"crate.{name}.version",
                unknown(lock.problem or "there is no Cargo.lock", str(path)),
            )
        return
    answer = _ask_cargo(scene, folder, lock, patience)
    yield from _workspace(answer)
    for name in sorted({*_CRATES, *(each for each in lock.packages if each.startswith("candle-"))}):
        yield from _crate(name, lock, answer, str(path))
    # An environment of Python has no use for what reads Candle's sources.
    from doctor.observe.probes.cargo.candle_sources import candle

    yield from candle(scene, folder, lock, answer)


def _ask_cargo(scene: ProbeInput, folder: Path, lock: Lock, patience: float) -> Answer:
    """Ask cargo if the lock lists a crate of interest.

    Many a Python project has a small crate beside it.
    """
    if not any(name.startswith("candle-") or name == "cudarc" for name in lock.packages):
        return Answer(None, "cargo was not asked: Cargo.lock lists nothing of Candle")
    fetched = has_sources(scene.host, folder) or not any(
        each.source for found in lock.packages.values() for each in found
    )
    question = Question(
        workspace=folder,
        triple=_triple(scene),
        features=scene.features,
        fetched=fetched,
        patience=patience,
    )
    return ask(scene.host, find_toolchain(scene.host, folder), question)


def _triple(scene: ProbeInput) -> str:
    """Return the target triple of this machine.

    Without one, cargo wants the sources of every platform.
    """
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    system = {
        "linux": "unknown-linux-gnu",
        "darwin": "apple-darwin",
        "win32": "pc-windows-msvc",
    }.get(scene.host.platform)
    return f"{machine}-{system}" if system else ""


def _workspace(answer: Answer) -> Iterator[tuple[str, Fact]]:
    told, resolved = answer.metadata, answer.resolved
    yield (
        "cargo.resolved",
        present(len(resolved.features), "cargo metadata")
        if resolved
        else unknown(answer.why, "cargo metadata"),
    )
    if told is not None:
        yield "cargo.members", present([member.name for member in told.members], "cargo metadata")
        yield "cargo.target_directory", present(told.target_directory, "cargo metadata")


def _crate(name: str, lock: Lock, answer: Answer, source: str) -> FactStream:
    """Yield the facts of one crate.

    Where the lock has it more than once, the newest is the one that is described.
    """
    newest = lock.newest(name)
    if newest is None:
        yield f"crate.{name}.version", absent(source)
        return
    yield f"crate.{name}.version", present(newest.version, source)
    yield f"crate.{name}.versions", present([each.version for each in lock.packages[name]], source)
    yield f"crate.{name}.source", present(newest.origin, source)
    for part, value in (("commit", newest.commit), ("url", newest.url), ("rev", newest.rev)):
        yield f"crate.{name}.{part}", present(value, source) if value else absent(source)
    yield from _resolved(newest, answer)


def _resolved(locked: Locked, answer: Answer) -> FactStream:
    name, told = locked.name, answer.resolved
    if told is None:
        for part in ("used", "features"):
            yield f"crate.{name}.{part}", unknown(answer.why, "cargo metadata")
        return
    package = described(told, locked)
    used = package is not None and package.id in told.features
    yield f"crate.{name}.used", present(used, "cargo metadata")
    features = told.features[package.id] if package is not None and used else ()
    yield (
        f"crate.{name}.features",
        present(list(features), "cargo metadata") if features else absent("cargo metadata"),
    )
