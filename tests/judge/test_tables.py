"""The tables of the catalog: for each that judges, an environment that fits and one that does not.

For the others, what they want.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.base.bundled import bundled
from doctor.catalog.loading import load_folder
from doctor.facts.derive import derive
from doctor.fixes.attach import with_fixes
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.facts import present, value_of
from doctor.model.findings import Finding
from tests import toy

PIP: dict[str, Any] = {
    "package.torch.installer": "pip",
    "host.os": "linux",
    "host.machine": "x86_64",
    "python.has_pip": True,
}
CUDA: dict[str, Any] = {**PIP, "torch.build": "cuda", "host.jetson": None}
NVCC: dict[str, Any] = {"host.os": "linux", "host.machine": "x86_64", "cuda.selected": True}
MAC: dict[str, Any] = {
    **PIP,
    "host.os": "macos",
    "host.machine": "arm64",
    "python.executable": "/venv/bin/python",
}

JUDGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "compat.jax.oldest-jaxlib": (
        {"package.jax.version": "0.2.25", "package.jaxlib.version": "0.1.69"},
        {"package.jax.version": "0.2.26", "package.jaxlib.version": "0.1.69"},
    ),
    "compat.bitsandbytes.exact": (
        {
            **CUDA,
            "package.bitsandbytes.version": "0.49.2",
            "torch.version": "2.9.1+cu130",
            "torch.cuda_version": "13.0",
        },
        {
            **CUDA,
            "package.bitsandbytes.version": "0.47.0",
            "torch.version": "2.9.1+cu130",
            "torch.cuda_version": "13.0",
        },
    ),
    "compat.bitsandbytes.generation": (
        {
            **CUDA,
            "package.bitsandbytes.version": "0.50.2",
            "torch.version": "2.15.0+cu134",
            "torch.cuda_version": "13.4",
        },
        {
            **CUDA,
            "package.bitsandbytes.version": "0.50.2",
            "torch.version": "2.15.0+cu140",
            "torch.cuda_version": "14.0",
        },
    ),
    "compat.cuda-clang.clang": (
        {
            **NVCC,
            "cuda.version": "13.0",
            "compiler.cuda_host_kind": "clang",
            "compiler.cuda_host_major": "20",
        },
        {
            **NVCC,
            "cuda.version": "13.0",
            "compiler.cuda_host_kind": "clang",
            "compiler.cuda_host_major": "21",
        },
    ),
    "compat.cuda-driver.driver": (
        {**CUDA, "torch.cuda_version": "12.8", "nvidia.driver_version": "535.104.05"},
        {**CUDA, "torch.cuda_version": "13.2", "nvidia.driver_version": "535.104.05"},
    ),
    "compat.cuda-gcc.gcc": (
        {
            **NVCC,
            "cuda.version": "12.4",
            "compiler.cuda_host_kind": "gcc",
            "compiler.cuda_host_major": "13",
        },
        {
            **NVCC,
            "cuda.version": "12.4",
            "compiler.cuda_host_kind": "gcc",
            "compiler.cuda_host_major": "14",
        },
    ),
    "compat.deepspeed.toolkit": (
        {
            **CUDA,
            "cuda.selected": True,
            "package.deepspeed.version": "0.19.8",
            "torch.cuda_version": "12.8",
            "cuda.version": "12.4",
        },
        {
            **CUDA,
            "cuda.selected": True,
            "package.deepspeed.version": "0.19.8",
            "torch.cuda_version": "13.0",
            "cuda.version": "13.1",
        },
    ),
    "compat.flash-linear-attention.torch": (
        {**PIP, "package.flash-linear-attention.version": "0.6.0", "torch.version": "2.7.1"},
        {**PIP, "package.flash-linear-attention.version": "0.6.0", "torch.version": "2.6.0"},
    ),
    "compat.flashinfer.cubin": (
        {
            **PIP,
            "package.flashinfer-python.version": "0.6.12",
            "package.flashinfer-cubin.version": "0.6.12",
        },
        {
            **PIP,
            "package.flashinfer-python.version": "0.6.12",
            "package.flashinfer-cubin.version": "0.6.11.post3",
        },
    ),
    "compat.flashinfer.cubin-used": (
        {
            **PIP,
            "package.flashinfer-python.version": "0.7.2",
            "package.flashinfer-cubin.version": "0.7.2",
        },
        {
            **PIP,
            "package.flashinfer-python.version": "0.7.2.post1",
            "package.flashinfer-cubin.version": "0.7.2",
        },
    ),
    "compat.flashinfer.jit-cache": (
        {
            **PIP,
            "package.flashinfer-python.version": "0.6.12",
            "package.flashinfer-jit-cache.version": "0.6.12+cu130",
        },
        {
            **PIP,
            "package.flashinfer-python.version": "0.6.12",
            "package.flashinfer-jit-cache.version": "0.6.9+cu130",
        },
    ),
    "compat.jax-cuda12.cudnn": (
        {
            **CUDA,
            "package.jax-cuda12-plugin.version": "0.10.0",
            "package.nvidia-cudnn-cu12.version": "9.10.2.21",
        },
        {
            **CUDA,
            "package.jax-cuda12-plugin.version": "0.10.0",
            "package.nvidia-cudnn-cu12.version": "9.1.0.70",
        },
    ),
    "compat.jax-cuda12.driver": (
        {
            **CUDA,
            "package.jax-cuda12-plugin.version": "0.10.0",
            "nvidia.driver_version": "535.104.05",
        },
        {
            **CUDA,
            "package.jax-cuda12-plugin.version": "0.10.0",
            "nvidia.driver_version": "470.82.01",
        },
    ),
    "compat.jax-cuda13.cudnn": (
        {
            **CUDA,
            "package.jax-cuda13-plugin.version": "0.12.0",
            "package.nvidia-cudnn-cu13.version": "9.26.0.51",
        },
        {
            **CUDA,
            "package.jax-cuda13-plugin.version": "0.12.0",
            "package.nvidia-cudnn-cu13.version": "9.10.0.1",
        },
    ),
    "compat.jax-cuda13.driver": (
        {
            **CUDA,
            "package.jax-cuda13-plugin.version": "0.12.0",
            "package.jax.version": "0.12.0",
            "nvidia.driver_version": "580.65.06",
        },
        {
            **CUDA,
            "package.jax-cuda13-plugin.version": "0.12.0",
            "package.jax.version": "0.12.0",
            "nvidia.driver_version": "570.26",
        },
    ),
    "compat.jaxlib.cuda12": (
        {
            **PIP,
            "package.jaxlib.version": "0.9.0.1",
            "package.jax-cuda12-plugin.version": "0.9.0.1",
        },
        {**PIP, "package.jaxlib.version": "0.9.1", "package.jax-cuda12-plugin.version": "0.9.0.1"},
    ),
    "compat.jaxlib.cuda13": (
        {
            **PIP,
            "package.jaxlib.version": "0.12.0.1",
            "package.jax-cuda13-plugin.version": "0.12.0.1",
        },
        {
            **PIP,
            "package.jaxlib.version": "0.12.0.1",
            "package.jax-cuda13-plugin.version": "0.11.2",
        },
    ),
    "compat.onnxruntime-gpu.driver": (
        {
            **CUDA,
            "package.onnxruntime-gpu.version": "1.26.0",
            "nvidia.driver_version": "535.104.05",
        },
        {
            **CUDA,
            "package.onnxruntime-gpu.version": "1.31.1",
            "nvidia.driver_version": "535.104.05",
        },
    ),
    "compat.onnxruntime-gpu.named-cuda": (
        {**CUDA, "package.onnxruntime-gpu.version": "1.20.1", "text.cuda_version": "12.4"},
        {**CUDA, "package.onnxruntime-gpu.version": "1.20.1", "text.cuda_version": "11.8"},
    ),
    "compat.onnxruntime-gpu.named-cudnn": (
        {**CUDA, "package.onnxruntime-gpu.version": "1.20.1", "text.cudnn_generation": "9"},
        {**CUDA, "package.onnxruntime-gpu.version": "1.20.1", "text.cudnn_generation": "8"},
    ),
    "compat.tensorflow.named-cuda": (
        {**PIP, "package.tensorflow.version": "2.10.0", "text.cuda_version": "11.2"},
        {**PIP, "package.tensorflow.version": "2.10.0", "text.cuda_version": "12.1"},
    ),
    "compat.torch-macos.macos": (
        {**MAC, "torch.version": "2.15.0", "metal.macos": "15.6.1"},
        {**MAC, "torch.version": "2.9.1", "metal.macos": "13.7.4"},
    ),
    "compat.torch-python.python": (
        {**PIP, "torch.version": "2.15.0", "python.version": "3.15.1"},
        {**PIP, "torch.version": "2.8.0", "python.version": "3.14.0"},
    ),
    "compat.torchcodec.torch": (
        {**PIP, "package.torchcodec.version": "0.17.0", "torch.version": "2.15.0+cu132"},
        {**PIP, "package.torchcodec.version": "0.7.0", "torch.version": "2.7.1+cu128"},
    ),
    "compat.transformer-engine.flash-attn": (
        {
            **CUDA,
            "package.transformer-engine.version": "2.18.0",
            "package.flash-attn.version": "2.8.3",
        },
        {
            **CUDA,
            "package.transformer-engine.version": "2.18.0",
            "package.flash-attn.version": "2.8.3.post1",
        },
    ),
    "compat.transformers.torch": (
        {**PIP, "package.transformers.version": "5.23.0", "torch.version": "2.6.0"},
        {**PIP, "package.transformers.version": "5.23.0", "torch.version": "2.5.1"},
    ),
    "compat.vllm.glibc": (
        {**CUDA, "package.vllm.version": "0.20.0", "host.glibc": "2.35"},
        {**CUDA, "package.vllm.version": "0.20.0", "host.glibc": "2.31"},
    ),
    "compat.xfuser.flash-attn": (
        {**CUDA, "package.xfuser.version": "0.7.0", "package.flash-attn.version": "2.8.3"},
        {**CUDA, "package.xfuser.version": "0.7.0", "package.flash-attn.version": "2.5.8"},
    ),
    "compat.yunchang.flash-attn": (
        {**CUDA, "package.yunchang.version": "0.6.4", "package.flash-attn.version": "2.6.3"},
        {**CUDA, "package.yunchang.version": "0.6.4", "package.flash-attn.version": "2.5.8"},
    ),
}
WANTED = {
    "compat.causal-conv1d.torch.wanted": (
        {"package.causal-conv1d.version": "1.6.1"},
        "2.6, 2.7, 2.8, 2.9, 2.10",
    ),
    "compat.jax.jaxlib.wanted": ({"package.jax.version": "0.12.0"}, "0.11.2, 0.12.0"),
    "compat.mamba-ssm.triton.wanted": ({"package.mamba-ssm.version": "2.3.2.post1"}, ">=3.5.0"),
    "compat.sglang.torch.wanted": ({"package.sglang.version": "0.5.23"}, "2.14.1"),
    "compat.tensorflow.cudnn.wanted": ({"package.tensorflow.version": "2.19.0"}, "9.3.0.75"),
    "compat.torch.torchcodec.wanted": ({"torch.version": "2.9.1"}, "0.9.1"),
    "compat.vllm.torch.wanted": ({**CUDA, "package.vllm.version": "0.33.0"}, "2.14.0"),
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The tables that come with doctor, without its issues."""
    known = load_folder(bundled("matrices"))
    return Catalog(issues={}, tables=known.tables, digest="", newest_source="")


def judged(given: dict[str, Any], catalog: Catalog) -> tuple[Finding, ...]:
    seen = toy.seen(given)
    facts = derive(seen.facts, catalog)
    return with_fixes(diagnose(msgspec.structs.replace(seen, facts=facts), catalog).findings, facts)


def test_every_column_that_judges_is_held_against_an_environment(catalog: Catalog) -> None:
    columns = {
        f"compat.{name}.{column}"
        for name, table in catalog.tables.items()
        for column, told in table.columns.items()
        if told.judge
    }
    assert columns == set(JUDGED)


@pytest.mark.parametrize("column", JUDGED)
def test_what_fits_is_silent(column: str, catalog: Catalog) -> None:
    given, _ = JUDGED[column]
    assert value_of(derive(toy.seen(given).facts, catalog), column) == "fits"
    assert [found.id for found in judged(given, catalog)] == []


@pytest.mark.parametrize("column", JUDGED)
def test_what_does_not_fit_is_told_with_what_to_do(column: str, catalog: Catalog) -> None:
    _, given = JUDGED[column]
    told = {found.id: found for found in judged(given, catalog)}
    assert list(told) == [column.replace(".", "/")]
    (found,) = told.values()
    assert "?" not in found.title
    assert found.fixes


@pytest.mark.parametrize("wanted", WANTED)
def test_what_a_table_wants(wanted: str, catalog: Catalog) -> None:
    given, expected = WANTED[wanted]
    assert value_of(derive(toy.seen(given).facts, catalog), wanted) == expected


@pytest.mark.parametrize("build", ["rocm", "xpu", "cpu"])
@pytest.mark.parametrize("column", ["compat.bitsandbytes.exact", "compat.deepspeed.toolkit"])
def test_no_table_of_cuda_speaks_of_another_build(
    column: str, build: str, catalog: Catalog
) -> None:
    _, given = JUDGED[column]
    assert judged({**given, "torch.build": build}, catalog) == ()


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("compat.bitsandbytes.exact", {"env.BNB_CUDA_VERSION": "129"}),
        ("compat.deepspeed.toolkit", {"env.DS_SKIP_CUDA_CHECK": "1"}),
        ("compat.flashinfer.cubin", {"env.FLASHINFER_DISABLE_VERSION_CHECK": "1"}),
        ("compat.jax-cuda13.driver", {"nvidia.libcuda": "/usr/local/cuda/compat/libcuda.so.1"}),
        ("compat.onnxruntime-gpu.driver", {"host.jetson": "Jetson AGX Orin"}),
        ("compat.torch-macos.macos", {"host.machine": "x86_64"}),
    ],
)
def test_where_a_table_must_not_speak_it_does_not(
    column: str, changed: dict[str, Any], catalog: Catalog
) -> None:
    _, given = JUDGED[column]
    assert judged({**given, **changed}, catalog) == ()


def test_a_release_that_is_not_out_yet_is_beyond_and_no_finding(catalog: Catalog) -> None:
    given = {
        **CUDA,
        "torch.version": "2.99.0+cu130",
        "torch.cuda_version": "13.0",
        "package.torchvision.version": "0.99.0",
    }
    facts = derive(toy.seen(given).facts, catalog)
    assert {
        value_of(facts, f"compat.{name}.beyond")["here"]
        for name in ("torch", "torch-archs", "torch-python")
    } == {"2.99.0"}
    assert (
        value_of(facts, "compat.torchvision.beyond")["ends"]
        == catalog.tables["torchvision"].newest.release  # type: ignore[union-attr]
    )
    assert judged(given, catalog) == ()


def test_what_is_wanted_with_each_torch_fits_the_tables_of_the_other_packages(
    catalog: Catalog,
) -> None:
    names = {
        "torchvision": "requires.torchvision.torch.met",
        "torchaudio": "requires.torchaudio.torch.met",
        "torchcodec": "compat.torchcodec.torch",
    }
    verdicts: dict[tuple[str, str], Any] = {}
    for row in catalog.tables["torch"].rows:
        given = {
            **PIP,
            "torch.version": row["torch"],
            **{f"package.{name}.version": row[name] for name in names if name in row},
        }
        facts = derive(toy.seen(given).facts, catalog)
        verdicts |= {(row["torch"], name): value_of(facts, fact) for name, fact in names.items()}
    old = {pair for pair, verdict in verdicts.items() if verdict is None}
    assert set(verdicts.values()) == {"fits", True, None}
    assert {torch for torch, name in old if name != "torchcodec"} == {"1.13.0", "1.13.1", "2.15.0"}


@pytest.mark.parametrize(
    ("release", "capability", "driver", "tag"),
    [
        ("2.13.0", "12.0", "570.133.07", "cu129"),  # RTX 5090 under a driver for CUDA 12
        ("2.15.0", "7.0", "580.95.05", "cu126"),  # V100: the builds for CUDA 13 dropped it
        ("2.15.0", "6.1", "580.95.05", "cu126"),
        ("2.15.0", "9.0", "595.71.05", "cu134"),
    ],
)
def test_the_build_of_torch_that_driver_and_gpu_want(
    release: str, capability: str, driver: str, tag: str, catalog: Catalog
) -> None:
    """The rows of CUDA 12.6 and 12.9 count beside those of the default builds."""
    given = {
        "torch.release": release,
        "host.machine": "x86_64",
        "nvidia.driver_version": driver,
        "nvidia.visible": [{"index": 0, "name": "NVIDIA", "capability": capability}],
    }
    facts = {name: present(value, "t") for name, value in given.items()}
    assert value_of(derive(facts, catalog), "torch.wanted_tag") == tag
