"""Sort the driver's error reports (Xid) by what NVIDIA advises to do with the GPU.

The actions are those of NVIDIA's catalog of Xids, column "Immediate Action"
(https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html). What a program did wrong
(13, 31, 43, 45) is left out: it says nothing of the machine.
"""

from __future__ import annotations

from typing import Any

from doctor.facts.derive.making import SOURCE
from doctor.facts.derive.which import which
from doctor.facts.devices import cards
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, unknown, value_of

_RESTART = {79: "the GPU has fallen off the bus"}
_RESET = {
    46: "the GPU stopped processing",
    48: "a memory error that could not be corrected",
    62: "a microcontroller of the GPU halted",
    64: "bad memory could not be set aside",
    74: "an error of NVLink",
    95: "an uncontained memory error",
    109: "a switch of context timed out",
    110: "a security fault",
    119: "the GPU's own processor (GSP) does not answer",
    120: "an error of the GPU's own processor (GSP)",
    136: "a link could not be trained",
    140: "a memory error that could not be corrected",
    143: "the GPU could not be initialized",
    155: "an error of NVLink",
    156: "bad memory waits to be set aside",
    158: "a fatal timeout",
}
_WATCH = {
    63: "bad memory was set aside",
    92: "many corrected memory errors",
    94: "a contained memory error, which ended one program",
    157: "bad memory could not be set aside",
}
_OF_GSP = (119, 120)
_LINKS = range(144, 151)
"""Errors of NVLink 5, which say themselves whether they are fatal."""
_ACTION = 154
"""The driver says what it wants now; this replaces what it said before."""
_ACTIONS = {"reboot required": "restart", "reset": "reset", "drain": "watch"}
_SORTS = ("restart", "reset", "watch")


def xid(facts: Facts) -> FactStream:
    """Yield `nvidia.xid_restart`, `xid_reset`, `xid_watch`, and the failures of the GSP."""
    seen = facts.get("nvidia.xid", unknown("nobody looked"))
    listed = [one for one in cards(facts, "nvidia.xid") if _is_concern(one, facts)]
    failed = [f"Xid {one['code']}" for one in listed if one.get("code") in _OF_GSP]
    yield "nvidia.xid_gsp", present(failed, SOURCE) if failed else _nothing(seen)
    sorted_ = _sorted(listed)
    for name in _SORTS:
        found = sorted_[name]
        words = [f"{_label(one, facts)}: {_said(one)}" for one in found]
        fact = present(words, SOURCE) if words else _nothing(seen)
        yield f"nvidia.xid_{name}", fact
        known = [gpu for one in found if (gpu := _gpu(one, facts))]
        once = list({gpu.get("index"): gpu for gpu in known}.values())
        yield from which(f"xid_{name}", once, facts)


def _nothing(seen: Fact) -> Fact:
    return unknown(seen.why, seen.source) if seen.state is State.UNKNOWN else absent(SOURCE)


def _sorted(listed: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Sort the Xids of each GPU; what came before the driver's own last word counts no more."""
    decided = {one.get("pci_bus_id"): _when(one) for one in listed if one.get("code") == _ACTION}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _SORTS}
    for one in listed:
        settled = decided.get(one.get("pci_bus_id"))
        if one.get("code") != _ACTION and settled is not None and _when(one) < settled:
            continue
        if name := _sort(one):
            found[name].append(one)
    return found


def _sort(one: dict[str, Any]) -> str:
    code, text = one.get("code"), str(one.get("text") or "")
    if code == _ACTION:
        wanted = text.lower().rpartition(" to ")[2]
        return next((name for words, name in _ACTIONS.items() if words in wanted), "")
    if code in _LINKS:
        return "reset" if " Fatal" in text else ""
    tables = (("restart", _RESTART), ("reset", _RESET), ("watch", _WATCH))
    return next((name for name, table in tables if code in table), "")


def _when(one: dict[str, Any]) -> int:
    at = one.get("last_seconds")
    return at if isinstance(at, int) else 0


def _said(one: dict[str, Any]) -> str:
    code, count = one.get("code"), one.get("count")
    known = {**_RESTART, **_RESET, **_WATCH}
    words = known[code] if isinstance(code, int) and code in known else ""
    if code == _ACTION:
        words = str(one.get("text") or "").strip()
    elif not words:
        words = "a fatal error of NVLink"
    often = f", {count} times" if isinstance(count, int) and count > 1 else ""
    return f"Xid {code} ({words}){often}, last {_when(one)} s after the start of the machine"


def _gpu(one: dict[str, Any], facts: Facts) -> dict[str, Any] | None:
    """Return NVML's entry of the GPU; the log names its slot without the function."""
    place = str(one.get("pci_bus_id") or "?")[-10:]
    listed = cards(facts, "nvidia.gpus")
    return next((gpu for gpu in listed if _slot(gpu).endswith(place)), None)


def _slot(gpu: dict[str, Any]) -> str:
    return str(gpu.get("pci_bus_id") or "").lower().partition(".")[0]


def _label(one: dict[str, Any], facts: Facts) -> str:
    gpu = _gpu(one, facts)
    place = one.get("pci_bus_id")
    return f"GPU {gpu.get('index')} ({place})" if gpu else f"the GPU at {place}"


def _is_concern(one: dict[str, Any], facts: Facts) -> bool:
    """Say whether a report may be about a GPU of this process.

    The log of a host shows the GPUs of every container, and a GPU that was lost is in no list.
    """
    visible = facts.get("nvidia.visible")
    gpu = _gpu(one, facts)
    if gpu is None:
        return not value_of(facts, "host.container")
    return (
        visible is None
        or visible.state is not State.PRESENT
        or gpu in cards(facts, "nvidia.visible")
    )
