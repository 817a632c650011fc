"""Find distributions whose own module is gone.

Uninstalling one of two packages that share a folder takes the files of the other away.

Half an uninstall leaves the folder. Python imports one without __init__.py all the same, as a
package with nothing in it (PEP 420).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from doctor.host.reading import RECORD, UnreadableFile, read_whole
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import Distribution, ProbeInput

BOUND = 10.0

_INIT = b"/__init__.py,"
_FIELDS = 3
_MOST_TOLD = 20
# Folders of other purposes that some distributions bring by mistake, and delete for each other; and
# what images leave out.
_OTHERS = frozenset(
    {
        b"test",
        b"tests",
        b"testing",
        b"doc",
        b"docs",
        b"example",
        b"examples",
        b"scripts",
        b"tools",
        b"benchmarks",
        b"src",
    }
)
_LEFT_OUT = frozenset({"pip", "setuptools", "wheel"})
_KNOWN = {
    **{
        name: name
        for name in (
            "torch",
            "torchvision",
            "torchaudio",
            "triton",
            "jax",
            "jaxlib",
            "xformers",
            "vllm",
            "tensorflow",
        )
    },
    "flash-attn": "flash_attn",
    "onnxruntime": "onnxruntime",
    "onnxruntime-gpu": "onnxruntime",
    "bitsandbytes": "bitsandbytes",
    "pytorch-triton": "triton",
    "transformers": "transformers",
    "numpy": "numpy",
}
"""Packages of the stack by their distributions, for where a RECORD went with the rest."""


def probe(scene: ProbeInput) -> FactStream:
    """Give modules.gone and modules.gone_packages.

    Absent where each distribution has its module, and something in it.
    """
    if scene.interpreter is None:
        return
    unread: list[str] = []
    found = [
        (one, path)
        for one in scene.distributions
        if one.name not in _LEFT_OUT
        for path in _gone(one, unread)
    ]
    paths = [f"{one.folder.parent}/{path}" for one, path in found][:_MOST_TOLD]
    owners = list(dict.fromkeys(one.requirement for one, _ in found))[:_MOST_TOLD]
    yield "modules.gone", _listed(paths, unread)
    yield "modules.gone_packages", _listed(owners, unread)


def _listed(values: list[str], unread: list[str]) -> Fact:
    if values:
        return present(values, "RECORD files")
    return unknown(unread[0], "RECORD files") if unread else absent("RECORD files")


def _gone(one: Distribution, unread: list[str]) -> Iterator[str]:
    try:
        record = read_whole(f"{one.folder}/RECORD", RECORD)
    except UnreadableFile as error:
        unread.append(str(error))
        return
    if not record and one.name in _KNOWN:
        yield from _unlisted(str(one.folder.parent), _KNOWN[one.name])
    for path in _modules(record or b""):
        if not _size(f"{one.folder.parent}/{path}"):
            yield path


def _size(path: str) -> int:
    """Return the bytes of a file; 0 where there is none."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - for each distribution, and a Path costs more than the call
    except (OSError, ValueError):
        return 0


def _unlisted(site: str, package: str) -> Iterator[str]:
    """Yield what is missing of a package that lies there and that nothing lists."""
    if (lacks := lacking(Path(site, package))) is not None:
        yield f"{package}/{lacks}"


def lacking(folder: Path) -> str | None:
    """Return the name of the file without which the folder of a package imports as nothing.

    None where it is there, or no folder is.

    For torch that is `_C` as well: its own `__init__.py` is there, and cannot be imported.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is asked for
    except OSError:
        return None
    if not _size(f"{folder}/__init__.py"):
        return "__init__.py"
    compiled = any(name.startswith("_C.") and name.endswith((".so", ".pyd")) for name in names)
    return "_C" if folder.name == "torch" and not compiled else None


def _modules(record: bytes) -> Iterator[str]:
    """Yield what a RECORD lists of top-level packages, `cv2/__init__.py`.

    One that is empty makes no difference when it is gone.
    """
    at = record.find(_INIT)
    while at >= 0:
        start, end = record.rfind(b"\n", 0, at) + 1, record.find(b"\n", at)
        name, fields = (
            record[start:at],
            record[start : end if end >= 0 else len(record)].strip().split(b","),
        )
        if _is_module(name, fields):
            yield name.decode() + "/__init__.py"
        at = record.find(_INIT, at + 1)


def _is_module(name: bytes, fields: list[bytes]) -> bool:
    """Say whether a line speaks of a package of the top level; any other name holds a slash."""
    plain = name.replace(b"_", b"a").isalnum() and name not in _OTHERS
    return plain and len(fields) == _FIELDS and fields[2].isdigit() and fields[2] != b"0"
