"""CUDA libraries are resolved by the loader's rules: small ones made here, and real ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import libraries
from tests.hosts import facts_of, put, values
from tests.sites import install, requires, seen_at, seen_of, site_of

_RPATH, _RUNPATH = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"

Link = Callable[..., Path]


@pytest.fixture
def link(needs: Callable[[str], str]) -> Link:
    """Return a function that makes a library that needs others and looks for them in a place."""
    compiler = needs("gcc")

    def make(path: Path, *needed: Path, search: str = "", kind: str = _RUNPATH) -> Path:
        code = put(path.with_suffix(".c"), "int nothing;\n")
        argv = [
            compiler,
            "-shared",
            "-fPIC",
            "-Wl,--no-as-needed",
            f"-Wl,-soname,{path.name}",
            str(code),
            *map(str, needed),
        ]
        subprocess.run(
            [*argv, *([kind, f"-Wl,-rpath,{search}"] if search else []), "-o", str(path)],
            check=True,
            timeout=60,
        )
        return path

    return make


@pytest.fixture
def stack(tmp_path: Path, link: Link) -> Path:
    """Return an environment whose torch needs cusparse (RPATH), which needs nvJitLink (RUNPATH)."""
    install(tmp_path, "torch", "2.5.1", files={"torch/__init__.py": ""})
    site = site_of(tmp_path)
    nvidia = site / "nvidia"
    linked = link(nvidia / "nvjitlink/lib/libnvJitLink.so.12")
    sparse = link(
        nvidia / "cusparse/lib/libcusparse.so.12", linked, search="$ORIGIN/../../nvjitlink/lib"
    )
    folders = "$ORIGIN/../../nvidia/cusparse/lib:$ORIGIN"
    cuda = link(site / "torch/lib/libtorch_cuda.so", sparse, search=folders, kind=_RPATH)
    link(site / "torch/lib/libtorch_python.so", cuda, search="${ORIGIN}", kind=_RPATH)
    return tmp_path


def _facts(prefix: Path, **env: str) -> dict[str, Fact]:
    facts = facts_of(libraries.probe(seen_at(prefix, env=env)))
    assert not [name for name in facts if not is_known(name)]
    return facts


def _resolved(facts: dict[str, Fact]) -> dict[str, dict[str, Any]]:
    value = facts["libs.resolved"].value
    assert isinstance(value, dict)
    return value


def test_each_library_is_found_by_the_rule_of_the_one_that_asks(stack: Path) -> None:
    nvidia = site_of(stack) / "nvidia"
    facts = _facts(stack)
    assert _resolved(facts) == {
        "libcusparse.so.12": {
            "path": str(nvidia / "cusparse/lib/libcusparse.so.12"),
            "how": "DT_RPATH",
            "by": "libtorch_cuda.so",
        },
        "libnvJitLink.so.12": {
            "path": str(nvidia / "nvjitlink/lib/libnvJitLink.so.12"),
            "how": "DT_RUNPATH",
            "by": "libcusparse.so.12",
        },
    }
    assert facts["libs.shadowed"].state is State.ABSENT
    assert facts["libs.ld_library_path"].state is State.ABSENT


def test_ld_library_path_beats_a_runpath_but_no_rpath(stack: Path, link: Link) -> None:
    other = stack / "cuda-12.0/lib64"
    for name in ("libcusparse.so.12", "libnvJitLink.so.12"):
        link(other / name)
    facts = _facts(stack, LD_LIBRARY_PATH=f"/gone:{other}:")
    assert _resolved(facts)["libcusparse.so.12"]["how"] == "DT_RPATH"
    assert facts["libs.ld_library_path"].value == [str(other)]
    assert facts["libs.shadowed"].value == [
        {
            "soname": "libnvJitLink.so.12",
            "by": str(other / "libnvJitLink.so.12"),
            "expected": str(site_of(stack) / "nvidia/nvjitlink/lib/libnvJitLink.so.12"),
            "how": "LD_LIBRARY_PATH",
        }
    ]


def test_a_link_to_the_environments_own_file_is_no_shadow(stack: Path) -> None:
    other = put(stack / "links/readme").parent
    (other / "libnvJitLink.so.12").symlink_to(
        site_of(stack) / "nvidia/nvjitlink/lib/libnvJitLink.so.12"
    )
    facts = _facts(stack, LD_LIBRARY_PATH=str(other))
    assert _resolved(facts)["libnvJitLink.so.12"]["how"] == "LD_LIBRARY_PATH"
    assert facts["libs.shadowed"].state is State.ABSENT


def test_the_loader_itself_agrees(stack: Path, link: Link) -> None:
    other = stack / "other"
    for name in ("libcusparse.so.12", "libnvJitLink.so.12"):
        link(other / name)
    env = {**os.environ, "LD_LIBRARY_PATH": str(other)}
    library = site_of(stack) / "torch/lib/libtorch_python.so"
    told = subprocess.run(
        ["ldd", str(library)], env=env, check=True, capture_output=True, text=True, timeout=60
    ).stdout
    by_loader = {
        line.split()[0]: Path(line.split()[2]).resolve()
        for line in told.splitlines()
        if " => " in line
    }
    for name, one in _resolved(_facts(stack, LD_LIBRARY_PATH=str(other))).items():
        assert by_loader[name] == Path(one["path"]).resolve()


def test_a_runpath_switches_off_the_rpath_of_those_before_it(tmp_path: Path, link: Link) -> None:
    install(tmp_path, "torch", "2.5.1", files={"torch/__init__.py": ""})
    lib = site_of(tmp_path) / "torch/lib"
    nccl = link(tmp_path / "far/libnccl.so.2")
    fft = link(lib / "libcufft.so.11", nccl, search="/nowhere")
    link(lib / "libtorch_python.so", fft, search=f"$ORIGIN:{nccl.parent}", kind=_RPATH)
    assert _resolved(_facts(tmp_path))["libnccl.so.2"] == {
        "path": None,
        "how": "not found",
        "by": "libcufft.so.11",
    }
    link(lib / "libcufft.so.11", nccl)
    assert _resolved(_facts(tmp_path))["libnccl.so.2"]["how"] == "DT_RPATH"


def test_parts_that_are_opened_later_count(tmp_path: Path, link: Link) -> None:
    install(tmp_path, "torch", "2.5.1", files={"torch/__init__.py": ""})
    site = site_of(tmp_path)
    cudnn = link(site / "nvidia/cudnn/lib/libcudnn.so.9", search="$ORIGIN")
    link(cudnn.with_name("libcudnn_ops.so.9"))
    link(
        site / "torch/lib/libtorch_python.so",
        cudnn,
        search="$ORIGIN/../../nvidia/cudnn/lib",
        kind=_RPATH,
    )
    other = link(tmp_path / "other/libcudnn_ops.so.9")
    shadowed = _facts(tmp_path, LD_LIBRARY_PATH=str(other.parent))["libs.shadowed"].value
    assert [one["soname"] for one in shadowed] == ["libcudnn_ops.so.9"]


def test_the_systems_library_serves_where_there_is_no_other(tmp_path: Path, link: Link) -> None:
    install(tmp_path, "torch", "2.5.1", files={"torch/__init__.py": ""})
    cudart = link(tmp_path / "root/usr/lib64/libcudart.so.12")
    link(site_of(tmp_path) / "torch/lib/libtorch_python.so", cudart)
    scene = msgspec.structs.replace(seen_at(tmp_path), host=Host(root=tmp_path / "root", env={}))
    facts = facts_of(libraries.probe(scene))
    assert _resolved(facts)["libcudart.so.12"]["how"] == "default folder"
    assert facts["libs.shadowed"].state is State.ABSENT


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF\x02\x01" + bytes(99), b"version https://git-lfs.github.com/spec/v1\n"],
)
def test_damaged_libraries_are_passed_over(stack: Path, content: bytes) -> None:
    put(site_of(stack) / "nvidia/cusparse/lib/libcusparse.so.12", content)
    assert list(_resolved(_facts(stack))) == ["libcusparse.so.12"]
    put(site_of(stack) / "torch/lib/libtorch_python.so", content)
    assert _facts(stack)["libs.resolved"].state is State.UNKNOWN


def test_without_torch_there_is_nothing_to_resolve(tmp_path: Path) -> None:
    assert {fact.state for fact in _facts(tmp_path).values()} == {State.ABSENT}


@pytest.mark.patient
def test_a_real_environment_brings_its_own(torch_python: Path) -> None:
    seen = values(facts_of(libraries.probe(seen_of(torch_python, env={"LD_LIBRARY_PATH": ""}))))
    resolved = seen["libs.resolved"]
    assert isinstance(resolved, dict)
    assert {
        "libcudart.so.13",
        "libcublas.so.13",
        "libcudnn.so.9",
        "libnvJitLink.so.13",
        "libcudnn_graph.so.9",
    } <= set(resolved)
    assert "libs.shadowed" not in seen


_HEADER = "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n"


@pytest.fixture
def cudnn(tmp_path: Path, link: Link) -> Path:
    """Return an environment whose torch needs cuDNN 9.20.

    It is there, in two parts that find each other by RUNPATH.
    """
    install(
        tmp_path,
        "torch",
        "2.13.0",
        *requires("nvidia-cudnn-cu13==9.20.0.48"),
        files={"torch/__init__.py": ""},
    )
    site = site_of(tmp_path)
    own = link(site / "nvidia/cudnn/lib/libcudnn.so.9", search="$ORIGIN")
    link(own.with_name("libcudnn_graph.so.9"))
    put(own.parents[1] / "include/cudnn_version.h", _HEADER.format(9, 20, 0))
    link(
        site / "torch/lib/libtorch_python.so",
        own,
        search="$ORIGIN/../../nvidia/cudnn/lib",
        kind=_RPATH,
    )
    return tmp_path


def _other(prefix: Path, link: Link, version: str) -> Path:
    """Put a cuDNN of another release beside the environment, named as a system package does."""
    folder = prefix / "other"
    link(folder / f"libcudnn_graph.so.{version}")
    (folder / "libcudnn_graph.so.9").symlink_to(f"libcudnn_graph.so.{version}")
    return folder


def test_the_cudnn_that_came_with_torch_fits(cudnn: Path) -> None:
    facts = _facts(cudnn)
    assert (facts["libs.cudnn_older"].state, facts["libs.cudnn_mixed"].state) == (
        State.ABSENT,
        State.ABSENT,
    )


def test_an_older_part_of_cudnn_out_of_ld_library_path(cudnn: Path, link: Link) -> None:
    folder = _other(cudnn, link, "9.1.0")
    facts = _facts(cudnn, LD_LIBRARY_PATH=f"/keep/this:{folder}:/and/this")
    library = str(folder / "libcudnn_graph.so.9")
    assert facts["libs.cudnn_older"].value == {
        "library": library,
        "version": "9.1.0",
        "wanted": "9.20",
    }
    assert facts["libs.cudnn_mixed"].value == {
        "library": library,
        "version": "9.1.0",
        "wanted": "9.20.0",
    }
    assert facts["libs.ld_library_path_rest"].value == "/keep/this:/and/this"
    assert (
        _facts(cudnn, LD_LIBRARY_PATH=str(folder))["libs.ld_library_path_rest"].state
        is State.ABSENT
    )


def test_a_newer_part_of_cudnn_is_not_older(cudnn: Path, link: Link) -> None:
    facts = _facts(cudnn, LD_LIBRARY_PATH=str(_other(cudnn, link, "9.28.0")))
    assert facts["libs.cudnn_older"].state is State.ABSENT
    assert facts["libs.cudnn_mixed"].value["version"] == "9.20.0"


def test_a_cudnn_that_says_no_version_is_unknown(cudnn: Path, link: Link) -> None:
    folder = link(cudnn / "other/libcudnn_graph.so.9").parent
    facts = _facts(cudnn, LD_LIBRARY_PATH=str(folder))
    assert (facts["libs.cudnn_older"].state, facts["libs.cudnn_mixed"].state) == (
        State.UNKNOWN,
        State.UNKNOWN,
    )
