"""torch as its files show it; nothing of it is imported or run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from doctor.base.lazy_pattern import Pattern
from doctor.base.versions import major, minor, parse, public
from doctor.host import Host, UnreadableFile
from doctor.host.reading import SOURCE
from doctor.model.facts import Fact, FactStream, State, absent, present, unknown
from doctor.observe.binaries.elf import Elf, ElfError, opened
from doctor.observe.installed.modules import constants, folder_of, searched
from doctor.observe.scene import ProbeInput

BOUND = 10.0

_TOLD = (
    *("version", "release", "minor", "local", "build"),
    *("cuda_version", "cuda_major", "cuda_tag", "hip_version", "xpu_version", "git_version"),
)
_COMPILED = ("cxx11_abi", "cxx11_abi_tag", "arch_list", "numpy_abi", "glibc_min")
_NAMES = (*_TOLD, "metadata_version", "path", "cxx_standard", "specializes_symbolic", *_COMPILED)
_LOADED = ("libc10.so", "libtorch_cpu.so", "libtorch_cuda.so", "libtorch_python.so")
# The constructor of c10::Error takes a std::string, so its mangled name tells which std::string it
# was compiled with.
_OLD_ABI, _NEW_ABI = (
    b"_ZN3c105ErrorC2ENS_14SourceLocationESs",
    b"_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string",
)
# torch._C._cuda_getArchFlags() answers with this string, which the build compiles into
# libtorch_python.so.
_ARCHITECTURE = rb"(?:sm|compute)_\d+[af]?"
_ARCH_FLAGS = Pattern(rb"\0(" + _ARCHITECTURE + rb"(?: " + _ARCHITECTURE + rb")*)(?=\0)")
_GLIBC = Pattern(r"GLIBC_([0-9]{1,4})\.([0-9]{1,4})(?:\.[0-9]{1,4})?")
_OF_CUDA = ("build", "cuda_version", "cuda_major", "cuda_tag")
"""What only `cuda` tells."""


def probe(scene: ProbeInput) -> FactStream:
    """Give the torch.* facts that files show; all of them absent where there is no torch."""
    if scene.interpreter is None:
        return
    folder = folder_of(scene.interpreter, "torch")
    if folder is None:
        yield from _without(scene)
        return
    yield "torchaudio.cuda_version", _companion(scene, "torchaudio")
    yield "torch.path", present(str(folder), str(folder))
    facts = dict(_version(scene.host, folder / "version.py"))
    yield from facts.items()
    yield "torch.metadata_version", _other_version(scene, folder, facts["torch.version"])
    yield from _sources(scene.host, folder)
    if scene.interpreter.platform == "linux":
        yield from _libraries(folder)
    else:
        yield from ((f"torch.{name}", absent(str(folder))) for name in _COMPILED)


def _companion(scene: ProbeInput, name: str) -> Fact:
    """Read the CUDA version that a companion of torch was compiled with.

    Its version.py says 2.11.0+cu130 where METADATA may say 2.11.0.
    """
    folder = folder_of(scene.interpreter, name) if scene.interpreter else None
    try:
        told = constants(scene.host, folder / "version.py") if folder else None
    except UnreadableFile as error:
        return unknown(str(error), str(folder))
    local = str((told or {}).get("__version__", "")).partition("+")[2]
    if folder is None or not (found := re.fullmatch(r"cu(\d\d)(\d)", local)):
        return absent(str(folder or "sys.path"))
    return present(f"{found[1]}.{found[2]}", str(folder / "version.py"))


def _other_version(scene: ProbeInput, folder: Path, version: Fact) -> Fact:
    """Return the version in torch's dist-info; absent where version.py is of the same release.

    Local and post-release parts may differ: images and conda add them to one of the two.
    """
    listed = next((one for one in scene.distributions if one.name == "torch"), None)
    code = parse(str(version.value)) if version.state is State.PRESENT else None
    if code is None:
        return unknown("the version of torch's own files is not known", version.source)
    if listed is None or listed.folder.parent != folder.parent:
        return absent(str(folder.parent))
    metadata = parse(listed.version)
    if metadata is None or Version(metadata.base_version) == Version(code.base_version):
        return absent(str(listed.folder))
    return present(listed.version, str(listed.folder))


def _without(scene: ProbeInput) -> FactStream:
    left = next((one for one in scene.distributions if one.name == "torch"), None)
    if left is None:
        yield from ((f"torch.{name}", absent("sys.path")) for name in _NAMES)
        return
    why = f"torch {left.version} is installed, but no folder on sys.path holds torch/__init__.py"
    yield from ((f"torch.{name}", unknown(why, str(left.folder))) for name in _NAMES)


def _version(host: Host, path: Path) -> FactStream:
    source, told, why = str(path), None, "torch/version.py is missing"
    try:
        told = constants(host, path)
    except UnreadableFile as error:
        why = str(error)
    version = told.get("__version__") if told else None
    if told is None or not isinstance(version, str):
        why = why if told is None else "torch/version.py assigns no __version__"
        yield from ((f"torch.{name}", unknown(why, source)) for name in _TOLD)
        return
    cuda, hip, xpu = (told.get(name) for name in ("cuda", "hip", "xpu"))
    build = "cuda" if cuda else "rocm" if hip or told.get("rocm") else "xpu" if xpu else "cpu"
    values = {
        "version": version,
        "release": public(version),
        "minor": minor(version),
        "local": version.partition("+")[2],
        "build": build,
        "cuda_version": cuda,
        "cuda_major": str(major(str(cuda)) or "") or None if cuda else None,
        "cuda_tag": "cu" + "".join(str(cuda).split(".")[:2]) if cuda else None,
        "hip_version": hip,
        "xpu_version": xpu,
        "git_version": told.get("git_version"),
    }
    # None is a build for the processor; a name that is not there, or whose value cannot be read, is
    # nothing that was seen.
    lost = () if "cuda" in told else _OF_CUDA
    gone = unknown("torch/version.py assigns no constant to cuda", source)
    for name in _TOLD:
        yield (
            f"torch.{name}",
            gone
            if name in lost
            else present(values[name], source)
            if values[name]
            else absent(source),
        )


def _sources(host: Host, folder: Path) -> FactStream:
    extension, wrap = (
        folder / "utils/cpp_extension.py",
        folder / "_higher_order_ops/triton_kernel_wrap.py",
    )
    text, why = _source(host, extension)
    standard = _of_flags(text or "") or searched(text, r"'-std=c\+\+(\d\d)'")
    gone = why or f"{extension.name} {'is missing' if text is None else 'names no C++ standard'}"
    yield (
        "torch.cxx_standard",
        present(int(standard), str(extension)) if standard else unknown(gone, str(extension)),
    )
    text, why = _source(host, wrap)
    found = (
        unknown(why, str(wrap))
        if why
        else absent(str(wrap))
        if text is None
        else present("specialize_symbolic" in text, str(wrap))
    )
    yield "torch.specializes_symbolic", found


def _source(host: Host, path: Path) -> tuple[str | None, str]:
    """Return the text of a source file of torch, and why it cannot be read."""
    try:
        return host.whole(path, SOURCE), ""
    except UnreadableFile as error:
        return None, str(error)


def _of_flags(text: str) -> str | None:
    """Return the last standard on the first line that sets the flags of every compilation."""
    for line in text.splitlines():
        if "common_cflags" not in line:
            continue
        parts = line.partition("common_cflags")[2].split("-std=c++")
        if found := [part[:2] for part in parts[1:] if re.match(r"\d\d", part)]:
            return found[-1]
    return None


def _libraries(folder: Path) -> FactStream:
    library = folder / "lib/libc10.so"
    try:
        with opened(library) as elf:
            yield from _abi(elf, str(library))
    except ElfError as error:
        yield from (
            (f"torch.{name}", unknown(str(error), str(library)))
            for name in ("cxx11_abi", "cxx11_abi_tag")
        )
    library = folder / "lib/libtorch_python.so"
    try:
        with opened(library) as elf:
            yield from _compiled_in(elf.section(".rodata"), str(library), folder)
    except ElfError as error:
        yield from (
            (f"torch.{name}", unknown(str(error), str(library)))
            for name in ("arch_list", "numpy_abi")
        )
    yield "torch.glibc_min", _glibc(folder / "lib")


def _abi(elf: Elf, source: str) -> FactStream:
    names = [symbol.name for symbol in elf.symbols() if symbol.name.startswith(b"_ZN3c105Error")]
    new, old = any(name.startswith(_NEW_ABI) for name in names), _OLD_ABI in names
    if new is old:
        why = "libc10.so exports no c10::Error constructor that tells the two ABIs apart"
        yield from (
            (f"torch.{name}", unknown(why, source)) for name in ("cxx11_abi", "cxx11_abi_tag")
        )
        return
    yield "torch.cxx11_abi", present(new, source)
    yield "torch.cxx11_abi_tag", present(str(new).upper(), source)


def _compiled_in(data: bytes, source: str, folder: Path) -> FactStream:
    if not (folder / "lib/libtorch_cuda.so").exists():
        yield "torch.arch_list", absent(str(folder / "lib/libtorch_cuda.so"))
    elif flags := max(_ARCH_FLAGS.findall(b"\0" + data), key=len, default=b""):
        yield "torch.arch_list", present(flags.decode().split(), source)
    else:
        yield (
            "torch.arch_list",
            unknown("libtorch_python.so holds no list of architectures", source),
        )
    abi = 2 if b"numpy._core._multiarray_umath" in data else 1 if b"numpy.core." in data else None
    yield (
        "torch.numpy_abi",
        present(abi, source) if abi else unknown("libtorch_python.so does not name numpy", source),
    )


def _glibc(folder: Path) -> Fact:
    """Find the oldest glibc that has every symbol version that torch's libraries ask for."""
    newest, broken = (0, 0), ""
    for name in _LOADED:
        library = folder / name
        try:
            with opened(library) as elf:
                newest = max(newest, *_glibc_versions(elf), (0, 0))
        except ElfError as error:
            broken = broken if not library.exists() else str(error)
    if broken or newest == (0, 0):
        return unknown(broken or "torch's libraries ask for no version of glibc", str(folder))
    return present("{}.{}".format(*newest), str(folder))


def _glibc_versions(elf: Elf) -> Iterator[tuple[int, int]]:
    for versions in elf.needed_versions().values():
        for match in map(_GLIBC.fullmatch, versions):
            if match:
                yield int(match[1]), int(match[2])
