"""What the variables that choose among AMD's GPUs leave of them.

One is read by ROCm's runtime, the other by HIP above it. A third has the runtime take every GPU for
another chip: HSA_OVERRIDE_GFX_VERSION
(https://github.com/ROCm/TheRock/issues/1719).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.base.versions import in_range
from doctor.facts.derive.making import SOURCE, derived_fact
from doctor.facts.devices import cards, texts
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, value_of

_ABOVE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""What HIP reads, the first that is set."""
_VERSION = Pattern(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{1,2})")
_CHIP = Pattern(r"gfx([0-9]{1,2})([0-9a-f])([0-9a-f])")
_SERVED = frozenset(
    "gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1101 gfx1200 gfx1201".split()  # noqa: SIM905
)
"""Chips of cards for computing that the wheels of torch for ROCm hold code for.

A processor's own graphics are none of them: nobody misses those.
"""
_IN_PROCESSORS = frozenset({"gfx902", "gfx909", "gfx90c", "gfx1035", "gfx1036", "gfx1037"})
"""Chips of processors' own graphics that no wheel of torch for ROCm holds code for."""
_OF_PYTORCH = Pattern(r"rocm[0-9]{1,2}\.[0-9]{1,2}(?:\.[0-9]{1,2})?")
_NEWER = ("gfx1150", "gfx1151", "gfx1200", "gfx1201")
"""Chips for which PyTorch's own builds have no code before torch 2.7.

gfx1200 and gfx1201 came with https://github.com/pytorch/pytorch/pull/148562.
"""
_NEWEST = ("gfx1103",)
"""Chips for which they have none up to torch 2.12 (https://github.com/pytorch/pytorch/pull/179653)."""
_LIKE_GFX1030 = ("gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036")
_RELATIVES = {
    **dict.fromkeys(_LIKE_GFX1030, "10.3.0"),
    **dict.fromkeys(("gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151"), "11.0.0"),
}
"""Chips, and the value of the override for the relative that builds of torch hold code for."""
_VEGA = {"gfx900", "gfx902", "gfx909", "gfx90c"}
"""The chips of generation 9 that run each other's code.

The Instincts of that generation have instructions of their own.
"""


def amd_choices(facts: Facts) -> FactStream:
    """Yield which variables leave torch without the card that it serves, each in words.

    `amd.visible_error`: the first GPU that HIP is to take is not among those that the runtime
    leaves. `amd.override_differs`: the override fits none of the GPUs. `amd.card_hidden`: only
    GPUs are left for which this torch has no code.
    """
    differs = _override(facts)
    yield "amd.override_differs", present(differs, SOURCE) if differs else absent(SOURCE)
    served = [gpu["gfx"] for gpu in cards(facts, "amd.gpus") if gpu.get("gfx") in _SERVED]
    served = list(dict.fromkeys(served))
    yield "amd.for_rocm", present(served, SOURCE) if served else absent(SOURCE)
    small, hidden = _small_first(facts), _card_hidden(facts)
    yield "amd.small_first", present(small[0], SOURCE) if small else absent(SOURCE)
    yield "amd.card_hidden", present(hidden[0], SOURCE) if hidden else absent(SOURCE)
    yield "amd.card_hidden_by", present(hidden[1], SOURCE) if hidden else absent(SOURCE)
    number = small[1] if small else hidden[2] if hidden else None
    yield "amd.card", absent(SOURCE) if number is None else present(number, SOURCE)
    files = texts(facts, "amd.firmware_missing")
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    yield "amd.firmware_wanted", present(files[0] + more, SOURCE) if files else absent(SOURCE)
    said = _wrong(facts)
    yield "amd.visible_error", present(said, SOURCE) if said else absent(SOURCE)


def unsupported_chips(facts: Facts) -> Fact:
    """Return the chips of the AMD GPUs here where this torch has code for none of them.

    Where the list of a build cannot be read, PyTorch's own builds (`+rocm7.1`) are known to leave
    out the relatives of gfx1030, and the older of them the chips that came later.
    """
    # The card that the variables hide, or that no driver took, is the one to use.
    if value_of(facts, "amd.undriven") or _card_hidden(facts):
        return absent(SOURCE)
    left = _left_gpus(facts) or cards(facts, "amd.gpus")
    told = derived_fact(
        facts,
        "torch.build",
        "torch.arch_list",
        "amd.gpus",
        make=lambda build, archs, _: _uncovered(build, archs, left),
    )
    if told.state is not State.UNKNOWN or not _OF_PYTORCH.fullmatch(
        str(value_of(facts, "torch.local") or "")
    ):
        return told
    here = [str(gpu["gfx"]) for gpu in left if gpu.get("gfx")]
    release = str(value_of(facts, "torch.release") or "")
    never = (
        *_LIKE_GFX1030,
        *(_NEWER if in_range(release, fixed="2.7") else ()),
        *(_NEWEST if in_range(release, fixed="2.13") else ()),
    )
    left_out = bool(here) and all(chip in never for chip in here)
    return present(here, SOURCE) if left_out else told


def override_for(unsupported: Fact) -> str:
    """Return the value of HSA_OVERRIDE_GFX_VERSION that names the nearest relative with code.

    AMD does not document which relatives run each other's code; people do
    (https://github.com/ROCm/TheRock/issues/1719).
    """
    chips = unsupported.value if isinstance(unsupported.value, list | tuple) else ()
    values = {_RELATIVES[chip] for chip in chips if chip in _RELATIVES}
    return values.pop() if len(values) == 1 else ""


def _uncovered(build: str, archs: list[str], gpus: list[dict[str, Any]]) -> list[str] | None:
    """Return the AMD GPUs' targets where this torch has code for none of them.

    Beside a card stands the processor's own small GPU.
    """
    here = [gpu["gfx"] for gpu in gpus if gpu.get("gfx")]
    compiled = [arch.partition(":")[0] for arch in archs if arch.startswith("gfx")]
    covered = any(_has_code(one, compiled) for one in here)
    return None if build != "rocm" or not compiled or covered else here or None


def _has_code(chip: str, compiled: Iterable[str]) -> bool:
    return any(
        chip == arch or (arch.endswith("-generic") and chip.startswith(_stem(arch)))
        for arch in compiled
    )


def _stem(arch: str) -> str:
    """Return how the targets of a generic one begin: `gfx9-4-generic` stands for gfx94*."""
    return arch.removesuffix("-generic").replace("-", "")


def _small_first(facts: Facts) -> tuple[str, int] | None:
    """Return words and the card's number where a processor's own graphics comes before a card.

    HIP counts in the order of kfd's nodes, which the firmware decides.
    """
    if value_of(facts, "env.HSA_OVERRIDE_GFX_VERSION") is not None:
        return None
    left = _left_gpus(facts) or []
    chips = [str(gpu.get("gfx")) for gpu in left]
    if not chips or chips[0] not in _IN_PROCESSORS or not _is_without_code(chips[0], facts):
        return None
    number = next((place for place, chip in enumerate(chips) if chip in _SERVED), None)
    if number is None:
        return None
    return (
        f"cuda:0 is the processor's own {chips[0]}, cuda:{number} the card {chips[number]}",
        (_of_runtime(facts) or left).index(left[number]),
    )


def _card_hidden(facts: Facts) -> tuple[str, str, int] | None:
    """Return words, the variable and the card's number where only GPUs without code are left.

    torch then gets the processor's own graphics, say, while a card that it serves is hidden.
    """
    above = _set_above(facts)
    by = [name for name in (above, "ROCR_VISIBLE_DEVICES") if _entries(facts, name)]
    below, left = _of_runtime(facts), _left_gpus(facts)
    if not by or not left or below is None:
        return None
    chips = [str(gpu["gfx"]) for gpu in left if gpu.get("gfx")]
    listed = cards(facts, "amd.gpus")
    card = next((gpu for gpu in listed if gpu.get("gfx") in _SERVED and gpu not in left), None)
    if card is None or not chips or not all(_is_without_code(chip, facts) for chip in chips):
        return None
    # The runtime's variable comes first; HIP chooses among what it leaves.
    name, among = (above, below) if card in below else ("ROCR_VISIBLE_DEVICES", listed)
    number = among.index(card)
    whose = "the processor's own " if chips[0] in _IN_PROCESSORS else ""
    chosen = f"{name}={value_of(facts, f'env.{name}')}"
    rest = ", ".join(dict.fromkeys(chips))
    words = (
        f"{chosen} leaves {whose}{rest} alone, and hides {card['gfx']}, which is number {number}"
    )
    return words, name, number


def _is_without_code(chip: str, facts: Facts) -> bool:
    """Say whether this torch is known to hold no code for a chip."""
    compiled = [arch.partition(":")[0] for arch in texts(facts, "torch.arch_list")]
    if compiled:
        return not _has_code(chip, compiled)
    of_pytorch = _OF_PYTORCH.fullmatch(str(value_of(facts, "torch.local") or ""))
    return chip in _IN_PROCESSORS or (of_pytorch is not None and chip in _LIKE_GFX1030)


def _left_gpus(facts: Facts) -> list[dict[str, Any]] | None:
    """Return the GPUs that both variables leave, in HIP's order; None where that is not known."""
    below = _of_runtime(facts)
    above = _entries(facts, _set_above(facts))
    return _chosen(above, below) if above and below is not None else below


def _of_runtime(facts: Facts) -> list[dict[str, Any]] | None:
    listed = cards(facts, "amd.gpus")
    entries = _entries(facts, "ROCR_VISIBLE_DEVICES")
    return _chosen(entries, listed) if entries else listed


def _chosen(entries: list[str], among: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return what a list takes, by number or unique id; it is read up to the first wrong entry."""
    taken: list[dict[str, Any]] = []
    for entry in entries:
        if entry.isdecimal() and len(entry) < 4:
            found = among[int(entry) :][:1]
        else:
            found = [gpu for gpu in among if str(gpu.get("uuid")).lower() == entry.lower()]
            if not found and entry.startswith("GPU-") and not all(g.get("uuid") for g in among):
                return None
        if not found:
            break
        taken += found
    return taken


def _set_above(facts: Facts) -> str:
    return next((name for name in _ABOVE if isinstance(value_of(facts, f"env.{name}"), str)), "")


def _wrong(facts: Facts) -> str:
    listed = value_of(facts, "amd.gpus")
    here = len(listed) if isinstance(listed, list | tuple) else 0
    above = _set_above(facts)
    first = _entries(facts, above)[:1]
    if not here or not first or not first[0].isdecimal():
        return ""
    below = _entries(facts, "ROCR_VISIBLE_DEVICES")
    left = _left(below, here) if below else here
    if int(first[0]) < left:
        return ""
    wanted = f"{above}={value_of(facts, f'env.{above}')}"
    if left < here:
        numbers = "0" if left == 1 else f"0 to {left - 1}"
        mask = f"ROCR_VISIBLE_DEVICES={value_of(facts, 'env.ROCR_VISIBLE_DEVICES')}"
        return (
            f"{wanted}, but {mask} leaves {left} of {here} GPUs, which HIP counts anew: {numbers}"
        )
    return f"{wanted}, but this machine has {here} GPU{'s' if here > 1 else ''}, counted from 0"


def _override(facts: Facts) -> str:
    """Say what the override claims, where no GPU here is of that chip or related to it."""
    value = value_of(facts, "env.HSA_OVERRIDE_GFX_VERSION")
    found = _VERSION.fullmatch(value.strip()) if isinstance(value, str) else None
    here = [str(gpu["gfx"]) for gpu in cards(facts, "amd.gpus") if gpu.get("gfx")]
    if found is None or not here:
        return ""
    # A name writes the minor number and the stepping in one hexadecimal digit each.
    claimed = "gfx{}{:x}{:x}".format(*map(int, found.groups()))
    if any(_related(claimed, gfx) for gfx in here):
        return ""
    return (
        f"HSA_OVERRIDE_GFX_VERSION={value} stands for {claimed}, and here is "
        f"{', '.join(dict.fromkeys(here))}"
    )


def _related(claimed: str, gfx: str) -> bool:
    """Say whether code for one chip may run on another: the chip, or one of its generation."""
    one, other = _CHIP.fullmatch(claimed), _CHIP.fullmatch(gfx)
    if claimed == gfx or one is None or other is None:
        return True
    # RDNA 1 and 2 share the number 10; people run code of one on the other, so that is not told.
    return one[1] == other[1] and (one[1] != "9" or {claimed, gfx} <= _VEGA)


def _entries(facts: Facts, variable: str) -> list[str]:
    value = value_of(facts, f"env.{variable}") if variable else None
    return (
        [entry.strip() for entry in value.split(",")]
        if isinstance(value, str) and value.strip()
        else []
    )


def _left(entries: list[str], here: int) -> int:
    """Return how many GPUs a list leaves: it is read up to the first number that is too high.

    A UUID counts as one that is there.
    """
    valid = [not entry.isdecimal() or int(entry) < here for entry in entries]
    return min(valid.index(False) if False in valid else len(valid), here)
