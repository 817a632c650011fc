"""A toolkit without one part fails in the case that needs it, with the tool's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.environments import site_packages

SCRIPT = "canaries/flash_attn_build.py"


@contextmanager
def without(part: Path) -> Iterator[None]:
    """Take a file away, and put it back."""
    away = part.with_name(part.name + ".away")
    part.rename(away)
    try:
        yield
    finally:
        away.rename(part)


@pytest.fixture
def build(nvcc_python: Path, toolkit: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that runs the canary on the assembled toolkit."""

    def run(**settings: str) -> dict[str, Any]:
        return only_result(
            run_check(nvcc_python, SCRIPT, tmp_path, CANARY_TOOLKIT=str(toolkit), **settings)
        )

    return run


def test_no_toolkit_is_a_skip(bare_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(bare_python, SCRIPT, tmp_path, PATH="/nonexistent"))
    if Path("/usr/local/cuda/bin/nvcc").exists():
        pytest.skip("there is a toolkit where torch looks")
    assert result["verdict"] == "skipped"
    assert (
        result["reason"] == "toolkit: no CUDA toolkit (nvcc) on this machine or in this environment"
    )


def test_toolkit_without_nvcc_fails(bare_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(bare_python, SCRIPT, tmp_path, CUDA_HOME="/nonexistent"))
    assert result["reason"] == "toolkit: CUDA_HOME=/nonexistent holds no bin/nvcc"


def test_complete_toolkit_passes(build: Callable[..., dict[str, Any]]) -> None:
    result = build()
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert list(result["cases"]) == [
        "toolkit",
        "host-compiler",
        "torch-headers",
        "kernel-compile",
        "kernel-link",
    ]
    assert not reasons(result, "skipped")
    assert result["data"]["nvcc_version"].startswith("release 13.0")


@pytest.mark.parametrize(
    ("part", "case", "said"),
    [
        (
            "include/crt/host_config.h",
            "kernel-compile",
            "fatal error: crt/host_config.h: No such file or directory",
        ),
        (
            "include/cusparse.h",
            "torch-headers",
            "fatal error: cusparse.h: No such file or directory",
        ),
        ("nvvm/bin/cicc", "kernel-compile", "cicc: not found"),
    ],
)
def test_missing_part_is_named(
    build: Callable[..., dict[str, Any]], toolkit: Path, part: str, case: str, said: str
) -> None:
    with without(toolkit / part):
        assert said in reasons(build())[case]


def test_layout_of_pip_compiles_and_does_not_link(nvcc_python: Path, tmp_path: Path) -> None:
    root = site_packages(nvcc_python) / "nvidia" / "cu13"
    result = only_result(run_check(nvcc_python, SCRIPT, tmp_path, CUDA_HOME=str(root)))
    assert set(reasons(result)) == {"kernel-link"}
    assert "cannot find -lcudart" in result["reason"]


def test_compiler_that_is_too_new_is_the_host_compiler(
    build: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    for name in "gcc", "g++":
        wrapper = tmp_path / name
        wrapper.write_text(
            f'#!/bin/sh\nexec /usr/bin/{name} -U__GNUC__ -D__GNUC__=99 "$@"\n', encoding="utf-8"
        )
        wrapper.chmod(0o755)
    result = build(PATH=f"{tmp_path}:/usr/bin:/bin")
    assert set(reasons(result)) == {"host-compiler"}
    assert "unsupported GNU version" in result["reason"]


@pytest.mark.parametrize(
    ("act", "case", "said"),
    [
        ("exit 3", "host-compiler", "g++ ended with 3"),
        ("kill -SEGV $$", "host-compiler", "g++ died of SIGSEGV"),
        (
            (
                'case "$*" in *-shared*) echo "ld: final link failed"; exit 1;; esac; exec '
                '/usr/bin/g++ "$@"'
            ),
            "kernel-link",
            "final link failed",
        ),
    ],
)
def test_a_host_compiler_that_fails_or_crashes(
    build: Callable[..., dict[str, Any]], tmp_path: Path, act: str, case: str, said: str
) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text(f"#!/bin/sh\n{act}\n", encoding="utf-8")
    compiler.chmod(0o755)
    assert said in reasons(build(CXX=str(compiler)))[case]


def test_a_part_of_nvcc_that_crashes(build: Callable[..., dict[str, Any]], toolkit: Path) -> None:
    part = toolkit / "nvvm/bin/cicc"
    with without(part):
        part.write_text("#!/bin/sh\nkill -SEGV $$\n", encoding="utf-8")
        part.chmod(0o755)
        said = reasons(build())["kernel-compile"]
        part.unlink()
    assert "Segmentation fault" in said or "died due to signal 11" in said


def test_flash_attn_that_does_not_import_fails(torch_python: Path, tmp_path: Path) -> None:
    package = tmp_path / "first" / "flash_attn"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise ImportError('flash_attn_2_cuda.so: undefined symbol: _ZN3c10')\n", encoding="utf-8"
    )
    result = only_result(
        run_check(
            torch_python, SCRIPT, tmp_path, PATH="/usr/bin:/bin", PYTHONPATH=str(package.parent)
        )
    )
    assert reasons(result) == {
        "flash-attn-import": "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c10"
    }
