"""Whether the processor lists Intel's AMX, as /proc/cpuinfo tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import value_of
from doctor.observe.probes import resources
from doctor.observe.scene import ProbeInput


@pytest.mark.parametrize(
    ("flags", "seen"), [("fpu avx2 amx_bf16 amx_tile", True), ("fpu avx2 avx512f", None)]
)
def test_amx_is_read_from_the_flags(tmp_path: Path, flags: str, seen: bool | None) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")
    assert value_of(dict(resources.probe(ProbeInput(host=Host(root=tmp_path)))), "host.amx") is seen
