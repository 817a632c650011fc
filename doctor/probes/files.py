"""Files of the stack's packages that are gone, cut short, or not what they are called, by their RECORD."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doctor.distributions import text_of
from doctor.model.facts import Fact, absent, present
from doctor.probes.contract import Distribution, Scene, Seen

BOUND = 20.0

_MOST_LISTED = 50
_POINTER = b"version https://git-lfs"
_LARGEST_POINTER = 1024
_CHECKED = re.compile(
    r"torch|torchvision|torchaudio|torchao|(pytorch-)?triton.*|nvidia-.*|cuda-bindings|numpy|xformers|flash-attn.*|bitsandbytes"
    r"|flashinfer.*|vllm|sgl-kernel|deepspeed|apex|transformer-engine.*|mamba-ssm|causal-conv1d|jaxlib|jax-.*|cupy-.*"
    r"|onnxruntime.*|sageattention"
)
# The rest (tests, type stubs, static libraries, licences) is what people delete on purpose to make an image smaller.
_ENDINGS = {".py": "module", ".so": "library", ".h": "header", ".hpp": "header", ".cuh": "header"}
_SUFFIXES = tuple(_ENDINGS)
_FIELDS = 3
_ON_PURPOSE = re.compile(r"/tests?/|/test_[^/]*$")


class _Wrong(NamedTuple):
    """A file that is not as RECORD says; `found` is None where it is gone."""

    owner: Distribution
    path: str
    wanted: int | None
    found: int | None


def probe(scene: Scene) -> Seen:
    """Give files.*; each is absent where nothing of the kind was found."""
    if scene.interpreter is None:
        return
    checked = [one for one in scene.distributions if _CHECKED.fullmatch(one.name)]
    wrong = [each for one in checked for each in _wrong(one)]
    missing = [each for each in wrong if each.found is None]
    damaged = [each for each in wrong if each.found is not None]
    pointers = [each for each in damaged if kind_of(each.path) == "library" and _is_pointer(each)]
    source = "RECORD files"
    yield "files.missing", _listed([_told(each) for each in missing], source)
    yield "files.missing_packages", _listed(_owners(missing), source)
    yield "files.damaged", _listed([_told(each) for each in damaged], source)
    yield "files.damaged_packages", _listed(_owners(damaged), source)
    yield "files.lfs_pointers", _listed([_told(each)["path"] for each in pointers], source)


def _listed(values: Sequence[Any], source: str) -> Fact:
    return present(list(values[:_MOST_LISTED]), source) if values else absent(source)


def _owners(wrong: Sequence[_Wrong]) -> list[str]:
    return list(dict.fromkeys(f"{each.owner.name}=={each.owner.version}" for each in wrong))


def _told(each: _Wrong) -> dict[str, Any]:
    owner = each.owner
    return {
        "path": f"{owner.folder.parent}/{each.path}",
        "kind": kind_of(each.path),
        "package": owner.name,
        "requirement": f"{owner.name}=={owner.version}",
        "size": each.found,
        "wanted_size": each.wanted,
    }


def _wrong(one: Distribution) -> Iterator[_Wrong]:
    site = f"{one.folder.parent}/"
    # conda rewrites search paths inside the files after RECORD was written, so there the sizes mean nothing.
    compared = one.installer != "conda"
    for path, wanted in recorded_files(text_of(one, "RECORD") or ""):
        try:
            size = os.stat(site + path).st_size  # noqa: PTH116 - 12,000 times, and a Path costs more than the call
        except (OSError, ValueError):
            # An empty __init__.py makes no difference when it is gone, and packages that share a folder delete each other's.
            if wanted != 0 or not path.endswith("__init__.py"):
                yield _Wrong(one, path, wanted, None)
            continue
        if size != wanted and wanted is not None and (compared or not size):
            yield _Wrong(one, path, wanted, size)


def recorded_files(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield path and size of what a RECORD lists and what matters: modules, libraries, headers and programs.

    The size is None where RECORD does not say. RECORD of torch has 12,000 lines, hence no csv module but for quoted ones.
    """
    for line in text.split("\n"):
        parts = line.split(",")
        if len(parts) != _FIELDS or line[0] == '"':
            parts = [*next(csv.reader([line]), ()), "", "", ""]
        path, size = parts[0], parts[2]
        if not path.endswith(_SUFFIXES) and not kind_of(path):
            continue
        if path[0] not in "./" and ("/test" not in path or not _ON_PURPOSE.search(path)):
            yield path, int(size) if size.rstrip().isdecimal() else None


def kind_of(path: str) -> str:
    """Say what a file is for; an empty text where its absence harms nobody."""
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :] if "." in name else ""
    return _ENDINGS.get(ending) or ("library" if ".so." in name else "program" if "/bin/" in path and not ending else "")


def _is_pointer(each: _Wrong) -> bool:
    """Say whether a library is the text that git-lfs leaves where it did not fetch the file."""
    if each.found is None or each.found > _LARGEST_POINTER:
        return False
    try:
        with Path(each.owner.folder.parent, each.path).open("rb") as file:
            return file.read(len(_POINTER)) == _POINTER
    except OSError:
        return False
