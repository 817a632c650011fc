"""Libraries are resolved as the real loader does it, over every mixture of search paths."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.observe.binaries.linking import Resolved, follow, read, search_of
from tests.compiled import RPATH, RUNPATH, Build, builder

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

_KINDS = {"none": "", "rpath": RPATH, "runpath": RUNPATH}
_LOADED = """
import ctypes, sys
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    print(error)
else:
    lines = map(str.rstrip, open('/proc/self/maps'))
    print(next((line.split()[-1] for line in lines if line.endswith('/libfar.so')), ''))
"""


@pytest.fixture(scope="module")
def build(needs: Callable[[str], str]) -> Build:
    return builder(needs("gcc"))


@pytest.fixture(scope="module")
def libraries(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with libfar.so at three places.

    A libfirst.so and a libsecond.so look for them in each way.
    """
    root = tmp_path_factory.mktemp("libraries")
    far, *_ = [
        build(root / place / "libfar.so") for place in ("by_first", "by_second", "by_environment")
    ]
    for kind, flag in _KINDS.items():
        search = "$ORIGIN/../by_second" if flag else ""
        second = build(root / f"second_{kind}" / "libsecond.so", far, search=search, kind=flag)
        for first, first_flag in _KINDS.items():
            places = f"$ORIGIN/../second_{kind}:${{ORIGIN}}/../by_first" if first_flag else ""
            build(
                root / f"first_{first}_{kind}" / "libfirst.so",
                second,
                search=places,
                kind=first_flag,
            )
    return root


@pytest.mark.parametrize("env", ["", "by_environment", "nowhere"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(_KINDS, _KINDS)))
def test_the_loader_takes_the_same_file(libraries: Path, first: str, second: str, env: str) -> None:
    path = libraries / f"first_{first}_{second}" / "libfirst.so"
    variables = {
        **os.environ,
        "LD_LIBRARY_PATH": f"{libraries / env}:{libraries / f'second_{second}'}" if env else "",
    }
    argv = [sys.executable, "-c", _LOADED, str(path)]
    said = subprocess.run(
        argv, env=variables, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()
    search = search_of(Host(env=variables), sys.executable, os.uname().machine)
    found = follow(search, [read(path, search.program.rpaths)])
    one = found.get("libfar.so")
    assert (str(one.path) if one and one.path else "") == (said if said.startswith("/") else "")


def test_what_is_loaded_is_not_looked_up_again(libraries: Path) -> None:
    search = search_of(Host(env={}), sys.executable, os.uname().machine)
    held = {"libfar.so": Resolved(Path("/elsewhere/libfar.so"), "loaded", "torch")}
    found = follow(search, [read(libraries / "first_rpath_rpath/libfirst.so", ())], loaded=held)
    assert found["libfar.so"].path == Path("/elsewhere/libfar.so")


def test_libraries_that_need_each_other_come_to_an_end(build: Build, tmp_path: Path) -> None:
    one = build(tmp_path / "libone.so")
    other = build(tmp_path / "libother.so", one, search="$ORIGIN")
    build(tmp_path / "libone.so", other, search="$ORIGIN")
    search = search_of(Host(env={}), sys.executable, os.uname().machine)
    assert {"libone.so", "libother.so"} <= set(follow(search, [read(one, ())]))
