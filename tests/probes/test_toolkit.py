"""CUDA toolkits: which one a build would take, its version, what it lacks, and who owns that."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.installed.distributions import installed
from doctor.observe.probes import toolkit as toolkit_probe
from doctor.observe.scene import ProbeInput
from doctor.observe.targets import describe
from tests.hosts import (
    BABBLE,
    HANG,
    distributions,
    facts_of,
    made_host,
    put,
    python_at,
    script,
    values,
)

_CONTEXT = (
    "#include <cuda_runtime_api.h>\n#include <cusparse.h>\n#include <cublas_v2.h>\n#include "
    "<cudss.h>\n#include <map>\n"
)
_LIMITS = "#if __GNUC__ > 13\n#error\n#if (__clang_major__ >= 18) || (__clang_major__ < 3)\n"
_TOOLS = ("ptxas", "cudafe++", "fatbinary", "nvlink", "nvcc.profile", "crt/link.stub")
_HEADERS = """
cuda_runtime.h cuda_runtime_api.h builtin_types.h driver_types.h library_types.h vector_types.h
fatbinary_section.h
crt/host_defines.h crt/host_runtime.h crt/storage_class.h crt/func_macro.h crt/common_functions.h
crt/device_functions.h
crt/math_functions.h cuda_fp16.h cuda_bf16.h cuComplex.h cuda/std/version thrust/complex.h
cub/config.cuh cusparse.h cublas_v2.h
cublas_api.h
"""


def make(
    root: Path,
    *,
    version: str = "12.4",
    nvcc: str = "exit 1",
    libraries: Sequence[str] = ("lib64/libcudart.so",),
) -> Path:
    """Make a toolkit that lacks nothing."""
    major, minor = version.split(".")
    script(root / "bin/nvcc", nvcc)
    libraries = (*libraries, f"{Path(libraries[0]).parent}/libcudadevrt.a")
    for name in (
        *(f"bin/{name}" for name in _TOOLS),
        "nvvm/bin/cicc",
        *(f"include/{name}" for name in _HEADERS.split()),
        *libraries,
    ):
        put(root / name)
    put(root / "include/cuda.h", f"#define CUDA_VERSION {int(major) * 1000 + int(minor) * 10}\n")
    put(root / "include/crt/host_config.h", _LIMITS)
    return root


def seen(
    host: Host, prefix: Path | None = None, packages: Sequence[str] = (), *, patience: float = 2.0
) -> dict[str, Fact]:
    """Run the probe, for an interpreter in `prefix` if one is given."""
    python = python_at(prefix) if prefix else None
    held = distributions(python, packages) if python else ()
    return facts_of(
        toolkit_probe.probe(
            ProbeInput(host=host, interpreter=python, distributions=held), patience=patience
        )
    )


def torch_in(prefix: Path) -> Path:
    """Put the headers of torch that include CUDA's into an environment, and return it."""
    put(
        Path(python_at(prefix).site_packages[0], "torch/include/ATen/cuda/CUDAContextLight.h"),
        _CONTEXT,
    )
    return prefix


def test_no_toolkit(tmp_path: Path) -> None:
    facts = seen(made_host(tmp_path), tmp_path / "root/env")
    assert values(facts) == {"cuda.cudnn_header": False}
    assert {
        facts[f"cuda.{name}"].state for name in ("home", "version", "missing", "home_broken")
    } == {State.ABSENT}
    assert [name for name in facts if not is_known(name)] == []


def test_a_complete_toolkit_lacks_nothing(tmp_path: Path) -> None:
    host = made_host(tmp_path, env={"CUDA_HOME": "/opt/cuda-12"})
    make(
        tmp_path / "root/opt/cuda-12", nvcc="echo 'Cuda compilation tools, release 12.4, V12.4.131'"
    )
    facts = seen(host, torch_in(tmp_path / "root/env"))
    assert values(facts) | {"cuda.toolkits": 0, "cuda.nvcc": 0} == {
        "cuda.toolkits": 0,
        "cuda.nvcc": 0,
        "cuda.home": "/opt/cuda-12",
        "cuda.home_origin": "CUDA_HOME",
        "cuda.selected": True,
        "cuda.packaging": "nvidia",
        "cuda.version": "12.4",
        "cuda.headers_version": "12.4",
        "cuda.nvcc_version": "12.4.131",
        "cuda.lib_dir": "/opt/cuda-12/lib64",
        "cuda.gcc_max": 13,
        "cuda.clang_max": 17,
        "cuda.cudnn_header": False,
    }
    assert [name for name in facts if not is_known(name)] == []


def test_the_order_is_torchs(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("a", "b", "c", "usr/local/cuda", "usr/local/cuda-12.10", "usr/local/cuda-12.9"):
        make(root / name)
    env = {"CUDA_HOME": "/a", "CUDA_PATH": "/b", "PATH": str(root / "c/bin")}
    origins = [
        ("/a", "CUDA_HOME"),
        ("/b", "CUDA_PATH"),
        (str(root / "c"), "PATH"),
        ("/usr/local/cuda", "/usr/local/cuda"),
    ]
    origins += [("/usr/local/cuda-12.10", "folder"), ("/usr/local/cuda-12.9", "folder")]
    for first in range(4):
        kept = dict(list(env.items())[first:])
        facts = seen(made_host(tmp_path, env={"PATH": "/none", **kept}))
        assert [(kit["root"], kit["origin"]) for kit in facts["cuda.toolkits"].value] == origins[
            first:
        ]
        assert (facts["cuda.home"].value, facts["cuda.selected"].value) == (origins[first][0], True)


def test_what_only_lies_there_is_not_selected(tmp_path: Path) -> None:
    make(tmp_path / "root/opt/cuda")
    facts = seen(made_host(tmp_path))
    assert (
        facts["cuda.home"].value,
        facts["cuda.selected"].value,
        facts["cuda.home_origin"].value,
    ) == ("/opt/cuda", False, "folder")


def test_one_toolkit_by_two_names_is_one(tmp_path: Path) -> None:
    make(tmp_path / "root/usr/local/cuda-12.4")
    (tmp_path / "root/usr/local/cuda").symlink_to("cuda-12.4")
    assert [kit["root"] for kit in seen(made_host(tmp_path))["cuda.toolkits"].value] == [
        "/usr/local/cuda"
    ]


@pytest.mark.parametrize("value", ["/nowhere", ":/usr/local/cuda", "/empty"])
def test_a_broken_cuda_home_is_named_and_the_next_one_only_lies_there(
    tmp_path: Path, value: str
) -> None:
    make(tmp_path / "root/usr/local/cuda")
    put(tmp_path / "root/empty/include/cuda.h")
    facts = seen(made_host(tmp_path, env={"CUDA_HOME": value}))
    assert facts["cuda.home_broken"].value == value
    assert (facts["cuda.home"].value, facts["cuda.selected"].value) == ("/usr/local/cuda", False)


@pytest.mark.parametrize(
    ("gone", "owner"),
    [
        ("bin/ptxas", "nvidia-cuda-nvcc"),
        ("bin/crt/link.stub", "nvidia-cuda-nvcc"),
        ("bin/nvcc.profile", "nvidia-cuda-nvcc"),
        ("nvvm/bin/cicc", "nvidia-nvvm"),
        ("lib64/libcudadevrt.a", "nvidia-cuda-runtime"),
        ("include/crt/host_config.h", "nvidia-cuda-crt"),
        ("include/cuda_runtime.h", "nvidia-cuda-runtime"),
        ("include/cusparse.h", "nvidia-cusparse"),
        ("include/cublas_api.h", "nvidia-cublas"),
        ("include/thrust/complex.h", "nvidia-cuda-cccl"),
    ],
)
def test_a_missing_file_and_its_owner(tmp_path: Path, gone: str, owner: str) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    (root / gone).unlink()
    facts = seen(made_host(tmp_path), torch_in(tmp_path / "root/env"))
    assert (facts["cuda.missing"].value, facts["cuda.missing_owners"].value) == ([gone], [owner])
    assert facts["cuda.missing_requirements"].state is State.ABSENT


def test_a_library_where_the_linker_looks_is_not_missing(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    (root / "lib64/libcudadevrt.a").unlink()
    put(tmp_path / "root/usr/lib/x86_64-linux-gnu/libcudadevrt.a")
    assert seen(made_host(tmp_path))["cuda.missing"].state is State.ABSENT


def test_without_torch_its_headers_are_not_asked_for(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    (root / "include/cusparse.h").unlink()
    shutil.rmtree(root / "include/thrust")
    assert seen(made_host(tmp_path))["cuda.missing"].state is State.ABSENT


def test_cuda_13_keeps_cccl_apart(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda", version="13.0")
    for name in ("cuda", "thrust", "cub"):
        (root / "include/cccl").mkdir(exist_ok=True)
        (root / "include" / name).rename(root / "include/cccl" / name)
    assert (
        seen(made_host(tmp_path), torch_in(tmp_path / "root/env"))["cuda.missing"].state
        is State.ABSENT
    )
    shutil.rmtree(root / "include/cccl/cuda")
    facts = seen(made_host(tmp_path), torch_in(tmp_path / "root/env"))
    assert facts["cuda.missing"].value == ["include/cccl/cuda/std/version"]


def test_headers_on_cpath_are_not_missing(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    (tmp_path / "root/more").mkdir()
    (root / "include/cusparse.h").rename(tmp_path / "root/more/cusparse.h")
    assert (
        seen(made_host(tmp_path, env={"CPATH": "/more"}), torch_in(tmp_path / "root/env"))[
            "cuda.missing"
        ].state
        is State.ABSENT
    )


def test_the_repositorys_packages_are_named_on_a_machine_with_apt(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    (root / "include/cusparse.h").unlink()
    (root / "include/cuda_runtime.h").unlink()
    facts = seen(made_host(tmp_path, tools={"apt-get": ":"}), torch_in(tmp_path / "root/env"))
    assert facts["cuda.missing_system_packages"].value == [
        "cuda-cudart-dev-12-4",
        "libcusparse-dev-12-4",
    ]
    (tmp_path / "root/tools/apt-get").rename(tmp_path / "root/tools/dnf")
    facts = seen(made_host(tmp_path), torch_in(tmp_path / "root/env"))
    assert facts["cuda.missing_system_packages"].value == [
        "cuda-cudart-devel-12-4",
        "libcusparse-devel-12-4",
    ]


def _pip(tmp_path: Path, version: str = "13.0") -> tuple[Path, Path]:
    prefix = torch_in(tmp_path / "root/env")
    root = Path(python_at(prefix).site_packages[0], "nvidia/cu13")
    return prefix, make(root, version=version, libraries=("lib/libcudart.so.13",))


def test_pips_toolkit_cannot_be_linked_against(tmp_path: Path) -> None:
    prefix, root = _pip(tmp_path)
    facts = seen(made_host(tmp_path), prefix, ["nvidia-cuda-nvcc==13.0.88"])
    assert (
        facts["cuda.home"].value,
        facts["cuda.selected"].value,
        facts["cuda.packaging"].value,
    ) == (str(root), False, "pip")
    assert facts["cuda.unlinkable"].value == ["libcudart.so"]
    assert facts["cuda.link_source"].value == [f"{root}/lib/libcudart.so.13"]
    assert facts["cuda.lib_dir"].value == f"{root}/lib"
    # nvcc of this toolkit ends in an error: the file next to it is what told.
    assert facts["cuda.nvcc_version"].value == "13.0.88"
    assert facts["cuda.missing"].state is State.ABSENT


def test_library_path_heals_the_link(tmp_path: Path) -> None:
    prefix, _ = _pip(tmp_path)
    put(tmp_path / "root/lp/libcudart.so")
    facts = seen(made_host(tmp_path, env={"LIBRARY_PATH": "/lp"}), prefix)
    assert {facts["cuda.unlinkable"].state, facts["cuda.link_source"].state} == {State.ABSENT}


def test_a_link_that_leads_nowhere_does_not_count(tmp_path: Path) -> None:
    prefix, root = _pip(tmp_path)
    (root / "lib/libcudart.so").symlink_to("libcudart.so.12")
    assert seen(made_host(tmp_path), prefix)["cuda.unlinkable"].value == ["libcudart.so"]


def test_what_brings_pips_files_back(tmp_path: Path) -> None:
    prefix, root = _pip(tmp_path)
    for gone in ("include/cusparse.h", "nvvm/bin/cicc", "include/crt/host_config.h"):
        (root / gone).unlink()
    facts = seen(
        made_host(tmp_path),
        prefix,
        ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cusparse==12.6.3.3"],
    )
    wanted = ["nvidia-cuda-crt==13.0.*", "nvidia-cusparse==12.6.3.3", "nvidia-nvvm==13.0.88"]
    assert sorted(facts["cuda.missing_requirements"].value) == wanted


def test_pips_toolkit_without_its_nvcc_is_still_one(tmp_path: Path) -> None:
    prefix, root = _pip(tmp_path)
    (root / "bin/nvcc").unlink()
    assert seen(made_host(tmp_path), prefix)["cuda.home"].state is State.ABSENT
    facts = seen(made_host(tmp_path), prefix, ["nvidia-cuda-nvcc==13.0.88"])
    assert facts["cuda.missing"].value == ["bin/nvcc"]
    assert facts["cuda.nvcc"].state is State.ABSENT


def test_nvcc_and_headers_of_two_releases(tmp_path: Path) -> None:
    prefix, _ = _pip(tmp_path)
    facts = seen(made_host(tmp_path), prefix, ["nvidia-cuda-nvcc==13.5.37"])
    assert (facts["cuda.version"].value, facts["cuda.headers_version"].value) == ("13.5", "13.0")


def test_a_conda_environment_brings_its_own(tmp_path: Path) -> None:
    prefix = make(tmp_path / "root/conda", libraries=("lib/libcudart.so",))
    include = prefix / "targets/x86_64-linux/include"
    include.parent.mkdir(parents=True)
    (prefix / "include").rename(include)
    (include / "crt/func_macro.h").unlink()
    put(prefix / "conda-meta/cuda-nvcc-tools-12.4.131-h02f8991_0.json")
    facts = seen(made_host(tmp_path), prefix)
    assert (facts["cuda.home"].value, facts["cuda.packaging"].value) == (str(prefix), "conda")
    assert (facts["cuda.nvcc_version"].value, facts["cuda.version"].value) == ("12.4.131", "12.4")
    assert facts["cuda.missing"].value == ["include/crt/func_macro.h"]
    assert facts["cuda.missing_system_packages"].value == ["cuda-crt"]


def test_a_distributions_toolkit_lies_in_usr(tmp_path: Path) -> None:
    usr = make(
        tmp_path / "root/usr", libraries=("lib/x86_64-linux-gnu/libcudart.so",), version="11.8"
    )
    real = usr / "lib/nvidia-cuda-toolkit"
    real.mkdir()
    (usr / "bin").rename(real / "bin")
    (usr / "nvvm/bin/cicc").rename(real / "bin/cicc")
    script(usr / "bin/nvcc", "exit 1")
    facts = seen(made_host(tmp_path, env={"PATH": str(usr / "bin")}))
    assert facts["cuda.missing"].state is State.ABSENT
    (real / "bin/cicc").unlink()
    assert seen(made_host(tmp_path, env={"PATH": str(usr / "bin")}))["cuda.missing"].value == [
        "nvvm/bin/cicc"
    ]


def test_behind_a_wrapper_tools_are_not_judged(tmp_path: Path) -> None:
    script(tmp_path / "root/w/bin/nvcc", "exec /elsewhere/nvcc")
    missing = seen(made_host(tmp_path, env={"PATH": str(tmp_path / "root/w/bin")}))[
        "cuda.missing"
    ].value
    assert "include/cuda_runtime.h" in missing
    assert [name for name in missing if name.startswith(("bin", "nvvm"))] == []


def test_a_link_to_nvcc_alone_is_no_toolkit(tmp_path: Path) -> None:
    # nvcc looks for its parts beside the name it was called by, not beside the file behind it.
    put(tmp_path / "real/bin/nvcc", b"\x7fELF").chmod(0o755)
    put(tmp_path / "real/bin/ptxas")
    (tmp_path / "root/l/bin").mkdir(parents=True)
    (tmp_path / "root/l/bin/nvcc").symlink_to(tmp_path / "real/bin/nvcc")
    assert (
        "bin/ptxas"
        in seen(made_host(tmp_path, env={"PATH": str(tmp_path / "root/l/bin")}))[
            "cuda.missing"
        ].value
    )


def test_version_json_tells_without_nvcc(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    put(
        root / "version.json",
        '{"cuda": {"version": "12.6.3"}, "cuda_nvcc": {"version": "12.6.85"}}',
    )
    facts = seen(made_host(tmp_path))
    assert (facts["cuda.version"].value, facts["cuda.nvcc_version"].value) == ("12.6", "12.6.85")
    assert facts["cuda.toolkits"].value[0]["version"] == "12.6"


@pytest.mark.parametrize(
    ("nvcc", "why"),
    [
        (HANG, "within 1 s"),
        (BABBLE, "within 1 s"),
        ("echo hello; exit 3", "exit code 3, and no version in: hello"),
    ],
)
def test_a_bad_nvcc_costs_its_own_version_alone(tmp_path: Path, nvcc: str, why: str) -> None:
    make(tmp_path / "root/usr/local/cuda", nvcc=nvcc)
    started = time.monotonic()
    facts = seen(made_host(tmp_path), patience=1)
    assert time.monotonic() - started < 50
    assert why in facts["cuda.nvcc_version"].why
    assert facts["cuda.version"].value == "12.4"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cuda": "12.4"}', '{"cuda": {"version": null}}'])
def test_a_broken_version_json_is_no_version(tmp_path: Path, text: str) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    put(root / "version.json", text)
    assert seen(made_host(tmp_path))["cuda.version"].value == "12.4"


def test_no_version_anywhere_is_unknown(tmp_path: Path) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    put(root / "include/cuda.h", "// nothing")
    put(root / "include/crt/host_config.h", "// nothing")
    facts = seen(made_host(tmp_path))
    assert {facts[f"cuda.{name}"].state for name in ("version", "nvcc_version", "gcc_max")} == {
        State.UNKNOWN
    }


def test_cudnn_in_the_toolkit(tmp_path: Path) -> None:
    put(make(tmp_path / "root/usr/local/cuda") / "include/cudnn.h")
    assert seen(made_host(tmp_path))["cuda.cudnn_header"].value is True


@pytest.mark.parametrize(
    "gone", [None, "nvvm/bin/cicc", "include/crt/host_config.h", "include/cusparse.h", "bin/ptxas"]
)
def test_a_real_toolkit(nvcc_python: Path, toolkit_copy: Path, gone: str | None) -> None:
    if gone:
        (toolkit_copy / gone).unlink()
    host = Host(env={**os.environ, "CUDA_HOME": str(toolkit_copy)})
    python = describe(host, nvcc_python)
    scene = ProbeInput(host=host, interpreter=python, distributions=installed(python.path))
    facts = facts_of(toolkit_probe.probe(scene))
    assert facts["cuda.missing"].value == ([gone] if gone else None)
    assert facts["cuda.nvcc_version"].value.startswith("13.0.")
    assert facts["cuda.unlinkable"].state is State.ABSENT
    if gone != "include/crt/host_config.h":
        assert (facts["cuda.gcc_max"].value, facts["cuda.clang_max"].value) == (15, 20)


@pytest.fixture
def toolkit_copy(toolkit: Path, tmp_path: Path) -> Path:
    """Return a copy of a real toolkit, of hard links, that may lose files."""
    return Path(shutil.copytree(toolkit, tmp_path / "cuda", symlinks=True, copy_function=os.link))


def test_pips_real_toolkit(nvcc_python: Path) -> None:
    host = Host(
        env={name: value for name, value in os.environ.items() if not name.startswith("CUDA")}
        | {"PATH": "/none"}
    )
    python = describe(host, nvcc_python)
    facts = facts_of(
        toolkit_probe.probe(
            ProbeInput(host=host, interpreter=python, distributions=installed(python.path))
        )
    )
    kit = next(kit for kit in facts["cuda.toolkits"].value if kit["origin"] == "pip")
    assert (kit["version"], kit["missing"], kit["unlinkable"]) == ("13.0", [], ["libcudart.so"])


@pytest.mark.parametrize(
    ("says", "missing"),
    [
        (
            '#include "device_functions.hpp"\n  # include <sm_70_rt.h>\n',
            ["include/crt/device_functions.hpp", "include/crt/sm_70_rt.h"],
        ),
        ("// sm_70_rt.h came with CUDA 9\n", None),
    ],
)
def test_an_inner_header_is_missed_where_another_asks_for_it(
    tmp_path: Path, says: str, missing: list[str] | None
) -> None:
    root = make(tmp_path / "root/usr/local/cuda")
    put(root / "include/crt/device_functions.h", says)
    facts = seen(made_host(tmp_path))
    assert facts["cuda.missing"].value == missing
    assert facts["cuda.missing_owners"].value == (["nvidia-cuda-crt"] if missing else None)


def test_a_folder_with_nothing_but_the_compatibility_library_is_no_toolkit(tmp_path: Path) -> None:
    host = made_host(tmp_path, {"/usr/local/cuda/compat/libcuda.so.1": ""})
    assert "cuda.home" not in values(facts_of(toolkit_probe.probe(ProbeInput(host=host))))
