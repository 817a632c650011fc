"""Facts that follow from facts."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from doctor.facts.derive import derive
from doctor.model.compat import Column, Newest, Origin, Source, Table
from doctor.model.facts import Fact, State, unknown, value_of
from tests import toy

NOTHING = toy.catalog()


def derived(**facts: Any) -> dict[str, Fact]:
    return derive(
        toy.seen({name.replace("__", "."): value for name, value in facts.items()}).facts, NOTHING
    )


def test_the_parts_of_torch() -> None:
    facts = derived(
        torch__version="2.13.0+cu130", torch__cuda_version="13.0", torch__cxx11_abi=True
    )
    names = (
        "torch.release",
        "torch.minor",
        "torch.local",
        "torch.cuda_tag",
        "torch.cuda_major",
        "torch.cxx11_abi_tag",
    )
    assert [value_of(facts, name) for name in names] == [
        "2.13.0",
        "2.13",
        "cu130",
        "cu130",
        "13",
        "TRUE",
    ]


def test_absent_gives_absent_and_unknown_gives_unknown() -> None:
    assert derived(torch__version=None)["torch.release"].state is State.ABSENT
    found = derive({"torch.version": unknown("garbled", "t")}, NOTHING)["torch.release"]
    assert (found.state, found.why) == (State.UNKNOWN, "not known: torch.version")


@pytest.mark.parametrize(
    ("toolkit", "torch", "expected"),
    [("13.0", "13.0", "same"), ("12.4", "12.8", "minor"), ("13.0", "12.4", "major")],
)
def test_how_a_toolkit_differs_from_torch(toolkit: str, torch: str, expected: str) -> None:
    assert (
        value_of(derived(cuda__version=toolkit, torch__cuda_version=torch), "cuda.matches_torch")
        == expected
    )


@pytest.mark.parametrize(
    ("kind", "here", "fits"),
    [("gcc", "12", True), ("gcc", "15", True), ("gcc", "16", False), ("clang", "21", False)],
)
def test_whether_nvcc_takes_the_host_compiler(kind: str, here: str, fits: bool) -> None:
    facts = derived(
        cuda__gcc_max="15",
        cuda__clang_max="20",
        compiler__cuda_host_kind=kind,
        compiler__cuda_host_major=here,
    )
    assert value_of(facts, "cuda.host_compiler_fits") is fits


def test_a_gpu_without_code_in_the_wheel() -> None:
    gpus = [
        {"index": 0, "name": "V100", "capability": "7.0"},
        {"index": 1, "name": "H100", "capability": "9.0"},
    ]
    facts = derived(torch__build="cuda", torch__arch_list=["sm_75", "sm_90"], nvidia__gpus=gpus)
    assert value_of(facts, "gpu.unsupported_by_torch") == ["7.0"]
    assert (value_of(facts, "nvidia.capability_min"), value_of(facts, "nvidia.capability_max")) == (
        "7.0",
        "9.0",
    )


@pytest.mark.parametrize(
    ("gpus", "count"), [([{"index": 0}, {"index": 1}], 2), ([], None), (None, None)]
)
def test_gpus_are_counted(gpus: list[dict[str, int]] | None, count: int | None) -> None:
    assert value_of(derived(nvidia__gpus=gpus), "nvidia.gpu_count") == count


def test_capabilities_are_numbers_not_texts() -> None:
    gpus = [{"capability": "12.0"}, {"capability": "9.0"}]
    assert value_of(derived(nvidia__gpus=gpus), "nvidia.capability_max") == "12.0"


@pytest.mark.parametrize("build", ["rocm", "xpu", "cpu"])
def test_no_cuda_rule_speaks_of_another_build(build: str) -> None:
    facts = derived(
        torch__build=build, torch__arch_list=["sm_75"], nvidia__gpus=[{"capability": "7.0"}]
    )
    assert facts["gpu.unsupported_by_torch"].state is State.ABSENT


DRIVER = Table(
    title="Oldest driver",
    columns={
        "cuda": Column(fact="torch.cuda_version", key=True),
        "driver": Column(fact="nvidia.driver_version", judge=True),
        "tag": Column(fact="torch.cuda_tag"),
    },
    sources={"doc": Source(what="doc", opened=date(2026, 11, 21), evidence=Origin.DOCUMENTATION)},
    rows=(
        {
            "cuda": {"from": "12.0", "before": "13.0"},
            "driver": {"from": "525.60.13"},
            "tag": "cu12",
            "source": ["doc"],
        },
        {"cuda": ["13.0", "13.2"], "driver": {"from": "580"}, "source": ["doc"]},
    ),
    applies=(toy.condition("torch.build", equals="cuda"),),
    newest=Newest(release="13.2", read=date(2026, 11, 21)),
)


@pytest.mark.parametrize(
    ("cuda", "driver", "build", "verdict"),
    [
        ("12.8", "535.104.05", "cuda", "fits"),
        ("12.8", "525.60.11", "cuda", "violated"),
        ("13.2", "535.104.05", "cuda", "violated"),
        ("13.2", "580.65.06", "cuda", "fits"),
        ("13.1", "535.104.05", "cuda", None),
        ("13.0", None, "cuda", None),
        ("13.0", "535.104.05", "rocm", None),
    ],
)
def test_tables_become_facts(
    cuda: str, driver: str | None, build: str, verdict: str | None
) -> None:
    given = {"torch.cuda_version": cuda, "nvidia.driver_version": driver, "torch.build": build}
    facts = derive(toy.seen(given).facts, toy.catalog({"cuda-driver": DRIVER}))
    assert value_of(facts, "compat.cuda-driver.driver") == verdict


def test_a_table_says_what_it_wants_and_what_it_misses() -> None:
    catalog = toy.catalog({"cuda-driver": DRIVER})
    facts = derive(toy.seen({"torch.cuda_version": "12.4", "torch.build": "cuda"}).facts, catalog)
    assert value_of(facts, "compat.cuda-driver.driver.wanted") == ">=525.60.13"
    assert value_of(facts, "compat.cuda-driver.tag.wanted") == "cu12"
    assert facts["compat.cuda-driver.driver"].why == "not known: nvidia.driver_version"


def test_a_table_that_judges_says_what_is_here_and_what_selected_the_row() -> None:
    given = {
        "torch.cuda_version": "12.4",
        "torch.build": "cuda",
        "nvidia.driver_version": "535.104.05",
    }
    facts = derive(toy.seen(given).facts, toy.catalog({"cuda-driver": DRIVER}))
    assert value_of(facts, "compat.cuda-driver.driver.seen") == "535.104.05"
    assert value_of(facts, "compat.cuda-driver.driver.by") == "cuda 12.4"
    assert "compat.cuda-driver.tag.seen" not in facts
    unseen = derive(
        toy.seen({"torch.cuda_version": "12.4", "torch.build": "cuda"}).facts,
        toy.catalog({"cuda-driver": DRIVER}),
    )
    assert unseen["compat.cuda-driver.driver.seen"].state is State.UNKNOWN


def test_what_was_observed_is_not_overwritten() -> None:
    assert (
        value_of(derived(torch__version="2.13.0", torch__release="observed"), "torch.release")
        == "observed"
    )


@pytest.mark.parametrize(
    ("cuda", "build", "here"),
    [
        ("13.4", "cuda", "13.4"),
        ("14.0.dev1", "cuda", "14.0.dev1"),
        ("13.2", "cuda", None),
        ("13.1", "cuda", None),
        ("13.4", "rocm", None),
        ("abc", "cuda", None),
        (None, "cuda", None),
    ],
)
def test_what_a_table_does_not_reach_is_told(
    cuda: str | None, build: str, here: str | None
) -> None:
    facts = derive(
        toy.seen({"torch.cuda_version": cuda, "torch.build": build}).facts,
        toy.catalog({"cuda-driver": DRIVER}),
    )
    expected = (
        None if here is None else {"of": "cuda", "here": here, "ends": "13.2", "read": "2026-11-21"}
    )
    assert value_of(facts, "compat.cuda-driver.beyond") == expected


def test_without_its_key_it_is_unknown_whether_a_table_reaches() -> None:
    found = derive(toy.seen({"torch.build": "cuda"}).facts, toy.catalog({"cuda-driver": DRIVER}))[
        "compat.cuda-driver.beyond"
    ]
    assert (found.state, found.why) == (State.UNKNOWN, "not known: torch.cuda_version")


def test_a_row_says_when_it_was_read() -> None:
    facts = derive(
        toy.seen({"torch.cuda_version": "12.4", "torch.build": "cuda"}).facts,
        toy.catalog({"cuda-driver": DRIVER}),
    )
    assert facts["compat.cuda-driver.tag.wanted"].source == "compat/cuda-driver, read on 2026-11-21"
