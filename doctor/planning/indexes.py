"""Where the wheels of torch come from: the package index, or PyTorch's own for another build.

https://pytorch.org/get-started/previous-versions/
"""

from __future__ import annotations

from doctor.base.versions import public
from doctor.facts.derive.cells import accepts
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of

_INDEX = "https://download.pytorch.org/whl/"


def index_of(facts: Facts, catalog: Catalog, release: str) -> str | None:
    """Return the index to ask beside the default one for a release of torch in the build here.

    None where the default index serves this build, or where no such build is known.
    """
    build = str(value_of(facts, "torch.build") or "")
    windows = value_of(facts, "host.os") == "windows"
    if value_of(facts, "host.os") == "macos" or not build:
        return None
    if build == "cpu":
        return None if windows else f"{_INDEX}cpu"
    tag = str(value_of(facts, "torch.cuda_tag") or "")
    if build != "cuda" or not tag:
        return None
    here = public(str(value_of(facts, "torch.version") or ""))
    if tag == _default(catalog, here) and not windows:
        return None
    return f"{_INDEX}{tag}" if tag in _tags(catalog, release, facts) else None


def leaves_cuda(facts: Facts, catalog: Catalog, release: str) -> bool:
    """Say whether a release of torch is known, and none of its builds is for this CUDA generation.

    Asked for torch of a pasted text alone: an image was built for that generation, and its other
    compiled packages are not in the text. On a machine that is there a plan is tried in a copy.
    """
    version = facts.get("torch.version")
    source = version.source if version is not None else ""
    if source not in _OF_TEXTS and not source.startswith("log"):
        return False
    tag = str(value_of(facts, "torch.cuda_tag") or "")
    tags = _tags(catalog, release, facts)
    return bool(tag and tags) and tag[:4] not in {one[:4] for one in tags}


_OF_TEXTS = ("collect_env", "the pasted text")


def _default(catalog: Catalog, release: str) -> str:
    table = catalog.tables.get("torch")
    cudas = [
        str(row["cuda"])
        for row in (table.rows if table else ())
        if "cuda" in row and accepts(row.get("torch"), release) is True
    ]
    return _tag(cudas[0]) if cudas else ""


def _tags(catalog: Catalog, release: str, facts: Facts) -> frozenset[str]:
    """Return the tags of the builds of a release that the table of architectures knows."""
    table = catalog.tables.get("torch-archs")
    machine = str(value_of(facts, "host.machine") or "x86_64")
    found = set[str]()
    for row in table.rows if table else ():
        fits = accepts(row.get("torch"), release) is True
        if fits and accepts(row.get("machine"), machine) is not False:
            cell = row.get("cuda")
            cudas = cell if isinstance(cell, list | tuple) else [cell]
            found.update(_tag(str(one)) for one in cudas)
    return frozenset(found)


def _tag(cuda: str) -> str:
    return "cu" + "".join(cuda.split(".")[:2])
