"""The compiled files that the distributions of an environment brought, by their RECORDs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.host.reading import RECORD, UnreadableFile, read_whole
from doctor.observe.scene import Distribution, Interpreter, ProbeInput

_MOST_FILES = 4000
_OWN = Pattern(r"torch|(pytorch-)?triton.*|nvidia-.*|cuda-(bindings|core|python)")
"""torch itself, and what brings CUDA: these give, the others ask."""

# One of several builds in one wheel: libbitsandbytes_cuda118.so, nccl/ep/lib/cu12/libnccl_ep.so,
# libtorch_c_dlpack_addon_torch24-cpu.so.
_VARIANT = Pattern(
    r"(?:^|[/_.-])(?:(?:cuda|cu)_?(?P<cuda>\d{2,3})|torch_?(?P<torch>\d{2,3})|rocm\d*|hip|xpu\d*"
    r"|ffmpeg\d+)(?=[/_.-]|$)"
)


class Compiled(msgspec.Struct, frozen=True):
    """A compiled file: its path below the folder of its distribution, and that distribution."""

    owner: Distribution
    name: str

    @property
    def path(self) -> Path:
        """Where it lies."""
        return Path(self.owner.folder.parent, self.name)


class ExtensionFiles(msgspec.Struct, frozen=True):
    """The files to look at, and the file names of every library that lies in the environment.

    `unread` says why that is not all: a RECORD that could not be read.
    """

    files: tuple[Compiled, ...]
    libraries: frozenset[str]
    unread: str = ""


def list_files(
    scene: ProbeInput, torch: Mapping[str, str], *, bundled: bool = False
) -> ExtensionFiles:
    """List what the distributions brought.

    `torch` is its version and its CUDA, by which packages choose among builds side by side.

    With `bundled`, the libraries that a package brings for its modules (`ctranslate2.libs/`) count
    as well.
    """
    files: list[Compiled] = []
    names: set[str] = set()
    unread = ""
    for one in scene.distributions:
        try:
            listed = list(_libraries(read_whole(f"{one.folder}/RECORD", RECORD) or b""))
        except UnreadableFile as error:
            unread = unread or str(error)
            continue
        names.update(name.rpartition("/")[2] for name in listed)
        if scene.interpreter is not None and not _OWN.fullmatch(one.name):
            files += [
                Compiled(one, name)
                for name in listed
                if _is_loaded(name, scene.interpreter, torch, bundled=bundled)
            ]
    return ExtensionFiles(tuple(files[:_MOST_FILES]), frozenset(names), unread)


def _libraries(record: bytes) -> Iterator[str]:
    """Yield the paths in a RECORD that name shared libraries.

    The file can have ten thousand lines, hence no csv module.
    """
    at = record.find(b".so")
    while at >= 0:
        start, end = record.rfind(b"\n", 0, at) + 1, record.find(b"\n", at)
        path = record[start : end if end >= 0 else len(record)].split(b",")[0].strip(b'"\r')
        if path.endswith(b".so") or b".so." in path:
            yield path.decode("utf-8", "replace")
        at = record.find(b".so", end) if end >= 0 else -1


def _is_loaded(
    name: str, interpreter: Interpreter, torch: Mapping[str, str], *, bundled: bool
) -> bool:
    """Say whether this interpreter loads a file of this name.

    It does not load one for another Python, nor the build for another CUDA.
    """
    tag, _, last = interpreter.tag.removeprefix("cp"), *name.rpartition("/")[1:]
    if name.startswith(("..", "/")) or (
        not bundled and (not name.endswith(".so") or ".libs/" in name)
    ):
        return False
    if ".cpython-" in last and f".cpython-{tag}" not in last:
        return False
    return all(_fits(found, torch) for found in _VARIANT.finditer(name))


def _fits(variant: re.Match[str], torch: Mapping[str, str]) -> bool:
    """Say whether a build that its name tells apart is the one for this torch.

    Builds for other makers' GPUs never are.
    """
    kind = variant.lastgroup
    return kind is not None and _is_for(variant[kind], torch.get(kind, ""))


def _is_for(built: str, here: str) -> bool:
    parts = here.split(".")
    return built in (parts[0], "".join(parts[:2]))
