"""How the driver and its libraries stand to each other, and what wants them."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.derive import derive
from doctor.model.facts import Fact, absent, present, value_of
from tests import toy

_GPUS = [{"index": 0, "name": "NVIDIA H100"}]


def derived(**facts: Any) -> dict[str, Fact]:
    given = {
        name.replace("__", "."): absent("t") if fact is None else present(fact, "t")
        for name, fact in facts.items()
    }
    return derive(given, toy.catalog())


def halves(library: str | None, kernel: str, **more: Any) -> tuple[Any, Any]:
    path = more.pop("path", "/usr/lib/x86_64-linux-gnu/libcuda.so.1")
    facts = derived(
        nvidia__libcuda=path, nvidia__libcuda_version=library, nvidia__driver_version=kernel, **more
    )
    return value_of(facts, "nvidia.forward_compatibility"), value_of(
        facts, "nvidia.libcuda_differs"
    )


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        ("/usr/local/cuda/compat:/usr/local/cuda/lib64", "/usr/local/cuda/lib64"),
        ("/opt/a:/usr/local/cuda/compat/::/opt/b", "/opt/a:/opt/b"),
        ("/usr/local/cuda/compat", None),
        ("/opt/a", None),
        (None, None),
    ],
)
def test_the_other_folders_of_the_variable_are_left(value: str | None, rest: str | None) -> None:
    path = "/usr/local/cuda/compat/libcuda.so.1"
    facts = derived(nvidia__libcuda=path, env__LD_LIBRARY_PATH=value)
    assert value_of(facts, "nvidia.library_path_rest") == rest


@pytest.mark.parametrize(
    ("container", "mounted", "library", "of_image"),
    [
        ("docker", False, "580.105.08", True),
        ("podman", False, "535.54.03", True),
        # The toolkit hands in what lies on the host's disk.
        ("docker", True, "580.105.08", None),
        # In LXC every library is the container's own.
        ("lxc", False, "535.54.03", None),
        (None, False, "580.105.08", None),
        ("docker", False, "580.95.05", None),
        ("docker", None, "580.105.08", None),
    ],
)
def test_a_libcuda_that_is_no_mount_is_of_the_image(
    container: str | None, mounted: bool | None, library: str, of_image: bool | None
) -> None:
    facts = derived(
        nvidia__libcuda="/usr/lib/libcuda.so.1",
        nvidia__libcuda_version=library,
        nvidia__libcuda_mounted=mounted,
        nvidia__driver_version="580.95.05",
        host__container=container,
    )
    assert value_of(facts, "nvidia.libcuda_of_image") is of_image


def test_a_newer_libcuda_beside_an_nvml_that_answers_is_forward_compatibility() -> None:
    assert halves("580.65.06", "550.54.15", nvidia__nvml=None, nvidia__gpus=_GPUS) == (True, None)
    assert halves("580.65.06", "550.54.15", path="/usr/local/cuda/compat/libcuda.so.1") == (
        True,
        None,
    )


def test_a_newer_libcuda_after_an_update_is_not() -> None:
    words = (
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1 is of driver 580.95.05, the kernel's module "
        "of 580.65.06"
    )
    assert halves("580.95.05", "580.65.06", nvidia__nvml="Driver/library version mismatch") == (
        None,
        words,
    )


@pytest.mark.parametrize(
    ("libcuda", "nvml", "driver", "differs", "alone"),
    [
        ("580.95.05", "580.65.06", "580.65.06", True, True),
        ("580.65.06", "580.95.05", "580.95.05", True, True),
        # NVML waits for a restart; a newer branch is forward compatibility; nothing differs.
        ("580.95.05", "580.95.05", "580.65.06", True, None),
        ("590.48.01", "580.65.06", "580.65.06", False, None),
        ("580.65.06", "580.65.06", "580.65.06", False, None),
    ],
)
def test_a_libcuda_that_alone_is_of_another_release(
    libcuda: str, nvml: str, driver: str, *, differs: bool, alone: bool | None
) -> None:
    facts = derived(
        nvidia__libcuda="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        nvidia__libcuda_version=libcuda,
        nvidia__nvml_version=nvml,
        nvidia__driver_version=driver,
        nvidia__nvml=None,
        nvidia__gpus=_GPUS,
    )
    assert value_of(facts, "nvidia.libcuda_alone") is alone
    assert bool(value_of(facts, "nvidia.libcuda_differs")) is differs


def test_an_older_libcuda_is_of_another_driver() -> None:
    words = (
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1 is of driver 570.86.10, the kernel's module "
        "of 580.65.06"
    )
    assert halves("570.86.10", "580.65.06", nvidia__nvml=None, nvidia__gpus=_GPUS) == (None, words)
    assert halves("580.65.06", "580.65.06") == (None, None)


@pytest.mark.parametrize("where", [{"host__jetson": "Orin"}, {"host__wsl": True}])
def test_drivers_that_are_counted_in_another_way_are_not_compared(where: dict[str, Any]) -> None:
    assert halves("540.4.0", "580.65.06", **where) == (None, None)
    assert halves("540.4.0", "35.4.1") == (None, None)


@pytest.mark.parametrize(
    ("driver", "l4t"), [("35.4.1", "35.4.1"), ("540.4.0", None), ("390.157", None), (None, None)]
)
def test_a_driver_of_l4t(driver: str | None, l4t: str | None) -> None:
    assert value_of(derived(nvidia__driver_version=driver), "nvidia.l4t_driver") == l4t


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({"torch__build": "cuda"}, ["torch"]),
        ({"torch__build": "cpu"}, None),
        ({"torch__build": "cpu", "package__jax-cuda13-plugin__version": "0.8.0"}, ["jax"]),
        (
            {"package__onnxruntime-gpu__version": "1.23.0", "candle__features": ["cuda"]},
            ["onnxruntime", "candle"],
        ),
        ({"torch__build": "cuda", "nvidia__hidden_on_purpose": True}, None),
    ],
)
def test_what_was_built_for_nvidia_gpus(facts: dict[str, Any], wanted: list[str] | None) -> None:
    assert value_of(derived(**facts), "nvidia.wanted_by") == wanted


def test_a_compatibility_library_that_is_older_than_the_driver_stands_in_for_nothing() -> None:
    path = "/usr/local/cuda/compat/libcuda.so.1"
    words = f"{path} is of driver 580.65.06, the kernel's module of 595.71.05"
    assert halves("580.65.06", "595.71.05", path=path, nvidia__nvml=None, nvidia__gpus=_GPUS) == (
        None,
        words,
    )
    facts = derived(
        nvidia__libcuda=path,
        nvidia__libcuda_version="580.65.06",
        nvidia__driver_version="595.71.05",
    )
    assert value_of(facts, "nvidia.compat_outdated") == "/usr/local/cuda/compat"


@pytest.mark.parametrize(
    ("library", "older"), [("535.54.03", True), ("580.105.08", False), ("580.95.05", None)]
)
def test_which_half_of_the_driver_is_the_older_one(library: str, older: bool | None) -> None:
    facts = derived(
        nvidia__libcuda="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        nvidia__libcuda_version=library,
        nvidia__driver_version="580.95.05",
        nvidia__nvml="Driver/library version mismatch",
    )
    assert value_of(facts, "nvidia.libcuda_older") is older


_FREE_AND_TAKEN = [
    {"index": 0, "uuid": "GPU-a", "memory_bytes": 24 << 30, "memory_used_bytes": 24 << 30},
    {"index": 1, "uuid": "GPU-b", "memory_bytes": 24 << 30, "memory_used_bytes": 1 << 20},
    {"index": 2, "uuid": "GPU-c", "compute_mode": "prohibited"},
    {"index": 3, "uuid": "GPU-d", "error": "GPU is lost"},
]


@pytest.mark.parametrize(
    ("gpus", "free"),
    [(_FREE_AND_TAKEN, "GPU-b"), (_FREE_AND_TAKEN[1:2], None), (_FREE_AND_TAKEN[:1], None)],
)
def test_the_gpus_that_are_free_are_named_where_others_are_not(
    gpus: list[dict[str, Any]], free: str | None
) -> None:
    assert value_of(derived(nvidia__gpus=gpus, nvidia__visible=gpus), "nvidia.free") == free
