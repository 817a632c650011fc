"""Every fault of the gallery turns its canary red for the right reason; healthy kernels pass."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.catalog.check_headers import read_check
from tests.checks import grid
from tests.checks.grid import run_grid
from tests.checks.trial import CHECKS, Document
from tests.each import each
from tests.gallery.cells import Cell, cells

CELLS = list(cells())
CANARIES = sorted({cell.script for cell in CELLS})
PRELOAD = f"sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport torch"

Gallery = Mapping[str, Document]


@pytest.fixture(scope="module")
def gallery(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    """Return the document of every cell by its name; torch is imported once for all of them."""
    folder = tmp_path_factory.mktemp("gallery")
    orders = {cell.name: _order(cell) for cell in CELLS}
    settings = {"CANARY_DEVICES": "cpu", "TMPDIR": str(folder)}
    return run_grid(
        torch_python,
        folder,
        orders,
        preload=PRELOAD,
        settings=settings,
        seconds=120,
        at_once=os.cpu_count() or 1,
    )


def _order(cell: Cell) -> grid.Cell:
    name, arguments = cell.install
    home = "gpus" if name == "two_gpus" else "kernels"
    breaking = f"import {home}\n{home}.{name}(**{arguments!r})"
    return grid.Cell(script=f"canaries/{cell.script}.py", breaking=breaking, settings=cell.settings)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_cell(gallery: Gallery, cell: Cell) -> None:
    document = gallery[cell.name]
    assert document["doing"] is None, document["log"]
    (result,) = document["results"]
    failed = {
        name: case["reason"]
        for name, case in result["cases"].items()
        if case["verdict"] == "failed"
    }
    assert result["verdict"] == ("failed" if cell.red else "passed"), result["reason"]
    assert cell.red <= set(failed) <= cell.red | cell.may, failed
    unexplained = [
        reason
        for name, reason in failed.items()
        if name in cell.red and not all(re.search(says, reason) for says in cell.says)
    ]
    assert unexplained == []


def test_no_two_cells_have_one_name() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS)


@pytest.mark.parametrize("script", CANARIES)
def test_every_case_goes_red_somewhere(script: str) -> None:
    cases = set(read_check(CHECKS / "canaries" / f"{script}.py").header.cases)
    assert {case for cell in CELLS if cell.script == script for case in cell.red} == cases


def test_every_fault_has_a_healthy_twin() -> None:
    each([(cell.name, cell) for cell in CELLS if cell.red], _has_a_healthy_twin)


def _has_a_healthy_twin(cell: Cell) -> None:
    function, arguments = cell.install
    twins = [
        twin.install[1]
        for twin in CELLS
        if (twin.script, twin.install[0]) == (cell.script, function) and not twin.red
    ]
    assert any(
        set(twin) <= {"ops"} and set(arguments.get("ops", ())) <= set(twin.get("ops", ()))
        for twin in twins
    )
