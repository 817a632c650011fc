"""triton as its files show it: whichever distribution brought it, and the ptxas it would use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from doctor.host import Host, UnreadableFile
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.installed.modules import constants, folder_of, searched
from doctor.observe.scene import ProbeInput

WAITS = True
BOUND = 10.0

_BRINGERS = frozenset(
    {"triton", "triton-windows", "triton-nightly", "triton-rocm", "triton-xpu"}
) | {f"pytorch-triton{kind}" for kind in ("", "-rocm", "-xpu")}
_PTXAS = (
    "backends/nvidia/bin/ptxas",
    "common/../third_party/cuda/bin/ptxas",
    "third_party/cuda/bin/ptxas",
)


def probe(scene: ProbeInput) -> FactStream:
    """Give triton.*; all absent where there is no triton."""
    if scene.interpreter is None:
        return
    brought = [one for one in scene.distributions if one.name in _BRINGERS]
    listed = [f"{one.name} {one.version}" for one in brought]
    yield (
        "triton.distributions",
        present(listed, "dist-info folders") if listed else absent("dist-info folders"),
    )
    folder = folder_of(scene.interpreter, "triton")
    if folder is None:
        why = (
            f"{', '.join(listed)} is installed, but no folder on sys.path holds triton/__init__.py"
        )
        gone = unknown(why, "sys.path") if listed else absent("sys.path")
        yield from (
            (f"triton.{name}", gone) for name in ("version", "path", "ptxas", "ptxas_version")
        )
        return
    yield "triton.path", present(str(folder), str(folder))
    source, why = str(folder / "__init__.py"), "triton/__init__.py assigns no __version__"
    try:
        version = (constants(scene.host, folder / "__init__.py") or {}).get("__version__")
    except UnreadableFile as error:
        version, why = None, str(error)
    told = isinstance(version, str) and version
    yield "triton.version", present(version, source) if told else unknown(why, source)
    yield from _ptxas(scene.host, folder)


def _ptxas(host: Host, folder: Path) -> FactStream:
    found = next(_candidates(host, folder), None)
    if found is None:
        yield from ((f"triton.{name}", absent(str(folder))) for name in ("ptxas", "ptxas_version"))
        return
    path, source = found
    yield "triton.ptxas", present(str(path), source)
    ran = host.run([str(path), "--version"], timeout=5.0, limit=1 << 14)
    version = searched(ran.output, r"release [\d.]+, V([\d.]+)")
    why = (
        ran.why
        or f"{path} --version gave no version (exit code {ran.code}, ended: {ran.ended.value})"
    )
    yield (
        "triton.ptxas_version",
        present(version, str(path)) if version else unknown(why, str(path)),
    )


def _candidates(host: Host, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the places where triton looks, in its order.

    It passes over those where there is no file.
    """
    asked = host.env.get("TRITON_PTXAS_PATH")
    if asked and Path(asked).is_file():
        yield Path(asked), "TRITON_PTXAS_PATH"
    for place in _PTXAS:
        if (folder / place).is_file():
            yield folder / place, str(folder)
    if on_path := host.which("ptxas"):
        yield Path(on_path), "PATH"
