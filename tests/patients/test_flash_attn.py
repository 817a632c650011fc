"""flash-attn as a user meets it.

What a build would cost, what stops it, and that nothing is left behind.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import alive, check, doctor
from tests.fingerprint import changes, fingerprint
from tests.flash_source import lay_out

_DEEP = ("--tier", "deep", "--only", "flash-attn-unit", "--assume", "gpu=sm_90")
_LATER = {
    "later.c": "int later(void) { return 0; }\n",
    "use.c": "int later(void);\nint use(void) { return later(); }\n",
}


@pytest.fixture(autouse=True)
def _compiler(needs: Callable[[str], str]) -> None:
    needs("g++")


def _place(tmp_path: Path) -> dict[str, str]:
    """Make a home folder and a temporary one, and return the settings that make doctor use them."""
    for name in "home", "temporary":
        (tmp_path / name).mkdir()
    return {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}


def test_a_unit_that_builds_tells_what_all_would_cost(
    nvcc_python: Path, toolkit: Path, tmp_path: Path
) -> None:
    env, source = _place(tmp_path), lay_out(tmp_path / "source")
    before = {folder: fingerprint(folder) for folder in (source, tmp_path / "home")}
    said = doctor(
        "check",
        "-p",
        nvcc_python,
        *_DEEP,
        "--flash-attn",
        source,
        cwd=tmp_path / "home",
        env={**env, "CUDA_HOME": str(toolkit)},
    )
    assert said.code == 0, said.out
    assert "the smallest of 3 files took" in said.out
    assert "FLASH_ATTN_CUDA_ARCHS=90" in said.out
    assert [changes(seen, fingerprint(folder)) for folder, seen in before.items()] == [[], []]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_compiler_that_hangs_costs_its_check_and_leaves_nothing(
    nvcc_python: Path, toolkit: Path, tmp_path: Path
) -> None:
    env, source = _place(tmp_path), lay_out(tmp_path / "source")
    compiler = tmp_path / "g++"
    compiler.write_text(
        f"#!/bin/sh\nsleep 600 &\necho $$ $! > {tmp_path}/pids\nwait\n", encoding="utf-8"
    )
    compiler.chmod(0o755)
    env |= {"CUDA_HOME": str(toolkit), "CXX": str(compiler)}
    said = check(
        "-p", nvcc_python, *_DEEP, "--flash-attn", source, "--timeout", "20", cwd=tmp_path, env=env
    )
    (outcome,) = said.outcomes("flash-attn-unit")
    assert (outcome["verdict"], outcome["cases"]["preflight"]["verdict"]) == (
        "timed_out",
        "timed_out",
    )
    assert not [
        pid for pid in (tmp_path / "pids").read_text(encoding="utf-8").split() if alive(int(pid))
    ]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_wheel_for_a_newer_c_library(torch_python: Path, tmp_path: Path) -> None:
    package, libc = tmp_path / "first" / "flash_attn", tmp_path / "libc.so.6"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import flash_attn_2_cuda\n", encoding="utf-8")
    for name, text in {**_LATER, "map": "GLIBC_2.99 { later; };\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    module = package.with_name("flash_attn_2_cuda" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    link = ["gcc", "-shared", "-fPIC", "-nostdlib"]
    for command in (
        [*link, "-Wl,-soname,libc.so.6", "-Wl,--version-script=map", "later.c", "-o", str(libc)],
        [*link, "use.c", str(libc), "-o", str(module)],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    found = package.parent
    said = check(
        "-p",
        torch_python,
        "--only",
        "flash-attn-build",
        cwd=tmp_path,
        env={"PYTHONPATH": str(found), "PATH": os.defpath},
    )
    told = said.finding("flash-attn/glibc-too-old")
    assert (said.code, told["severity"]) == (1, "error")
    assert "GLIBC_2.99' not found" in str(told["evidence"])
