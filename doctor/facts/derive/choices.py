"""What CUDA_VISIBLE_DEVICES may name on this machine, where what it names is not there.

The rules are those of NVIDIA's guide:
https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.facts.derive.making import SOURCE
from doctor.facts.devices import cards
from doctor.model.facts import Facts, FactStream, absent, present, value_of

_WORDED = Pattern(r"(?i:cuda:|gpu[:=]?|device=)([0-9]{1,4})")
"""An entry in the words of torch (`cuda:0`) or of docker's `--gpus` (`device=0`)."""
_NUMBER = Pattern(r"[0-9]{1,4}")
_REFUSED = "Insufficient Permissions"
_QUOTES = {ord(mark): None for mark in "\"'`[](){}\u2018\u2019\u201c\u201d"}
_BLANKS = {ord(mark): "," for mark in " \t;|/\uff0c"}
_COMMAS_ALONE = {ord(mark): "," for mark in ":"}


def choices(facts: Facts) -> FactStream:
    """Yield `nvidia.choices` in words, and `nvidia.choice`, the first for CUDA_VISIBLE_DEVICES.

    Both are absent where nothing is wrong. A MIG device of a machine with several divided GPUs may
    be another user's, so none of them is the choice. Yield the mended list as well.
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
    several = chosen.startswith("MIG-") and sum(gpu.get("mig") is True for gpu in gpus) > 1
    choice = found[0][0] if found and not several else ""
    yield "nvidia.choice", present(choice, SOURCE) if choice else absent(SOURCE)
    # One that the control group refuses is not there for CUDA and is not counted.
    here = [gpu for gpu in gpus if gpu.get("error") != _REFUSED] or gpus
    mended = _mended(chosen, here) if here else {}
    plain = _plain(chosen, here) if here else ""
    yield "nvidia.visible_plain", present(plain, SOURCE) if plain else absent(SOURCE)
    for name in ("kept", "replaced", "stale", "unnamed"):
        words = mended.get(name, "")
        yield f"nvidia.visible_{name}", present(words, SOURCE) if words else absent(SOURCE)


def _plain(value: str, gpus: list[dict[str, Any]]) -> str:
    """Return the value with commas alone, where each entry then names a device of its own.

    Quotation marks and brackets go, other marks between two entries become commas, and `cuda:1`
    becomes 1.
    """
    entries = [
        found[1] if (found := _WORDED.fullmatch(one)) else one
        for one in value.translate(_QUOTES).translate(_BLANKS).split(",")
        if one
    ]
    entries = [one for entry in entries for one in entry.translate(_COMMAS_ALONE).split(",") if one]
    named = list(_named(entries, gpus))
    fits = entries and all(named) and len({*named}) == len(named)
    return plain if fits and (plain := ",".join(entries)) != value.replace(" ", "") else ""


def _mended(value: str, gpus: list[dict[str, Any]]) -> dict[str, str]:
    """Return the list without the entries that fit nothing, and with others in their place.

    Empty where no entry fits. Only whole GPUs take the place of an entry, and only where as many
    are unnamed as entries are stale: another choice would be a guess.
    """
    entries = [entry.strip() for entry in value.split(",")]
    # A list may be cut off with -1 on purpose.
    entries = entries[: entries.index("-1")] if "-1" in entries else entries
    named = list(_named(entries, gpus))
    first = [name is not None and name not in named[:place] for place, name in enumerate(named)]
    kept = [entry for entry, stays in zip(entries, first, strict=True) if stays]
    left = [
        f"the second {entry}" if name is not None else entry or "the empty entry"
        for entry, name, stays in zip(entries, named, first, strict=True)
        if not stays
    ]
    if not kept or not left:
        return {}
    mended = {"kept": ",".join(kept), "stale": " and ".join(left)}
    free = [
        str(gpu["uuid"])
        for gpu in gpus
        if gpu.get("uuid") and not gpu.get("error") and gpu.get("mig") is not True
        if gpu["uuid"] not in named
    ]
    if value.startswith("GPU-") and named.count(None) == len(left) == len(free):
        others = iter(free)
        whole = [
            entry if name is not None else next(others)
            for entry, name in zip(entries, named, strict=True)
        ]
        mended |= {"replaced": ",".join(whole), "unnamed": " and ".join(free)}
    return mended


def _named(entries: Sequence[str], gpus: list[dict[str, Any]]) -> Iterator[str | None]:
    """Yield the one device that each entry names, None where it names none or several."""
    kind = entries[0][:4] if entries and entries[0].startswith(("GPU-", "MIG-")) else ""
    whole = [str(gpu["uuid"]) for gpu in gpus if gpu.get("uuid")]
    parts = [uuid for uuid, _ in _mig_devices(gpus)]
    for entry in entries:
        if not kind:
            number = _NUMBER.fullmatch(entry)
            yield str(int(entry)) if number and int(entry) < len(gpus) else None
            continue
        fits = [uuid for uuid in (parts if kind == "MIG-" else whole) if uuid.startswith(entry)]
        yield fits[0] if entry.startswith(kind) and len(fits) == 1 else None


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
