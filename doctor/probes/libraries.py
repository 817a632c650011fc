"""Which file each CUDA library that torch needs would come from, by the rules of the dynamic loader (ld.so(8))."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from doctor.elf import ElfError, opened
from doctor.host import Host
from doctor.host.loader import loader_cache, search_folders
from doctor.model.facts import absent, present, unknown
from doctor.modules import folder_of
from doctor.probes.contract import Interpreter, Scene, Seen

BOUND = 10.0

_CUDA = re.compile(
    r"lib(cudart|cublas|cublasLt|cudnn\w*|nvJitLink|nvrtc|nvrtc-builtins|nccl|cusparse|cusparseLt|cufft|curand|cusolver|cusolverMg"
    r"|cupti|cufile|nvToolsExt|nvtx3interop|nvshmem_host|cudss)\.(alt\.)?so[.\d]*"
)
_TORCH = re.compile(r"lib(torch|c10|caffe2|shm)\w*\.so")
# In the order in which `import torch` loads them: the first one needs little, and what it brings stays for those behind it.
_LOADED = ("libtorch_global_deps.so", "libtorch_python.so", "libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so")
_OPENED_LATER = {"libcudnn.so": "libcudnn_*.so.*", "libnvrtc.so": "libnvrtc-builtins.so*"}
_DEFAULTS = ("/lib/{}-linux-gnu", "/usr/lib/{}-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


class _Object(NamedTuple):
    """A loaded library: its file, its search paths, and the chain of RPATHs that it hands down."""

    path: Path
    needed: tuple[str, ...]
    rpaths: tuple[str, ...]
    runpath: tuple[str, ...]
    broken: bool = False


class Resolved(NamedTuple):
    """Where a library would come from: the file if any, the rule that found it, and the library that asked first."""

    path: Path | None
    how: str
    by: str


def probe(scene: Scene) -> Seen:
    """Give libs.*; absent where there is no torch or where the libraries of the platform are not ELF files."""
    if (interpreter := scene.interpreter) is None:
        return
    folders = [path for path in search_folders(scene.host, "LD_LIBRARY_PATH") if _holds_cuda(scene.host, path)]
    yield "libs.ld_library_path", present(folders, "LD_LIBRARY_PATH") if folders else absent("LD_LIBRARY_PATH")
    torch = folder_of(interpreter, "torch")
    if torch is None or interpreter.platform != "linux":
        yield from ((f"libs.{name}", absent("sys.path")) for name in ("resolved", "shadowed"))
        return
    found = resolve(scene.host, interpreter, torch)
    yield from _told(found, owned(interpreter, torch), torch / "lib")


def _told(found: Mapping[str, Resolved], own: Mapping[str, list[Path]], source: Path) -> Seen:
    if not found:
        why = "torch needs no CUDA library, or its own libraries cannot be read"
        yield "libs.resolved", unknown(why, str(source)) if own else absent(str(source))
        yield "libs.shadowed", unknown(why, str(source)) if own else absent(str(source))
        return
    listed = {name: {"path": _text(one.path), "how": one.how, "by": one.by} for name, one in found.items()}
    shadowed = [
        {"soname": name, "by": _text(one.path), "expected": str(own[name][0]), "how": one.how}
        for name, one in found.items()
        if name in own and one.path is not None and not any(_same(one.path, path) for path in own[name])
    ]
    yield "libs.resolved", present(listed, str(source))
    yield "libs.shadowed", present(shadowed, str(source)) if shadowed else absent(str(source))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _holds_cuda(host: Host, folder: str) -> bool:
    return any(_CUDA.fullmatch(name) for name in host.list(folder))


def owned(interpreter: Interpreter, torch: Path) -> dict[str, list[Path]]:
    """Find the CUDA libraries that the environment brings itself: in the nvidia packages, beside torch, in conda's lib."""
    site, prefix = torch.parent, Path(interpreter.prefix)
    folders = [torch / "lib", *_subfolders(site / "nvidia"), *_subfolders(site / "cu"), site / "cusparselt/lib"]
    if (prefix / "conda-meta").is_dir():
        folders.append(prefix / "lib")
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for name in _names(folder):
            if _CUDA.fullmatch(name):
                found.setdefault(name, []).append(folder / name)
    return found


def _subfolders(folder: Path) -> list[Path]:
    return [folder / name / "lib" for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def resolve(host: Host, interpreter: Interpreter, torch: Path) -> dict[str, Resolved]:
    """Follow what torch's libraries need, breadth first as the loader does; a name that is loaded once is not looked up again."""
    environment = search_folders(host, "LD_LIBRARY_PATH")
    program = _read(Path(interpreter.executable).resolve(), ())
    found: dict[str, Resolved] = {}
    seen = set(_LOADED)
    queue = deque(_read(torch / "lib" / name, program.rpaths) for name in _LOADED if (torch / "lib" / name).is_file())
    while queue:
        asking = queue.popleft()
        for name in (*asking.needed, *_later(asking.path)):
            if name in seen or not (_CUDA.fullmatch(name) or _TORCH.fullmatch(name)):
                continue
            seen.add(name)
            one = _look(host, asking, name, environment, interpreter.machine)
            if _CUDA.fullmatch(name):
                found[name] = one
            if one.path is not None:
                queue.append(_read(one.path, asking.rpaths))
    return found


def _later(path: Path) -> list[str]:
    """Name the parts that a library opens by itself when it is used; a mixture of releases of these fails late and oddly."""
    pattern = next((value for key, value in _OPENED_LATER.items() if path.name.startswith(key)), None)
    return sorted(part.name for part in path.parent.glob(pattern)) if pattern else []


def _read(path: Path, handed_down: tuple[str, ...]) -> _Object:
    origin = str(path.parent)
    try:
        with opened(path) as elf:
            runpath = tuple(_expanded(part, origin) for part in elf.runpath)
            # A DT_RUNPATH switches off DT_RPATH, its own and those of the libraries that led here.
            own = () if runpath else tuple(_expanded(part, origin) for part in elf.rpath)
            return _Object(path, elf.needed, () if runpath else (*own, *handed_down), runpath)
    except ElfError:
        return _Object(path, (), handed_down, (), broken=True)


def _expanded(folder: str, origin: str) -> str:
    return folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)


def _look(host: Host, asking: _Object, name: str, environment: tuple[str, ...], machine: str) -> Resolved:
    for path, how in _candidates(host, asking, name, environment, machine):
        if path.is_file():
            return Resolved(Path(str(path.parent.resolve()), path.name), how, asking.path.name)
    return Resolved(None, "not found", asking.path.name)


def _candidates(host: Host, asking: _Object, name: str, environment: tuple[str, ...], machine: str) -> Iterator[tuple[Path, str]]:
    yield from ((Path(folder, name), "DT_RPATH") for folder in asking.rpaths)
    yield from ((Path(folder, name), "LD_LIBRARY_PATH") for folder in environment)
    yield from ((Path(folder, name), "DT_RUNPATH") for folder in asking.runpath)
    yield from ((host.at(path), "/etc/ld.so.cache") for path in loader_cache(host).get(name, ()))
    yield from ((host.at(folder.format(machine)) / name, "default folder") for folder in _DEFAULTS)
