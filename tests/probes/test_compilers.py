"""Host compilers and build tools: which are chosen, what they are, and what a bad one costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import compilers
from doctor.observe.scene import ProbeInput
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

_GCC_12 = (
    "echo 'g++ (Debian 12.2.0-14+deb12u1) 12.2.0'; echo 'Copyright (C) 2022 Free Software "
    "Foundation, Inc.'"
)
_GCC_14 = (
    "echo 'gcc (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)'; echo 'Copyright (C) 2024 Free Software "
    "Foundation, Inc.'"
)
_CLANG = "echo 'Ubuntu clang version 18.1.3 (1ubuntu1)'; echo 'Target: x86_64-pc-linux-gnu'"


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        (
            (
                "g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software "
                "Foundation, "
                "Inc."
            ),
            "gcc",
            "12.2.0",
        ),
        (
            (
                "c++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0\nCopyright (C) 2023 Free Software "
                "Foundation, Inc."
            ),
            "gcc",
            "13.3.0",
        ),
        ("x86_64-conda-linux-gnu-c++ (conda-forge gcc 12.4.0-2) 12.4.0\n", "gcc", "12.4.0"),
        ("g++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)\nFree Software Foundation", "gcc", "14.2.1"),
        (
            "Apple clang version 16.0.0 (clang-1600.0.26.3)\nTarget: arm64-apple-darwin24",
            "apple-clang",
            "16.0.0",
        ),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu", "clang", "14.0.6"),
        ("clang version 21.1.0 (https://github.com/llvm/llvm-project 0123)", "clang", "21.1.0"),
        (
            "Microsoft (R) C/C++ Optimizing Compiler Version 19.38.33133 for x64",
            "msvc",
            "19.38.33133",
        ),
        ("bash: cannot execute 1.2.3", None, None),
        ("gcc: error: unrecognized command-line option", None, None),
        ("", None, None),
    ],
)
def test_a_compiler_is_known_by_its_words(text: str, kind: str | None, version: str | None) -> None:
    assert compilers.identify(text) == (kind, version)


def test_without_variables_path_decides(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools={"gcc": _GCC_14, "g++": _GCC_12, "clang++": _CLANG})
    facts = facts_of(compilers.probe(ProbeInput(host=host)))
    tools = tmp_path / "root/tools"
    assert values(facts) == {
        "compiler.cc": f"{tools}/gcc",
        "compiler.cxx": f"{tools}/g++",
        "compiler.cxx_kind": "gcc",
        "compiler.cxx_version": "12.2.0",
        "compiler.cxx_major": 12,
        "compiler.cuda_host": f"{tools}/gcc",
        "compiler.cuda_host_kind": "gcc",
        "compiler.cuda_host_major": 14,
    }
    assert facts["build.ninja"].state is State.ABSENT
    assert [name for name in facts if not is_known(name)] == []


def test_no_compiler_at_all(tmp_path: Path) -> None:
    facts = facts_of(compilers.probe(ProbeInput(host=made_host(tmp_path))))
    assert {fact.state for fact in facts.values()} == {State.ABSENT}


@pytest.mark.parametrize(
    ("env", "name", "source"),
    [
        ({"NVCC_CCBIN": "g++-14", "CUDAHOSTCXX": "clang++"}, "g++-14", "NVCC_CCBIN"),
        ({"CUDAHOSTCXX": "clang++"}, "clang++", "CUDAHOSTCXX"),
        ({"CC": "g++-14", "NVCC_CCBIN": "clang++"}, "g++-14", "CC"),
        (
            {"NVCC_PREPEND_FLAGS": "-O2 -ccbin g++-14", "NVCC_CCBIN": "clang++"},
            "g++-14",
            "NVCC_PREPEND_FLAGS",
        ),
        ({"NVCC_APPEND_FLAGS": "--compiler-bindir=g++-14"}, "g++-14", "NVCC_APPEND_FLAGS"),
        ({"CC": "ccache g++-14"}, "g++-14", "CC"),
        ({}, "gcc", "PATH"),
    ],
)
def test_what_nvcc_would_call(tmp_path: Path, env: dict[str, str], name: str, source: str) -> None:
    tools = {
        "gcc": _GCC_12,
        "g++-14": _GCC_14,
        "clang++": _CLANG,
        "ccache": "echo 'ccache version 4.8'",
    }
    fact = facts_of(compilers.probe(ProbeInput(host=made_host(tmp_path, tools=tools, env=env))))[
        "compiler.cuda_host"
    ]
    assert (fact.value, fact.source) == (str(tmp_path / "root/tools" / name), source)


def test_ccbin_may_be_a_folder(tmp_path: Path) -> None:
    script(tmp_path / "gcc-14/gcc", _GCC_14)
    facts = facts_of(
        compilers.probe(
            ProbeInput(host=made_host(tmp_path, env={"NVCC_CCBIN": str(tmp_path / "gcc-14")}))
        )
    )
    assert facts["compiler.cuda_host_major"].value == 14


def test_a_variable_that_names_nothing_is_not_replaced(tmp_path: Path) -> None:
    facts = facts_of(
        compilers.probe(
            ProbeInput(host=made_host(tmp_path, tools={"g++": _GCC_12}, env={"CXX": "g++-99 -O2"}))
        )
    )
    assert facts["compiler.cxx"].state is State.ABSENT
    assert "g++-99" in facts["compiler.cxx_major"].source


@pytest.mark.parametrize(
    "body",
    [HANG, BABBLE, "head -c 3000 /dev/zero", "exit 127", "echo 'cannot execute' >&2; exit 126"],
)
def test_a_bad_compiler_costs_its_version_alone(tmp_path: Path, body: str) -> None:
    host = made_host(
        tmp_path,
        tools={
            "c++": body,
            "gcc": _GCC_12,
            "cc": HANG,
            "git": "echo 'git version 2.39.5 (Apple Git-154)'",
        },
    )
    started = time.monotonic()
    facts = facts_of(compilers.probe(ProbeInput(host=host), patience=1))
    assert time.monotonic() - started < 50
    assert facts["compiler.cxx"].value == str(tmp_path / "root/tools/c++")
    assert {facts[f"compiler.cxx_{name}"].state for name in ("kind", "version", "major")} == {
        State.UNKNOWN
    }
    assert (facts["compiler.cuda_host_major"].value, facts["build.git"].value) == (12, "2.39.5")


def test_hung_tools_are_waited_for_together(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools=dict.fromkeys(("c++", "gcc", "ninja", "git"), HANG))
    started = time.monotonic()
    facts = facts_of(compilers.probe(ProbeInput(host=host), patience=2))
    assert time.monotonic() - started < 7
    assert facts["build.ninja"].why == "it did not tell its version in time"


def test_the_targets_own_ninja_comes_first_and_is_not_started(tmp_path: Path) -> None:
    python = python_at(tmp_path / "env")
    script(tmp_path / "env/bin/ninja", f"touch {tmp_path}/started; echo 0")
    host = made_host(tmp_path, tools={"ninja": "echo 1.10.0"})
    scene = ProbeInput(
        host=host, interpreter=python, distributions=distributions(python, ["ninja==1.13.0"])
    )
    assert facts_of(compilers.probe(scene))["build.ninja"].value == "1.13.0"
    assert not (tmp_path / "started").exists()
    assert facts_of(compilers.probe(ProbeInput(host=host)))["build.ninja"].value == "1.10.0"


def test_cmake_is_read_from_its_folder_where_there_is_one(tmp_path: Path) -> None:
    host = made_host(tmp_path, tools={"cmake": "echo 'cmake version 3.31.6'"})
    assert facts_of(compilers.probe(ProbeInput(host=host)))["build.cmake"].value == "3.31.6"
    put(tmp_path / "root/share/cmake-3.31/Help/x")
    assert facts_of(compilers.probe(ProbeInput(host=host)))["build.cmake"].value == "3.31"
    put(tmp_path / "root/share/cmake-4.0/Help/x")
    assert facts_of(compilers.probe(ProbeInput(host=host)))["build.cmake"].value == "3.31.6"


def test_a_mac_without_the_tools_opens_no_window(tmp_path: Path) -> None:
    host = made_host(
        tmp_path,
        env={"PATH": "/usr/bin", "CC": "/usr/bin/env", "CXX": "/usr/bin/env"},
        platform="darwin",
    )
    facts = facts_of(compilers.probe(ProbeInput(host=host)))
    assert facts["compiler.cxx_kind"].why == "Apple's command line tools are not installed"
    put(tmp_path / "root/Library/Developer/CommandLineTools/x")
    assert "no version" in facts_of(compilers.probe(ProbeInput(host=host)))["compiler.cxx_kind"].why
