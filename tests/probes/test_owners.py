"""Files have one owner where several packages list them, as NVIDIA's of two generations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.model.vocabulary import is_known
from doctor.observe.probes import files
from tests.hosts import facts_of, put, values
from tests.sites import install, requires, seen_at, site_of

CUDNN, NCCL = "nvidia/cudnn/lib/libcudnn.so.9", "nvidia/nccl/lib/libnccl.so.2"


def seen(prefix: Path) -> dict[str, object]:
    """Return what the probe finds."""
    facts = facts_of(files.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def twelve(prefix: Path) -> None:
    """Install what a torch for CUDA 12 brings."""
    install(
        prefix, "nvidia-cublas-cu12", "12.8", files={"nvidia/cublas/lib/libcublas.so.12": "blas 12"}
    )
    install(
        prefix,
        "nvidia-cudnn-cu12",
        "9.10",
        *requires("nvidia-cublas-cu12"),
        files={CUDNN: "cudnn for 12"},
    )
    install(prefix, "nvidia-nccl-cu12", "2.27", files={NCCL: "nccl for 12"})


def thirteen(prefix: Path) -> None:
    """Install what a torch for CUDA 13 brings; its NCCL has the size of the other."""
    install(prefix, "nvidia-cudnn-cu13", "9.20", files={CUDNN: "cudnn 9.20 for 13"})
    install(prefix, "nvidia-nccl-cu13", "2.29", files={NCCL: "nccl for 13"})


def torch(prefix: Path, *more: str) -> None:
    """Install a torch that asks for CUDA 13."""
    install(
        prefix,
        "torch",
        "2.13.0",
        *requires("nvidia-cudnn-cu13==9.20", "nvidia-nccl-cu13==2.29", *more),
    )


def test_after_an_upgrade_nothing_is_damaged(tmp_path: Path) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    found = seen(tmp_path)
    assert set(found) == {"files.overwritten", "cuda_packages.leftover", "cuda_packages.shared"}
    assert found["cuda_packages.leftover"] == [
        "nvidia-cublas-cu12",
        "nvidia-cudnn-cu12",
        "nvidia-nccl-cu12",
    ]
    # NCCL's files are of one size, yet uninstalling one package deletes the other's as well.
    assert found["cuda_packages.shared"] == ["nvidia-cudnn-cu13==9.20", "nvidia-nccl-cu13==2.29"]


def test_the_earlier_generation_over_the_later_one(tmp_path: Path) -> None:
    thirteen(tmp_path)
    twelve(tmp_path)
    torch(tmp_path)
    found = seen(tmp_path)
    assert "files.damaged" not in found
    assert found["cuda_packages.overwritten"] == ["nvidia-cudnn-cu13==9.20"]
    assert found["cuda_packages.overwriting"] == ["nvidia-cudnn-cu12==9.10"]
    assert found["cuda_packages.wanted_by"] == ["torch"]
    assert "cuda_packages.also_wanted_by" not in found
    assert found["cuda_packages.leftover"] == [
        "nvidia-cublas-cu12",
        "nvidia-cudnn-cu12",
        "nvidia-nccl-cu12",
    ]


@pytest.mark.parametrize("marker", ["", '; extra == "and-cuda"'])
def test_two_frameworks_that_need_two_generations(tmp_path: Path, marker: str) -> None:
    thirteen(tmp_path)
    twelve(tmp_path)
    torch(tmp_path)
    install(
        tmp_path,
        "tensorflow",
        "2.21",
        *requires(f"nvidia-cudnn-cu12{marker}", f"nvidia-cublas-cu12{marker}"),
    )
    found = seen(tmp_path)
    assert found["cuda_packages.overwritten"] == ["nvidia-cudnn-cu13==9.20"]
    assert found["cuda_packages.also_wanted_by"] == ["tensorflow"]
    assert "cuda_packages.leftover" not in found


def test_an_extra_that_nobody_chose_keeps_nothing(tmp_path: Path) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    marker = '; extra == "and-cuda"'
    install(
        tmp_path,
        "tensorflow",
        "2.21",
        *requires(f"nvidia-cudnn-cu12{marker}", f"nvidia-cuda-nvcc-cu12{marker}"),
    )
    assert "nvidia-cudnn-cu12" in str(seen(tmp_path)["cuda_packages.leftover"])


def test_the_other_framework_gets_the_wrong_files(tmp_path: Path) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    install(tmp_path, "jax-cuda12-plugin", "0.10", *requires("nvidia-cudnn-cu12"))
    found = seen(tmp_path)
    assert found["cuda_packages.overwritten"] == ["nvidia-cudnn-cu12==9.10"]
    assert (found["cuda_packages.wanted_by"], found["cuda_packages.also_wanted_by"]) == (
        ["jax-cuda12-plugin"],
        ["torch"],
    )


@pytest.mark.parametrize("how", ["needed", "named"])
def test_a_library_that_a_compiled_file_asks_for_is_no_leftover(
    tmp_path: Path, needs: Callable[[str], str], how: str
) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    site = site_of(tmp_path)
    blas = site / "nvidia/cublas/lib/libcublas.so.12"
    code = put(
        tmp_path / "code.c",
        'const char *later(void) { return "libcublas.so.12"; }'
        if how == "named"
        else "int nothing;",
    )
    flags = ["-shared", "-fPIC", "-Wl,--no-as-needed"]
    subprocess.run(
        [
            needs("gcc"),
            *flags,
            "-Wl,-soname,libcublas.so.12",
            "-x",
            "c",
            "/dev/null",
            "-o",
            str(blas),
        ],
        check=True,
    )
    file = put(site / "xformers/_C.so")
    linked = [str(blas)] if how == "needed" else []
    subprocess.run([needs("gcc"), *flags, str(code), *linked, "-o", str(file)], check=True)
    install(tmp_path, "xformers", "0.0.35", files={"xformers/_C.so": file.read_bytes()})
    install(
        tmp_path,
        "nvidia-cublas-cu12",
        "12.8",
        files={"nvidia/cublas/lib/libcublas.so.12": blas.read_bytes()},
    )
    assert seen(tmp_path)["cuda_packages.leftover"] == ["nvidia-cudnn-cu12", "nvidia-nccl-cu12"]


def test_what_torch_asks_for_and_does_not_find_says_its_generation(tmp_path: Path) -> None:
    twelve(tmp_path)
    torch(tmp_path)
    (site_of(tmp_path) / CUDNN).unlink()
    assert "files.missing" not in seen(tmp_path)


def test_a_cut_library_is_damaged_though_two_packages_list_it(tmp_path: Path) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    put(site_of(tmp_path) / CUDNN, "cut")
    found = seen(tmp_path)
    assert found["files.damaged_packages"] == ["nvidia-cudnn-cu13==9.20"]
    assert "files.overwritten" not in found


def test_shared_files_that_went_with_the_leftovers_are_missed_by_those_that_need_them(
    tmp_path: Path,
) -> None:
    twelve(tmp_path)
    thirteen(tmp_path)
    torch(tmp_path)
    (site_of(tmp_path) / CUDNN).unlink()
    assert seen(tmp_path)["files.missing_packages"] == ["nvidia-cudnn-cu13==9.20"]
    shutil.rmtree(site_of(tmp_path) / "nvidia_cudnn_cu13-9.20.dist-info")
    # Nothing asks for the package of CUDA 12: its missing file is no fault. What torch lacks,
    # requires.* tells.
    assert "files.missing_packages" not in seen(tmp_path)


def test_one_generation_that_nothing_asks_for_is_looked_at_as_ever(tmp_path: Path) -> None:
    twelve(tmp_path)
    put(site_of(tmp_path) / CUDNN, "cut")
    assert seen(tmp_path)["files.damaged_packages"] == ["nvidia-cudnn-cu12==9.10"]


def test_of_two_that_fit_by_size_the_hash_decides(tmp_path: Path) -> None:
    name = "onnxruntime/capi/onnxruntime_pybind11_state.so"
    install(tmp_path, "onnxruntime-gpu", "1.27", files={name: "with CUDA"})
    install(tmp_path, "onnxruntime", "1.27", files={name: "plain 1"})
    install(tmp_path, "onnxruntime-qnn", "1.27", files={name: "plain 2"})
    found = seen(tmp_path)
    assert found["files.overwritten_packages"] == ["onnxruntime-gpu==1.27"]
    assert found["files.overwriting_packages"] == ["onnxruntime-qnn==1.27"]
    assert "files.damaged" not in found


def test_a_library_that_torch_says_nothing_of_is_told_apart(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.13.0", files={"torch/lib/libtorch.so": "x"})
    install(
        tmp_path,
        "onnxruntime-gpu",
        "1.27",
        files={"onnxruntime/a.so": "x", "onnxruntime/b.py": "x"},
    )
    for name in ("torch/lib/libtorch.so", "onnxruntime/b.py"):
        (site_of(tmp_path) / name).unlink()
    assert "files.missing_apart" not in seen(tmp_path)
    (site_of(tmp_path) / "onnxruntime/a.so").unlink()
    assert seen(tmp_path)["files.missing_apart"] == ["onnxruntime-gpu==1.27"]
