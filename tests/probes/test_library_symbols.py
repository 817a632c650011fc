"""Libraries of two CUDA releases under one torch: the older lacks symbols of the newer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.model.facts import Fact, State
from doctor.observe.probes import libraries
from tests.compiled import RPATH, Build, builder
from tests.hosts import facts_of, put
from tests.sites import install, seen_at, site_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

_OLD, _NEW = "__nvJitLinkComplete_12_0", "__nvJitLinkComplete_12_4"


@pytest.fixture(scope="module")
def build(needs: Callable[[str], str]) -> Build:
    return builder(needs("gcc"))


def _fact(prefix: Path) -> Fact:
    return facts_of(libraries.probe(seen_at(prefix)))["libs.undefined_symbols"]


def _linked(path: Path, build: Build, *names: str) -> Path:
    script = put(path.parent / "map", path.name + " { global: " + "; ".join(names) + "; };")
    return build(
        path, gives=names, flags=[f"-Wl,--version-script={script}", "-Wl,--hash-style=sysv"]
    )


def test_a_library_that_is_too_old_is_told_as_the_loader_tells_it(
    tmp_path: Path, build: Build
) -> None:
    install(tmp_path, "torch", "2.5.1", files={"torch/__init__.py": ""})
    lib = site_of(tmp_path) / "torch/lib"
    linked = _linked(lib / "libnvJitLink.so.12", build, _OLD, _NEW)
    sparse = build(lib / "libcusparse.so.12", linked, asks=[_NEW], search="$ORIGIN")
    python = build(lib / "libtorch_python.so", sparse, search="$ORIGIN", kind=RPATH)
    argv = [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(python)]
    assert subprocess.run(argv, check=False, timeout=60).returncode == 0
    assert _fact(tmp_path).state is State.ABSENT

    _linked(linked, build, _OLD)
    said = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60).stderr
    assert f"undefined symbol: {_NEW}, version libnvJitLink.so.12" in said
    assert (_fact(tmp_path).value, _fact(tmp_path).source) == ([_NEW], str(sparse))


def test_without_torch_nobody_asks(tmp_path: Path) -> None:
    assert _fact(tmp_path).state is State.ABSENT
