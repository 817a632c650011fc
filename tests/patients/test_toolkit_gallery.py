"""A whole toolkit with one file removed.

Each file that a build opens is missed before the build starts, and no other.
"""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.observe.installed.distributions import installed
from doctor.observe.probes import toolkit as toolkit_probe
from doctor.observe.scene import ProbeInput
from doctor.observe.targets import describe
from tests.checks.trial import only_result, run_check
from tests.command import check
from tests.environments import site_packages
from tests.hosts import facts_of
from tests.toolkit import assemble

_SOURCE = """\
#include <cuda_runtime.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void halve(float *values) { values[threadIdx.x] *= 0.5f; }
"""
_TOOLS = (
    "bin/nvcc.profile",
    "bin/ptxas",
    "bin/cudafe++",
    "bin/fatbinary",
    "nvvm/bin/cicc",
    "include/fatbinary_section.h",
)
_OF_THE_HOST_STUB = (
    "include/crt/host_runtime.h",
    "include/crt/storage_class.h",
    "include/crt/func_macro.h",
)
_HARMLESS = (
    *(
        "include/cuda_fp4.h",
        "include/cuda_fp6.h",
        "include/cuda_fp8.h",
        "include/nv/target",
        "include/nvtx3/nvToolsExt.h",
    ),
    *(
        "nvvm/libdevice/libdevice.10.bc",
        "lib64/libcudart_static.a",
        "bin/bin2c",
        "bin/crt/prelink.stub",
    ),
)


@pytest.fixture
def own_toolkit(nvcc_python: Path, tmp_path: Path) -> Path:
    """Return a toolkit to be broken."""
    return assemble(nvcc_python, tmp_path / "cuda")


def _opened(toolkit: Path, python: Path, folder: Path) -> set[str]:
    """Return what nvcc says that it reads of the toolkit, CUDA's C++ library apart.

    That has 434 files of its own.
    """
    (folder / "all.cu").write_text(_SOURCE, encoding="utf-8")
    torch = site_packages(python) / "torch" / "include"
    command = [
        toolkit / "bin/nvcc",
        "-M",
        "-std=c++20",
        f"-I{torch}",
        f"-I{toolkit / 'include'}",
        "all.cu",
    ]
    told = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    found = {
        path.partition("/include/")[2]
        for path in re.findall(rf"{re.escape(str(toolkit))}/\S+", told)
    }
    return {f"include/{name}" for name in found if name and not name.startswith("cccl/")}


def _owners(python: Path) -> dict[str, str]:
    """Return which package brought each file of CUDA, as pip wrote it down."""
    owners = {}
    for record in site_packages(python).glob("nvidia_*.dist-info/RECORD"):
        name = record.parent.name.partition("-")[0].replace("_", "-")
        with record.open(encoding="utf-8", newline="") as file:
            owners.update({row[0].removeprefix("nvidia/cu13/"): name for row in csv.reader(file)})
    return owners


@pytest.fixture
def missed(nvcc_python: Path, own_toolkit: Path) -> Callable[[str], tuple[object, object]]:
    """Return a function that takes a file away, looks at the toolkit, and puts the file back."""
    host = Host(env={"CUDA_HOME": str(own_toolkit), "PATH": "/usr/bin:/bin"})
    scene = ProbeInput(
        host=host,
        interpreter=describe(host, nvcc_python),
        distributions=installed(describe(host, nvcc_python).path),
    )

    def without(name: str) -> tuple[object, object]:
        away = (own_toolkit / name).with_name("away")
        (own_toolkit / name).rename(away)
        facts = facts_of(toolkit_probe.probe(scene))
        away.rename(own_toolkit / name)
        return facts["cuda.missing"].value, facts["cuda.missing_owners"].value

    return without


def test_every_file_that_a_build_opens_is_missed_with_its_owner(
    own_toolkit: Path,
    nvcc_python: Path,
    missed: Callable[[str], tuple[object, object]],
    tmp_path: Path,
) -> None:
    owners = _owners(nvcc_python)
    matters = sorted(
        {*_opened(own_toolkit, nvcc_python, tmp_path), *_TOOLS, *_OF_THE_HOST_STUB} - set(_HARMLESS)
    )
    matters = [name for name in matters if not name.startswith("include/nv/")]
    assert len(matters) > 70
    assert {name: missed(name) for name in matters} == {
        name: ([name], [owners[name]]) for name in matters
    }


def test_the_device_runtime_is_missed_by_nvcc_as_a_linker_and_told_with_its_package(
    own_toolkit: Path,
    nvcc_python: Path,
    missed: Callable[[str], tuple[object, object]],
    tmp_path: Path,
) -> None:
    (tmp_path / "one.cu").write_text(
        "__global__ void one() {}\nint main() { return 0; }\n", encoding="utf-8"
    )
    link = [str(own_toolkit / "bin/nvcc"), "one.cu", "-o", "one"]
    assert subprocess.run(link, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    owner = _owners(nvcc_python)["lib/libcudadevrt.a"]
    assert missed("lib64/libcudadevrt.a") == (["lib64/libcudadevrt.a"], [owner])
    (own_toolkit / "lib64/libcudadevrt.a").unlink()
    ended = subprocess.run(link, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode
    assert "cudadevrt" in ended.stderr
    (tmp_path / "link.log").write_text(ended.stderr, encoding="utf-8")
    said = check(
        "--python",
        nvcc_python,
        "--no-canaries",
        "--log",
        "link.log",
        cwd=tmp_path,
        env={"CUDA_HOME": str(own_toolkit)},
    )
    told = str(said.finding("cuda/toolkit-incomplete")["evidence"])
    assert "lib64/libcudadevrt.a" in told
    assert owner in told


def test_files_that_no_build_opens_are_not_missed(
    own_toolkit: Path,
    nvcc_python: Path,
    missed: Callable[[str], tuple[object, object]],
    tmp_path: Path,
) -> None:
    there = [name for name in _HARMLESS if (own_toolkit / name).exists()]
    assert len(there) > 6
    assert {name: missed(name) for name in there} == dict.fromkeys(there, (None, None))
    for name in there:
        (own_toolkit / name).unlink()
    result = only_result(
        run_check(
            nvcc_python, "canaries/flash_attn_build.py", tmp_path, CANARY_TOOLKIT=str(own_toolkit)
        )
    )
    assert (result["verdict"], result["reason"]) == ("passed", "")


def test_a_missing_file_is_told_before_anything_is_built(
    own_toolkit: Path, nvcc_python: Path, tmp_path: Path
) -> None:
    (own_toolkit / "include/crt/sm_70_rt.hpp").unlink()
    said = check(
        "--python", nvcc_python, "--no-canaries", cwd=tmp_path, env={"CUDA_HOME": str(own_toolkit)}
    )
    found = said.finding("cuda/toolkit-incomplete")
    told = str(found["evidence"])
    assert "include/crt/sm_70_rt.hpp" in told
    assert "nvidia-cuda-crt" in told
