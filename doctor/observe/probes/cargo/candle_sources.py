"""Read the sources of candle and cudarc that this workspace uses, forks and paths included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from doctor.base.versions import parse
from doctor.host import Host, UnreadableFile
from doctor.host.reading import SOURCE
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.cargo.lock import Lock
from doctor.observe.cargo.places import metal_places
from doctor.observe.cargo.resolution import Answer
from doctor.observe.cargo.sources import described, folder_of
from doctor.observe.scene import ProbeInput

_MOST_BUILDERS = 20
_MOST_COPIES = 20
_SWITCHES = ("cuda", "cudnn", "nccl", "metal", "accelerate", "mkl")
_BUILDER = re.compile(
    r"^[ \t]*let (\w+)\s{0,40}(?::[^=\n]{0,80})?=\s{0,80}(?:bindgen_cuda|cudaforge)::", re.MULTILINE
)
_SAME_DEVICE = re.compile(r"fn same_device\b[^{]{0,200}\{([^}]{0,400})\}")
_CONTIGUOUS = re.compile(r"pub fn is_contiguous\b[^{]{0,200}\{(.{0,900}?)\n    \}", re.DOTALL)
_STRIDES = re.compile(r"\[s1, stride\] if s1 == stride \* lhs_l\.dims\(\)\[1\]")
_ONE_BATCH = re.compile(r"\[_, stride\] if rhs_l\.dims\(\)\[0\] == 1")
_LENIENT = re.compile(r"\bdim\w* > 1 &&")
_BY_CUDA = re.compile(r"\bcuda-(\d\d)0(\d)0\b")

_Read: TypeAlias = Callable[[str], "str | None"]
_Question: TypeAlias = Callable[[_Read], "bool | None"]
"""Reads files of a crate; None where they are not in a form that tells."""


def candle(scene: ProbeInput, workspace: Path, lock: Lock, answer: Answer) -> FactStream:
    """Yield `candle.*`, `cudarc.*` and the folders of their sources."""
    host, path = scene.host, str(workspace / "Cargo.lock")
    copies = list(
        dict.fromkeys(
            f"{each.version} ({each.origin})" for each in lock.packages.get("candle-core", ())
        )
    )
    yield "candle.copies", present(copies[:_MOST_COPIES], path) if len(copies) > 1 else absent(path)
    features = _features(lock, answer)
    yield "candle.features", features
    yield "candle.built", _built(host, workspace, lock, answer, features.value or ())
    yield from _source_facts(host, workspace, lock, answer)
    yield "cudarc.known_cuda", _known_cuda(host, workspace, lock, answer)
    yield "candle.metal_places", _places(workspace, lock, answer)
    yield from _rust_wanted(answer)


def _features(lock: Lock, answer: Answer) -> Fact:
    if "candle-core" not in lock.packages:
        return absent("Cargo.lock")
    if (told := answer.resolved) is None:
        return unknown(answer.why, "cargo metadata")
    used = {package.id: package for package in told.packages if package.id in told.features}
    on = {
        feature
        for id_, package in used.items()
        if package.name == "candle-core"
        for feature in told.features[id_]
    }
    flash = (
        ["flash-attn"]
        if any(package.name.startswith("candle-flash-attn") for package in used.values())
        else []
    )
    found = [*(switch for switch in _SWITCHES if switch in on), *flash]
    return present(found, "cargo metadata") if found else absent("cargo metadata")


def _built(host: Host, workspace: Path, lock: Lock, answer: Answer, on: Sequence[str]) -> Fact:
    """Say whether checks may link with what is there; they look closer (checks/candle/warm.py)."""
    core, told = lock.newest("candle-core"), answer.metadata
    if core is None or told is None:
        return absent("Cargo.lock") if core is None else unknown(answer.why, "cargo metadata")
    folder = Path(told.build_directory or told.target_directory)
    found = [
        path
        for profile in ("debug", "release")
        for path in host.glob(folder / profile / "deps", "libcandle_core-*.rlib")
    ]
    usable = core.origin != "path" and not {"cuda", "metal"} & set(on)
    return present(
        usable and any(_newer(path, workspace / "Cargo.lock") for path in found), str(folder)
    )


def _newer(path: Path, other: Path) -> bool:
    try:
        return path.stat().st_mtime > other.stat().st_mtime
    except OSError:
        return False


def _source_facts(
    host: Host, workspace: Path, lock: Lock, answer: Answer
) -> Iterator[tuple[str, Fact]]:
    """Yield what files of the sources say of the founding bugs.

    Absent without the crate, unknown without its source.
    """
    for crate, questions in _QUESTIONS.items():
        locked = lock.newest(crate)
        folder = folder_of(host, workspace, locked, answer) if locked else None
        if folder:
            yield f"crate.{crate}.path", present(str(folder), "cargo")
        for name, ask in questions.items():
            yield f"candle.{name}", _answer(host, folder, ask) if locked else absent("Cargo.lock")


def _answer(host: Host, folder: Path | None, ask: _Question) -> Fact:
    if folder is None:
        return unknown("its source is not on this machine", "Cargo.lock")
    try:
        said = ask(lambda name: host.whole(folder / name, SOURCE))
    except UnreadableFile as error:
        return unknown(str(error), str(folder))
    return (
        unknown("its source is not in a form that is known", str(folder))
        if said is None
        else present(said, str(folder))
    )


def _builder_is_immutable(read: _Read) -> bool | None:
    script = read("build.rs")
    if script is None:
        return None
    for found in islice(_BUILDER.finditer(script), _MOST_BUILDERS):
        if re.search(
            rf"^[ \t]*{found[1]}[ \t]*=\s{{0,80}}{found[1]}\.", script[found.end() :], re.MULTILINE
        ):
            return True
    return False


def _compares_gpus(read: _Read) -> bool | None:
    backend = read("src/metal_backend.rs") or read("src/metal_backend/mod.rs")
    if backend is None:
        # Before there was a Metal backend there was nothing to compare.
        return None if read("src/lib.rs") is None else False
    body = _SAME_DEVICE.search(backend)
    return "registry_id" in body[1] if body else None


def _refuses_contiguous(read: _Read) -> bool | None:
    body = _CONTIGUOUS.search(read("src/shape.rs") or "")
    backend = read("src/cpu_backend/mod.rs") or read("src/cpu_backend.rs") or ""
    if body is None or not _STRIDES.search(backend):
        return None
    return _LENIENT.search(body[1]) is not None and not _ONE_BATCH.search(backend)


_QUESTIONS: dict[str, dict[str, _Question]] = {
    "candle-core": {
        "metal_compares_gpus": _compares_gpus,
        "matmul_refuses_contiguous": _refuses_contiguous,
    },
    "candle-flash-attn": {"flash_attn_builder_immutable": _builder_is_immutable},
}


def _known_cuda(host: Host, workspace: Path, lock: Lock, answer: Answer) -> Fact:
    """Return the CUDA versions that every copy of cudarc in a build knows."""
    copies = lock.packages.get("cudarc", ())
    if told := answer.resolved:
        copies = tuple(
            each
            for each in copies
            if (package := described(told, each)) and package.id in told.features
        )
    if not copies:
        return absent("Cargo.lock")
    known = []
    for each in copies:
        folder = folder_of(host, workspace, each, answer)
        try:
            script = host.whole(folder / "build.rs", SOURCE) if folder else None
        except UnreadableFile as error:
            return unknown(str(error), str(folder))
        known.append({f"{major}.{minor}" for major, minor in _BY_CUDA.findall(script or "")})
    if not all(known):
        return unknown(
            "the build script of cudarc is not on this machine, or names no version", "Cargo.lock"
        )
    return present(
        sorted(set.intersection(*known), key=lambda version: tuple(map(int, version.split(".")))),
        "cudarc",
    )


def _places(workspace: Path, lock: Lock, answer: Answer) -> Fact:
    if "candle-core" not in lock.packages:
        return absent("Cargo.lock")
    members = (
        [member.folder for member in answer.metadata.members] if answer.metadata else [workspace]
    )
    found = metal_places(workspace, members)
    return (
        present(list(found), "the workspace's own sources")
        if len(found) > 1
        else absent("the workspace's own sources")
    )


def _rust_wanted(answer: Answer) -> Iterator[tuple[str, Fact]]:
    """Yield the newest rust-version among the crates of the build.

    Unknown where cargo cannot tell what the build takes in.
    """
    if (told := answer.resolved) is None:
        yield "cargo.rust_wanted", unknown(answer.why, "cargo metadata")
        return
    asking = [
        (parse(each.rust_version), each)
        for each in told.packages
        if each.rust_version and each.id in told.features
    ]
    ranked = sorted(
        (version, f"{each.name} {each.version}", each.rust_version)
        for version, each in asking
        if version
    )
    if not ranked:
        yield "cargo.rust_wanted", absent("cargo metadata")
        return
    _, crate, wanted = ranked[-1]
    yield "cargo.rust_wanted", present(wanted, "cargo metadata")
    yield "cargo.rust_wanted_by", present(crate, "cargo metadata")
