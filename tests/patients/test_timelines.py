"""The data on symbols against a published wheel, and against an extension for another torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.timelines.symbols import exporters
from tests.command import check

Clone = Callable[..., Path]


@pytest.mark.patient
def test_the_builder_reads_what_the_data_holds() -> None:
    pytest.importorskip("remotezip")
    from remotezip import RemoteZip

    from doctor.timelines.build.symbols import SOURCES, wheels
    from doctor.timelines.build.wheel_symbols import exported

    (wheel,) = (one for one in wheels(SOURCES[0]) if one.release == "2.8.0")
    with RemoteZip(wheel.url) as archive, archive.open("torch/lib/libc10_cuda.so") as stream:
        library = exported(stream, whole=True)
    assert library is not None
    assert len(library.symbols) > 50
    for symbol in library.symbols:
        found = exporters(symbol)
        assert found is None or "2.8.0" in found.releases, symbol
    set_device = exporters("_ZN3c104cuda9SetDeviceEab")
    assert set_device is not None
    assert set_device.first == "2.8.0"


def test_an_extension_that_no_entry_knows_names_its_torch(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", "torchrl==0.9.2")
    said = check("--python", python, "--no-canaries", cwd=tmp_path)
    assert said.finding("extension/torchrl")["title"] == (
        "torchrl was built for torch 2.7.0 to 2.9.1; torch 2.13.0+cu130 is installed"
    )
