"""A package that two generations meet over is moved towards the other one, never to where it is."""

from __future__ import annotations

import pytest

from doctor.catalog.loading import load
from doctor.fixes.attach import with_fixes
from doctor.judge.match import diagnose
from tests import toy

_SIZE = (
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 "
    "from C header, got 88 from PyObject"
)


@pytest.mark.parametrize(
    ("installed", "wanted", "unwanted"),
    [("1.26.4", "numpy>=2", "numpy<2"), ("2.1.0", "numpy<2", "numpy>=2")],
    ids=["1", "2"],
)
def test_numpy_moves_to_the_other_generation(installed: str, wanted: str, unwanted: str) -> None:
    facts = {
        "python.executable": "/venv/bin/python",
        "python.has_pip": True,
        "package.numpy.version": installed,
    }
    seen = toy.seen(
        {**facts, "packages": {"numpy": installed}, "torch.version": "2.13.0"}, log=_SIZE
    )
    found = with_fixes(diagnose(seen, load()).findings, seen.facts)
    (told,) = [each for each in found if each.id == "numpy/numpy-2-beside-older-modules"]
    arguments = [argument for fix in told.fixes for one in fix.commands for argument in one.argv]
    assert wanted in arguments
    assert unwanted not in arguments


def test_cupy_that_numpy_stops_is_not_short_of_a_library() -> None:
    seen = toy.seen({}, log=f"ImportError: Failed to import CuPy. Original error: {_SIZE}")
    assert "cupy/cuda-library-missing" not in [each.id for each in diagnose(seen, load()).findings]


@pytest.mark.parametrize(("machine", "offered"), [("x86_64", True), ("aarch64", False), ("", True)])
def test_what_may_be_a_jetson_gets_no_driver_for_pcs(machine: str, offered: bool) -> None:
    log = 'Error: DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "…") when loading cast_u32_f32'
    seen = toy.seen({"host.machine": machine} if machine else {}, log=log)
    found = with_fixes(diagnose(seen, load()).findings, seen.facts)
    (ptx,) = [each for each in found if each.id == "candle/ptx-too-new-for-driver"]
    drivers = [
        fix
        for fix in ptx.fixes
        if any("nvidia-driver-580" in argument for one in fix.commands for argument in one.argv)
    ]
    assert bool(drivers) is offered
    assert all(("this is no Jetson" in fix.use_if) is (not machine) for fix in drivers)
