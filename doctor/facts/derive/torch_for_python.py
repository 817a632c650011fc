"""Which releases of torch have wheels for this Python."""

from __future__ import annotations

from doctor.base.versions import parse
from doctor.facts.derive.cells import accepts
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, FactStream, present, value_of


def torch_for_python(facts: Facts, catalog: Catalog) -> FactStream:
    """Yield the oldest and the newest release of torch that was published for this Python."""
    python, table = value_of(facts, "python.minor"), catalog.tables.get("torch-python")
    if python is None or table is None:
        return
    releases = sorted(
        (version, str(release))
        for row in table.rows
        if accepts(row.get("python"), str(python)) is True
        for release in _listed(row.get("torch"))
        if (version := parse(str(release))) is not None
    )
    if releases:
        yield "python.oldest_torch", present(releases[0][1], "compat/torch-python")
        yield "python.newest_torch", present(releases[-1][1], "compat/torch-python")
        if tags := _tags(catalog, releases[-1][1]):
            yield "python.newest_torch_tags", present(tags, "compat/torch-archs")


def _tags(catalog: Catalog, release: str) -> list[str]:
    """Return the indexes of PyTorch that hold a release of torch for CUDA: `cu126`, `cu128`."""
    table = catalog.tables.get("torch-archs")
    found = {
        "cu" + str(cuda).replace(".", "")
        for row in (table.rows if table else ())
        if accepts(row.get("torch"), release) is True
        for cuda in _listed(row.get("cuda"))
    }
    return sorted(found)


def _listed(cell: object) -> list[object]:
    return list(cell) if isinstance(cell, list | tuple) else [cell]
