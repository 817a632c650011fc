"""What CUDA_VISIBLE_DEVICES may name on this machine, where what it names is not there."""

from __future__ import annotations

from typing import Any

from doctor.facts.derive.making import SOURCE
from doctor.facts.devices import cards
from doctor.model.facts import Facts, FactStream, absent, present, value_of


def choices(facts: Facts) -> FactStream:
    """Yield `nvidia.choices` in words, and `nvidia.choice`, the first for CUDA_VISIBLE_DEVICES.

    Both are absent where nothing is wrong.
    """
    gpus = cards(facts, "nvidia.gpus") if value_of(facts, "nvidia.visible_error") else []
    chosen = str(value_of(facts, "env.CUDA_VISIBLE_DEVICES") or "")
    found = (
        _mig_devices(gpus) or _by_number(gpus) if chosen.startswith("MIG-") else _by_number(gpus)
    )
    if chosen.startswith("GPU-"):
        found = [
            (str(gpu["uuid"]), f"GPU {gpu.get('index')} is {gpu['uuid']}")
            for gpu in gpus
            if gpu.get("uuid")
        ]
    yield (
        "nvidia.choices",
        present([words for _, words in found], SOURCE) if found else absent(SOURCE),
    )
    yield "nvidia.choice", present(found[0][0], SOURCE) if found else absent(SOURCE)


def _mig_devices(gpus: list[dict[str, Any]]) -> list[tuple[str, str]]:
    devices = [
        (gpu.get("index"), device)
        for gpu in gpus
        for device in gpu.get("mig_devices") or ()
        if isinstance(device, dict)
    ]
    return [
        (str(device["uuid"]), f"{device['uuid']} on GPU {index}")
        for index, device in devices
        if device.get("uuid")
    ]


def _by_number(gpus: list[dict[str, Any]]) -> list[tuple[str, str]]:
    usable = [gpu for gpu in gpus if gpu.get("mig") is not True or gpu.get("mig_devices")]
    return [
        (
            str(gpu.get("index")),
            f"GPU {gpu.get('index')}" + (f" ({gpu['name']})" if gpu.get("name") else ""),
        )
        for gpu in usable
    ]
