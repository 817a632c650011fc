"""Which build of a torch release fits this driver and these GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from packaging.version import Version

from doctor.base.versions import minor
from doctor.facts.derive.arch import uncovered
from doctor.facts.derive.cells import accepts
from doctor.model.compat import Table


def wanted_tag(
    release: str,
    machine: str,
    driver: str,
    *,
    capabilities: Sequence[str],
    archs: Table,
    drivers: Table,
) -> str | None:
    """Return the newest tag (`cu128`) of PyTorch's wheel index that fits driver and GPUs.

    None where the tables know no such build of this release.
    """
    fitting = [
        cuda
        for cuda, compiled in _builds(release, machine, archs)
        if _driver_runs(cuda, driver, drivers) and not uncovered(compiled, capabilities)
    ]
    newest = max(fitting, key=Version, default=None)
    return "cu" + (minor(newest) or "").replace(".", "") if newest else None


def _builds(release: str, machine: str, archs: Table) -> Iterator[tuple[str, list[str]]]:
    for row in archs.rows:
        if (
            accepts(row.get("torch"), release) is True
            and accepts(row.get("machine"), machine) is True
        ):
            yield from ((cuda, str(row["archs"]).split()) for cuda in _each(row.get("cuda")))


def _each(cell: Any) -> Sequence[str]:
    return cell if isinstance(cell, list | tuple) else [str(cell)]


def driver_runs(cuda: str, driver: str, *, drivers: Table) -> bool | None:
    """Say whether a driver runs what was built with this CUDA.

    None where the table knows nothing of it.
    """
    known = any(accepts(row.get("cuda"), cuda) is True for row in drivers.rows)
    return _driver_runs(cuda, driver, drivers) if known else None


def _driver_runs(cuda: str, driver: str, drivers: Table) -> bool:
    rows = [row for row in drivers.rows if accepts(row.get("cuda"), cuda) is True]
    return bool(rows) and accepts(rows[0].get("driver"), driver) is True
