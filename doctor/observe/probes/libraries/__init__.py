"""Resolve the CUDA libraries that torch needs by the rules of ld.so(8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.binaries.library_names import is_cuda, is_torch
from doctor.observe.binaries.linking import Object, Resolved, Search, follow, read, search_of
from doctor.observe.binaries.loader_cache import search_folders
from doctor.observe.installed.modules import folder_of
from doctor.observe.probes.libraries.symbols import in_vain
from doctor.observe.probes.libraries.versions import of_cudnn
from doctor.observe.scene import Interpreter, ProbeInput

BOUND = 10.0
_MOST_TOLD = 20
_NAMES = (
    "resolved",
    "shadowed",
    "undefined_symbols",
    "ld_library_path_rest",
    "cudnn_older",
    "cudnn_mixed",
)

# In the order in which `import torch` loads them: the first one needs little, and what it brings
# stays for those behind it.
_LOADED = (
    "libtorch_global_deps.so",
    "libtorch_python.so",
    "libtorch_cuda_linalg.so",
    "libcaffe2_nvrtc.so",
)
_OPENED_LATER = {"libcudnn.so": "libcudnn_*.so.*", "libnvrtc.so": "libnvrtc-builtins.so*"}


def probe(scene: ProbeInput) -> FactStream:
    """Give libs.*.

    Absent where there is no torch or where the libraries of the platform are not ELF files.
    """
    if (interpreter := scene.interpreter) is None:
        return
    folders = [
        path
        for path in search_folders(scene.host, "LD_LIBRARY_PATH")
        if _holds_cuda(scene.host, path)
    ]
    yield (
        "libs.ld_library_path",
        present(folders, "LD_LIBRARY_PATH") if folders else absent("LD_LIBRARY_PATH"),
    )
    torch = folder_of(interpreter, "torch")
    if torch is None or interpreter.platform != "linux":
        yield from ((f"libs.{name}", absent("sys.path")) for name in _NAMES)
        return
    found = resolve(search_of(scene.host, interpreter.executable, interpreter.machine), torch)
    told = dict(_library_facts(found, cuda_libraries(interpreter, torch), torch / "lib"))
    yield from told.items()
    yield "libs.ld_library_path_rest", _rest(scene.host, told["libs.shadowed"])
    asked = list(in_vain(found))
    symbols = list(dict.fromkeys(name for name, _ in asked))[:_MOST_TOLD]
    yield (
        "libs.undefined_symbols",
        present(symbols, str(asked[0][1])) if asked else absent(str(torch / "lib")),
    )
    yield from of_cudnn(scene, found)


def _library_facts(
    found: Mapping[str, Resolved], own: Mapping[str, list[Path]], source: Path
) -> FactStream:
    if not found:
        why = "torch needs no CUDA library, or its own libraries cannot be read"
        yield "libs.resolved", unknown(why, str(source)) if own else absent(str(source))
        yield "libs.shadowed", unknown(why, str(source)) if own else absent(str(source))
        return
    listed = {
        name: {"path": _text(one.path), "how": one.how, "by": one.by} for name, one in found.items()
    }
    shadowed = [
        {"soname": name, "by": _text(one.path), "expected": str(own[name][0]), "how": one.how}
        for name, one in found.items()
        if name in own
        and one.path is not None
        and not any(_same(one.path, path) for path in own[name])
    ]
    yield "libs.resolved", present(listed, str(source))
    yield "libs.shadowed", present(shadowed, str(source)) if shadowed else absent(str(source))


def _rest(host: Host, shadowed: Fact) -> Fact:
    """Return LD_LIBRARY_PATH without the folders that shadow a library of the target."""
    taken = {
        Path(one["by"]).parent for one in shadowed.value or () if one["how"] == "LD_LIBRARY_PATH"
    }
    rest = [
        path
        for path in search_folders(host, "LD_LIBRARY_PATH")
        if Path(path).resolve() not in taken
    ]
    return present(":".join(rest), "LD_LIBRARY_PATH") if rest else absent("LD_LIBRARY_PATH")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _holds_cuda(host: Host, folder: str) -> bool:
    return any(is_cuda(name) for name in host.list(folder))


def cuda_libraries(interpreter: Interpreter, torch: Path) -> dict[str, list[Path]]:
    """Find the CUDA libraries in the nvidia packages, beside torch, and in conda's lib."""
    site, prefix = torch.parent, Path(interpreter.prefix)
    folders = [
        torch / "lib",
        *_subfolders(site / "nvidia"),
        *_subfolders(site / "cu"),
        site / "cusparselt/lib",
    ]
    if (prefix / "conda-meta").is_dir():
        folders.append(prefix / "lib")
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for name in _names(folder):
            if is_cuda(name):
                found.setdefault(name, []).append(folder / name)
    return found


def _subfolders(folder: Path) -> list[Path]:
    return [folder / name / "lib" for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def resolve(search: Search, torch: Path) -> dict[str, Resolved]:
    """Follow what torch's libraries need, and return where its CUDA libraries come from."""
    found = follow(search, torch_objects(search, torch), matters=_belongs_to_torch, more=_later)
    return {name: one for name, one in found.items() if is_cuda(name)}


def torch_objects(search: Search, torch: Path) -> list[Object]:
    """Return what `import torch` opens by itself, in its order."""
    paths = [torch / "lib" / name for name in _LOADED]
    return [read(path, search.program.rpaths) for path in paths if path.is_file()]


def _belongs_to_torch(name: str) -> bool:
    return is_cuda(name) or is_torch(name)


def _later(path: Path) -> list[str]:
    """Name the parts that a library opens by itself when it is used.

    A mixture of releases of these fails late and oddly.
    """
    pattern = next(
        (value for key, value in _OPENED_LATER.items() if path.name.startswith(key)), None
    )
    return sorted(part.name for part in path.parent.glob(pattern)) if pattern else []
