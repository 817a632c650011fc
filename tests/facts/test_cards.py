"""Which GPUs on PCI the driver does not take, and what each of them needs."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.model.facts import value_of
from tests.facts.test_driver import derived

_NEEDS = (
    "needs_open_module",
    "needs_closed_module",
    "needs_legacy_driver",
    "needs_older_driver",
    "needs_newer_driver",
    "cards_untaken",
)


def needed(device: str, *, kind: str = "open", driver: str = "580.95.05", **more: Any) -> list[str]:
    card = {"pci_bus_id": "0000:01:00.0", "device": device}
    given = {
        "nvidia__cards": [card],
        "nvidia__module_kind": kind,
        "nvidia__driver_version": driver,
        "nvidia__nvml": None,
        "nvidia__gpus": None,
    }
    facts = derived(**{**given, **more})
    return [
        name
        for name in _NEEDS
        if value_of(facts, f"nvidia.{name}") == [f"0000:01:00.0 (10de:{device[2:]})"]
    ]


@pytest.mark.parametrize(
    ("device", "kind", "driver", "needs"),
    [
        ("0x2b85", "closed", "580.95.05", ["needs_open_module"]),  # GeForce RTX 5090
        ("0x2901", "closed", "580.95.05", ["needs_open_module"]),  # B200
        ("0x2342", "closed", "580.95.05", ["needs_open_module"]),  # GH200
        ("0x2b85", "open", "550.54.15", ["needs_newer_driver"]),
        ("0x2684", "open", "515.105.01", ["needs_newer_driver"]),  # RTX 4090
        ("0x2b85", "closed", "550.54.15", ["needs_newer_driver"]),
        ("0x2330", "closed", "580.95.05", ["cards_untaken"]),  # H100
        ("0x1b80", "open", "580.95.05", ["needs_closed_module"]),  # GTX 1080
        ("0x128b", "open", "580.95.05", ["needs_older_driver"]),  # GT 710
        ("0x102d", "closed", "550.54.15", ["needs_older_driver"]),  # K80
        ("0x102d", "closed", "470.256.02", ["cards_untaken"]),
        ("0x1b80", "open", "595.71.05", ["needs_legacy_driver"]),
        ("0x1db5", "closed", "595.71.05", ["needs_legacy_driver"]),  # V100
    ],
)
def test_what_a_card_needs(device: str, kind: str, driver: str, needs: list[str]) -> None:
    assert needed(device, kind=kind, driver=driver) == needs


@pytest.mark.parametrize(
    "why",
    [
        {"nvidia__gpus": [{"index": 0, "pci_bus_id": "0000:01:00.0"}]},
        {"nvidia__gpus": [{"index": 0, "pci_bus_id": None}]},
        {"nvidia__gpus": [{"index": 0, "pci_bus_id": "0000:41:00.0"}], "host__container": "docker"},
        {"nvidia__nvml": "Driver/library version mismatch"},
        {"nvidia__driver_version": None},
        {"host__wsl": True},
    ],
)
def test_cards_that_are_taken_or_that_nobody_can_tell_of(why: dict[str, Any]) -> None:
    assert needed("0x2b85", kind="closed", **why) == []


@pytest.mark.parametrize(
    ("device", "library", "folder", "needs"),
    [
        ("0x1b81", "590.48.01", "/usr/lib64", ["needs_legacy_driver"]),
        ("0x102d", "580.95.05", "/usr/lib64", ["needs_older_driver"]),
        ("0x1b81", "580.95.05", "/usr/lib64", []),
        ("0x1e84", "590.48.01", "/usr/lib64", []),
        ("0x1b81", "590.48.01", "/usr/local/cuda/compat", []),
    ],
)
def test_a_driver_that_dropped_the_only_card_ends_and_leaves_its_library(
    device: str, library: str, folder: str, needs: list[str]
) -> None:
    seen: dict[str, Any] = {
        "nvidia__libcuda": f"{folder}/libcuda.so.1",
        "nvidia__libcuda_version": library,
        "nvidia__driver_version": None,
    }
    assert needed(device, **seen) == needs
    card = {"pci_bus_id": "0000:01:00.0", "device": device}
    facts = derived(nvidia__cards=[card], **seen)
    assert (value_of(facts, "nvidia.undriven") is None) is bool(needs)


def test_a_card_of_a_virtual_machine_waits_for_nothing() -> None:
    cards = [
        {"pci_bus_id": "0000:01:00.0", "device": "0x2684", "driver": "vfio-pci"},
        {"pci_bus_id": "0000:02:00.0", "device": "0x2684"},
    ]
    facts = derived(nvidia__cards=cards, nvidia__driver_version=None)
    assert value_of(facts, "nvidia.undriven") == ["0000:02:00.0 (10de:2684)"]


_HELD = [
    {"pci_bus_id": "0000:17:00.0", "device": "0x20b5", "driver": "nvidia"},
    {"pci_bus_id": "0000:ca:00.0", "device": "0x20b5", "driver": "nvidia"},
]
_XID_79 = [{"code": 79, "pci_bus_id": "0000:ca:00", "count": 1, "last_seconds": 37}]


@pytest.mark.parametrize(
    ("more", "silent", "fallen"),
    [
        ({}, ["0000:ca:00.0 (10de:20b5)"], None),
        ({"nvidia__xid": _XID_79}, ["0000:ca:00.0 (10de:20b5)"], ["0000:ca:00.0 (10de:20b5)"]),
        ({"env__SLURM_JOB_ID": "7"}, None, None),
        ({"host__container": "docker"}, None, None),
        ({"nvidia__nvml": "Driver/library version mismatch"}, None, None),
    ],
)
def test_a_card_that_the_driver_holds_and_nvml_does_not_list(
    more: dict[str, Any], silent: list[str] | None, fallen: list[str] | None
) -> None:
    given = {
        "nvidia__cards": _HELD,
        "nvidia__driver_version": "580.95.05",
        "nvidia__nvml": None,
        "nvidia__gpus": [{"index": 0, "pci_bus_id": "0000:17:00.0"}],
    }
    facts = derived(**{**given, **more})
    assert value_of(facts, "nvidia.cards_silent") == silent
    assert value_of(facts, "nvidia.cards_fallen") == fallen
    assert value_of(facts, "nvidia.cards_untaken") is None


_SECOND = "0000:ca:00.0"


@pytest.mark.parametrize(
    ("log", "listed", "more", "named"),
    [
        ("start_failed", ["0000:17:00.0"], {}, "cards_failed"),
        ("unpowered", ["0000:17:00.0"], {}, "cards_unpowered"),
        ("asleep", ["0000:17:00.0"], {}, "cards_asleep"),
        # It started later, is a matter of another job, or cannot be asked.
        ("asleep", ["0000:17:00.0", _SECOND], {}, ""),
        ("start_failed", ["0000:17:00.0"], {"env__SLURM_JOB_ID": "7"}, ""),
        (
            "asleep",
            ["0000:17:00.0", _SECOND],
            {"nvidia__gpu_errors": [f"GPU 1 ({_SECOND}): Unknown Error"]},
            "cards_asleep",
        ),
    ],
)
def test_a_card_that_the_driver_tried_to_start_is_not_unknown_to_it(
    log: str, listed: list[str], more: dict[str, Any], named: str
) -> None:
    # A start that failed may leave the card without a driver.
    given: dict[str, Any] = {
        "nvidia__cards": [_HELD[0], {"pci_bus_id": _SECOND, "device": "0x20b5"}],
        "nvidia__driver_version": "580.95.05",
        "nvidia__nvml": None,
        "nvidia__gpus": [{"index": i, "pci_bus_id": one} for i, one in enumerate(listed)],
        f"nvidia__{log}": [f"{_SECOND}: what the log says"],
    }
    facts = derived(**given, **more)
    told = {
        name
        for name in ("cards_untaken", "cards_failed", "cards_unpowered", "cards_asleep")
        if value_of(facts, f"nvidia.{name}")
    }
    assert told == ({named} if named else set())


def test_a_gpu_that_the_driver_was_told_to_leave_out_is_not_silent() -> None:
    held = {"pci_bus_id": "0000:11:00.0", "device": "0x26b9", "driver": "nvidia"}
    given: dict[str, Any] = {
        "nvidia__cards": [held],
        "nvidia__driver_version": "580.95.05",
        "nvidia__nvml": None,
        "nvidia__gpus": [{"index": 0, "pci_bus_id": "0000:10:00.0"}],
    }
    assert value_of(derived(**given), "nvidia.cards_silent") == ["0000:11:00.0 (10de:26b9)"]
    given["nvidia__gpus_excluded"] = ["0000:11:00.0"]
    assert value_of(derived(**given), "nvidia.cards_silent") is None


def test_a_card_without_address_space_is_not_unknown_to_the_driver() -> None:
    window = ["0000:01:00.0: BAR1 is 0M @ 0x0"]
    assert needed("0x2204", nvidia__bar_missing=window) == []


@pytest.mark.parametrize(
    ("device", "older"),
    [("0x1b06", ["0000:01:00.0 (10de:1b06)"]), ("0x1e04", None), ("0x102d", None)],
)
def test_cards_from_maxwell_to_volta_are_told_from_others(
    device: str, older: list[str] | None
) -> None:
    card = {"pci_bus_id": "0000:01:00.0", "device": device, "driver": "nouveau"}
    facts = derived(nvidia__cards=[card], nvidia__driver_version=None)
    assert value_of(facts, "nvidia.before_turing") == older


@pytest.mark.parametrize(
    ("device", "more", "needs"),
    [
        ("0x2bb1", {}, "needs_open_module"),  # RTX PRO 6000 Blackwell
        ("0x3abc", {"nvidia__open_required": ["0000:c1:00.0"]}, "needs_open_module"),
        ("0x2684", {}, "cards_silent"),  # RTX 4090
    ],
)
def test_a_card_that_the_closed_module_holds_and_cannot_start(
    device: str, more: dict[str, Any], needs: str
) -> None:
    held = {"pci_bus_id": "0000:c1:00.0", "device": device, "driver": "nvidia"}
    facts = derived(
        nvidia__cards=[held],
        nvidia__module_kind="closed",
        nvidia__driver_version="580.95.05",
        nvidia__nvml=None,
        nvidia__gpus=[],
        **more,
    )
    names = (*_NEEDS, "cards_silent")
    assert [one for one in names if value_of(facts, f"nvidia.{one}")] == [needs]


@pytest.mark.parametrize(
    ("switch", "state", "more", "wanted"),
    [
        (False, None, {}, False),
        (True, None, {}, True),
        (False, "in progress", {}, True),  # NVLink 5
        (False, None, {"host__container": "docker"}, None),
    ],
)
def test_a_fabric_manager_is_needed_where_gpus_are_joined(
    switch: bool, state: str | None, more: dict[str, Any], wanted: bool | None
) -> None:
    gpu = {"index": 0, "health": {"fabric_state": state} if state else {"ecc": 0}}
    facts = derived(nvidia__nvswitch=switch, nvidia__gpus=[gpu], nvidia__visible=[gpu], **more)
    assert value_of(facts, "nvidia.fabric_wanted") is wanted


@pytest.mark.parametrize(
    ("down", "switch", "of_second", "told"),
    [
        (18, True, {}, ["GPU 1 (H100): 18 of its 18 NVLinks are inactive"]),
        (2, True, {}, ["GPU 1 (H100): 2 of its 18 NVLinks are inactive"]),
        (18, False, {}, None),  # a bridge joins other cards
        (18, True, {"mig": True}, None),
        (18, True, {"name": "another model"}, None),
        (0, True, {}, None),
    ],
)
def test_links_that_one_gpu_behind_switches_has_lost(
    down: int, switch: bool, of_second: dict[str, Any], told: list[str] | None
) -> None:
    gpus = [
        {"index": 0, "name": "H100", "health": {"nvlinks": 18, "nvlinks_down": 0}},
        {
            "index": 1,
            "name": "H100",
            "health": {"nvlinks": 18, "nvlinks_down": down},
            **of_second,
        },
    ]
    facts = derived(nvidia__nvswitch=switch, nvidia__gpus=gpus, nvidia__visible=gpus)
    assert value_of(facts, "nvidia.links_down") == told
    if told:
        assert value_of(facts, "nvidia.links_up") == "0"


@pytest.mark.parametrize(
    ("more", "undriven", "left", "needs_open"),
    [
        ({}, True, True, False),
        ({"nvidia__bar_missing": ["0000:01:00.0: BAR1 has no address"]}, False, False, False),
        ({"nvidia__open_required": ["0000:01:00.0"]}, False, False, True),
        ({"nvidia__probe_failed": None}, True, False, False),
    ],
)
def test_why_a_module_that_is_built_holds_no_card(
    more: dict[str, Any], undriven: bool, left: bool, needs_open: bool
) -> None:
    given = {
        "nvidia__cards": [{"pci_bus_id": "0000:01:00.0", "device": "0x2b85"}],
        "nvidia__driver_version": None,
        "nvidia__probe_failed": "probe with driver nvidia failed with error -1",
    }
    facts = derived(**{**given, **more})
    names = ("undriven", "module_left", "needs_open_module")
    said = tuple(value_of(facts, f"nvidia.{name}") is not None for name in names)
    assert said == (undriven, left, needs_open)


_ALIKE, _OTHER = (
    ("0000:01:00.0 (10de:2684)", "0000:41:00.0 (10de:2684)"),
    "0000:42:00.0 (10de:2204)",
)


@pytest.mark.parametrize(
    ("used", "free"),
    [
        (["0000:01:00.0"], [_ALIKE[1], _OTHER]),
        (["0000:01:00.0", "0000:41:00.0", "0000:42:00.0"], None),
        # A card that no virtual machine names may belong to one that nobody may read.
        (None, None),
        (["0000:07:00.0"], None),
    ],
)
def test_cards_that_a_virtual_machine_has_and_those_that_none_has(
    used: list[str] | None, free: list[str] | None
) -> None:
    cards = [
        {"pci_bus_id": label[:12], "device": f"0x{label[-5:-1]}", "driver": "vfio-pci"}
        for label in (*_ALIKE, _OTHER)
    ]
    facts = derived(nvidia__cards=cards, nvidia__used_by_guests=used)
    assert value_of(facts, "nvidia.held_for_guests") == [*_ALIKE, _OTHER]
    assert value_of(facts, "nvidia.alike_for_guests") == list(_ALIKE)
    assert value_of(facts, "nvidia.free_for_host") == free
    assert value_of(facts, "nvidia.free_for_host.first") == (free[0][:12] if free else None)
