"""Everything that Inductor leans on, broken one by one; and kernels that compile and are wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.catalog.check_headers import read_check
from tests.checks.grid import Cell, run_grid
from tests.checks.trial import CHECKS, Document, only_result, reasons

SCRIPT = "canaries/inductor_compile.py"

# Which vectors this processor has is tried with a dozen compilations, which no cell is about.
PRELOAD = """
import torch, torch._dynamo, torch._inductor.compile_fx, torch._inductor.config, triton.language
torch._inductor.config.cpp.vec_isa_ok = True
"""

FORWARD, BACKWARD, DYNAMIC = (".exp()", ".sin()"), (".cos()",), (".exp()", "ks0")
NOT_FIRST = (".cos()", "ks0")
DEEP = {"CANARY_TIER": "deep"}
NO_CACHE = """
import torch._functorch.config, torch._inductor.config
torch._functorch.config.enable_autograd_cache = torch._inductor.config.fx_graph_cache = False
"""
OTHER_COMPILER = (
    NO_CACHE
    + """
torch._inductor.config.cpp.cxx = (None, {path!r})
torch._inductor.config.cpp.vec_isa_ok = torch._inductor.config.cpp_cache_precompile_headers = False
"""
)
REWRITE = (
    NO_CACHE
    + """
import torch._inductor.async_compile
compiler = torch._inductor.async_compile.AsyncCompile
healthy = compiler.cpp_pybinding

def rewritten(self, argtypes, source):
    if all(word in source for word in {within!r}) and not any(word in source for word in {without!r}):
        assert {old!r} in source, source
        source = source.replace({old!r}, {new!r})
    return healthy(self, argtypes, source)

compiler.cpp_pybinding = rewritten
"""  # noqa: E501
)
REWRITE_CALLER = (
    NO_CACHE
    + """
from torch._inductor.codecache import CppWrapperCodeCache
healthy = CppWrapperCodeCache.load_pybinding

def rewritten(*arguments, **named):
    sources = {name: named[name].replace(".sin()", ".cos()") for name in ("main_code", "kernel_code") if named.get(name)}
    changed = {**named, **sources}
    assert changed != named
    return healthy(*arguments, **changed)

CppWrapperCodeCache.load_pybinding = rewritten
"""  # noqa: E501
)
TRITON = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
    del sys.modules[name]
sys.path.insert(0, {folder!r})
"""
WORKERS = {
    "worker": "os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 9))",
    "leader": "os.kill(os.getpid(), 9)",
}
COMPILERS = {
    "refuses": (
        "echo 'g++ (GCC) 12.2.0'; case $1 in --version) exit 0;; esac; echo 'cc1plus: error: "
        "no licence left' >&2; exit 1"
    ),
    "crashes": "case $1 in --version) exec g++ --version;; esac; kill -SEGV $$",
    "no-python": (
        'for one; do shift; case $one in -I*/include/python3*) ;; *) set -- "$@" "$one";; '
        'esac; done; exec g++ "$@"'
    ),
    "no-omp": 'exec g++ -nostdinc -nostdinc++ {folders} "$@"',
}


def _cell(*, breaking: str = "", settings: Mapping[str, str] | None = None) -> Cell:
    return Cell(script=SCRIPT, breaking=breaking, settings=settings or {})


def kernel(
    old: str, new: str, *, within: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> Cell:
    """Make the compiler get another program than the one that Inductor wrote."""
    return _cell(breaking=REWRITE.format(old=old, new=new, within=within, without=without))


EXPECTED = {
    "last tile": {"forward": "compiled forward, float32: largest error"},
    "idle thread": {"forward": "compiled forward, float32: largest error"},
    "gradient by x": {"backward": "compiled gradient by x, float32: largest error"},
    "gradient by w": {"backward": "compiled gradient by w, float32: largest error"},
    "first size kept": {"dynamic-shapes": "compiled again for 197 rows, float32: largest error"},
    "triton": {
        "forward": (
            "InternalTorchDynamoError: ImportError: libtriton.so: undefined symbol: _ZN4mlir"
        ),
        "user-triton-constant": "ImportError: libtriton.so: undefined symbol: _ZN4mlir",
    },
    "worker": {
        "compile-workers": (
            "a worker process that compiles for Inductor died: BrokenProcessPool: A process "
            "in the process pool"
        )
    },
    "leader": {
        "compile-workers": (
            "the process that leads Inductor's compile workers died with exit code -9"
        )
    },
    "caller in C++": {"cpp-wrapper": "compiled with cpp_wrapper, float32: largest error"},
    "absent": {"forward": "InvalidCxxCompiler: No working C++ compiler found"},
    "refuses": {"forward": "CppCompileError: cc1plus: error: no licence left"},
    "crashes": {"forward": "C++ compile error (the compiler died of signal 11)"},
    "no-python": {"forward": "fatal error: Python.h: No such file or directory"},
    "no-omp": {"forward": "fatal error: omp.h: No such file or directory"},
}
# Each compiles for seconds, and what it breaks is broken in another way at every push: a kernel by
# "last tile", a compiler by "refuses", a process of the pool by "worker".
DEAR = {
    "idle thread",
    "gradient by w",
    "crashes",
    "no-python",
    "no-omp",
    "leader",
}


def cells(folder: Path) -> dict[str, Cell]:
    """Make every broken thing, and the healthy twin, which goes first and fills the cache."""
    idle = "if (omp_get_thread_num()) continue; float tmp_acc0 = 0;"
    return {
        "healthy": _cell(settings=DEEP),
        "last tile": kernel(
            "x1<static_cast<int64_t>(131L)",
            "x1<static_cast<int64_t>(128L)",
            within=FORWARD,
            without=NOT_FIRST,
        ),
        "idle thread": kernel("float tmp_acc0 = 0;", idle, within=FORWARD, without=NOT_FIRST),
        "gradient by x": kernel(".cos()", ".sin()", within=BACKWARD),
        "gradient by w": kernel(".sin()", ".cos()", within=BACKWARD),
        "first size kept": kernel(
            "x0<static_cast<int64_t>(ks0)", "x0<static_cast<int64_t>(131L)", within=DYNAMIC
        ),
        "caller in C++": _cell(breaking=REWRITE_CALLER, settings=DEEP),
        "triton": _cell(breaking=TRITON.format(folder=str(broken_triton(folder)))),
        "absent": tool(folder, "absent", folder / "no-compiler"),
        **{
            name: tool(folder, name, compiler(folder / f"c++-{name}", text))
            for name, text in COMPILERS.items()
        },
        **{
            name: _cell(breaking=killed(folder / name, text), settings=DEEP)
            for name, text in WORKERS.items()
        },
    }


def tool(folder: Path, name: str, path: Path) -> Cell:
    """Let the C++ compiler be another one; nothing that a working one compiled is at hand."""
    return _cell(
        breaking=OTHER_COMPILER.format(path=str(path)),
        settings={"TORCHINDUCTOR_CACHE_DIR": str(folder / "empty" / name)},
    )


def killed(site: Path, text: str) -> str:
    """Kill a process of the pool of workers, each at its start."""
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        (
            "import os, sys\nif any('compile_worker' in each for each in sys.orig_argv):\n"
            f"    {text}\n"
        ),
        encoding="utf-8",
    )
    return f"import sys\nsys.path.insert(0, {str(site)!r})"


def broken_triton(folder: Path) -> Path:
    """Make a Triton whose library does not load."""
    package = folder / "first" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise ImportError('libtriton.so: undefined symbol: _ZN4mlir')\n", encoding="utf-8"
    )
    return package.parent


def compiler(path: Path, text: str) -> Path:
    """Make a C++ compiler that is the usual one but for what is broken."""
    path.write_text(
        f"#!/bin/sh\n{text.replace('{folders}', ' '.join(without_omp(path.parent)))}\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def without_omp(folder: Path) -> list[str]:
    """Name the folders of headers that the usual compiler has.

    Where omp.h lies, a copy that lacks it.
    """
    said = subprocess.run(
        ["g++", "-E", "-v", "-x", "c++", os.devnull], capture_output=True, text=True, check=True
    ).stderr
    own = (
        said.partition("#include <...> search starts here:")[2]
        .partition("End of search list")[0]
        .split()
    )
    found = []
    for number, home in enumerate(map(Path, own)):
        copy = folder / f"include{number}" if (home / "omp.h").exists() else home
        if not copy.exists():
            shutil.copytree(home, copy, ignore=shutil.ignore_patterns("omp.h"))
        found += ["-isystem", str(copy)]
    return found


@pytest.fixture(scope="module")
def grid(
    request: pytest.FixtureRequest, torch_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Document]:
    """Return what the canary says of the healthy cell and of each that a chosen test asks for."""
    folder = tmp_path_factory.mktemp("grid")
    chosen = {"healthy"} | {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and hasattr(item, "callspec")
    }
    shared = {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "TMPDIR": str(folder),
    }
    settings = {**shared, "CANARY_DEVICES": "cpu", "OMP_NUM_THREADS": "2"}
    orders = {name: cell for name, cell in cells(folder).items() if name in chosen}
    return run_grid(torch_python, folder, orders, preload=PRELOAD, settings=settings)


def test_healthy_processor_passes_every_case(grid: dict[str, Document]) -> None:
    result = only_result(grid["healthy"])
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert not reasons(result, "skipped")
    assert result["data"]["warm_seconds"] < result["data"]["cold_seconds"]
    assert result["data"]["told"][0].startswith("cold ")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.dear if name in DEAR else ()) for name in EXPECTED],
)
def test_what_is_broken_is_named(grid: dict[str, Document], name: str) -> None:
    failed = reasons(only_result(grid[name]))
    assert set(failed) == set(EXPECTED[name]), failed
    for case, said in EXPECTED[name].items():
        assert said in failed[case]


def test_every_case_has_a_red_cell() -> None:
    assert {case for failed in EXPECTED.values() for case in failed} == set(
        read_check(CHECKS / SCRIPT).header.cases
    )
