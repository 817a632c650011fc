"""Real packages beside a torch that they were not built for, and beside one that they were."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from doctor.observe.binaries.elf import opened
from doctor.observe.binaries.fatbins import architectures
from tests.command import check

Clone = Callable[..., Path]

_KERNEL = (
    "__global__ void halve(float *x) { *x *= 0.5f; }\nvoid launch(float *x) { halve<<<1, "
    "1>>>(x); }\n"
)


def test_packages_for_another_torch_are_named_from_their_files_and_do_not_load(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone(
        "torch",
        "--no-deps",
        "torchvision==0.19.1",
        "pillow",
        "torchaudio==2.5.1",
        "xformers==0.0.28.post3",
    )
    wanted = {
        "torchvision/other-torch": "error",
        "torchaudio/other-torch": "error",
        "xformers/built-for-other-torch": "warning",
    }
    said = check("--python", python, "--no-canaries", cwd=tmp_path)
    assert {found["id"]: found["severity"] for found in said.report["findings"]} == wanted
    facts = {name: fact.get("value") for name, fact in said.report["facts"].items()}
    for package in ("torchvision", "torchaudio", "xformers"):
        assert facts[f"extension.{package}.missing_libraries"] == ["libcudart.so.12"]
    assert facts["extension.torchaudio.undefined_means"] == "cxx11-abi"
    assert said.finding("torchaudio/other-torch")["fixes"][0]["commands"][-1].endswith(
        "torchaudio==2.11.0 torch==2.13.0"
    )

    loaded = check("--python", python, "--only", "extension-imports", cwd=tmp_path)
    (outcome,) = loaded.outcomes("extension-imports")
    red = {
        name: case["reason"]
        for name, case in outcome["cases"].items()
        if case["verdict"] == "failed"
    }
    assert set(red) == {"torchvision", "torchaudio", "xformers"}
    # The loader stops at its first complaint; each of them must be among what the files told.
    assert (
        "undefined symbol: " + facts["extension.torchvision.undefined_symbols"][0]
        in red["torchvision"]
    )
    assert red["xformers"] == "_C.so: OSError: the loader does not find libcudart.so.12"
    assert {found["id"]: found["severity"] for found in loaded.report["findings"]} == wanted


def test_packages_for_this_torch_are_not_spoken_of_and_load(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.28.0", "pillow", "torchaudio==2.11.0")
    said = check("--python", python, "--only", "extension-imports", cwd=tmp_path)
    assert (said.code, said.report["findings"]) == (0, [])
    (outcome,) = said.outcomes("extension-imports")
    assert {name: case["verdict"] for name, case in outcome["cases"].items()} == dict.fromkeys(
        ("torchvision", "torchaudio", "triton"), "passed"
    )
    archs = said.report["facts"]["extension.torchvision.archs"]["value"]
    assert {"sm_75", "sm_90", "sm_120", "compute_120"} <= set(archs)
    assert said.report["facts"]["extension.torchvision.unsupported_gpus"]["state"] == "absent"


def test_a_gpu_that_no_file_has_code_for_is_told(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.28.0", "pillow")
    said = check("--python", python, "--no-canaries", "--assume", "gpu=sm_61", cwd=tmp_path)
    assert (
        said.finding("extension/torchvision")["title"]
        == "torchvision holds no code for a GPU of compute capability 6.1"
    )
    for gpu in ("sm_89", "sm_121"):
        fine = check("--python", python, "--no-canaries", "--assume", f"gpu={gpu}", cwd=tmp_path)
        assert not [
            found for found in fine.report["findings"] if found["id"].startswith("extension/")
        ], gpu


def test_what_nvcc_was_asked_for_is_what_is_read(toolkit: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "kernel.cu", tmp_path / "libkernel.so"
    source.write_text(_KERNEL, encoding="utf-8")
    targets = [
        "arch=compute_75,code=sm_75",
        "arch=compute_90a,code=sm_90a",
        "arch=compute_120,code=[sm_120,compute_120]",
    ]
    argv = [
        str(toolkit / "bin/nvcc"),
        "-shared",
        "-cudart=shared",
        "-Xcompiler",
        "-fPIC",
        *(f"-gencode={each}" for each in targets),
    ]
    subprocess.run(
        [*argv, str(source), "-o", str(library)], check=True, capture_output=True, timeout=120
    )
    with opened(library) as elf:
        assert architectures(elf) == {"sm_75", "sm_90", "sm_120", "compute_120"}
