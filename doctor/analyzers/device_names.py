"""Explain names of devices that torch does not know, by the list that its message prints.

torch lists the types it was built to know (c10/core/Device.cpp). `mps` is in it since 1.12.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_SINCE = {"mps": "1.12", "hpu": "1.11", "mtia": "2.1", "xpu": "1.8"}
_PLUGINS = {
    "npu": ("torch_npu", "Huawei's Ascend"),
    "hpu": ("habana_frameworks.torch", "Intel's Gaudi"),
    "mlu": ("torch_mlu", "Cambricon"),
    "musa": ("torch_musa", "Moore Threads"),
    "dml": ("torch_directml", "DirectML"),
    "privateuseone": ("torch_directml", "DirectML"),
}
"""Modules that teach torch a type of device, and whose GPUs these are."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a name of a device should have been."""
    for event in case.of("device-type-unknown"):
        yield _explain(event, event.objects.get("device", "").strip().lower())
        return


def _explain(event: Event, device: str) -> Explanation:
    kind = device.partition(":")[0]
    since = _SINCE.get(kind)
    listed = event.objects.get("known", "")
    if since and f"{kind}," not in f"{listed}," and kind != "hpu":
        return _too_old(event, kind, since)
    if kind in _PLUGINS:
        module, whose = _PLUGINS[kind]
        return explanation(
            event,
            f"torch knows {kind} only after {module} was imported",
            f"The devices of {whose} are taught to torch by a package of their own.",
            (
                code(
                    "Import it first", "the start of the program", f"import torch\nimport {module}"
                ),
            ),
            name="device-type-unknown",
        )
    right = '"cuda"' if kind in ("gpu", "nvidia", "cuda0", "rocm") else '"cuda:0"'
    return explanation(
        event,
        f"torch has no device of the name {device or 'that the program gives'}",
        "A device is a type of the list in the message, with a number behind a colon if there is "
        "more than one: cpu, cuda, cuda:1, mps. The name comes from a setting or an argument.",
        (
            code(
                "Name a device that torch knows",
                "the setting or argument that names the device",
                f'device = {right} if torch.cuda.is_available() else "cpu"',
                before=f'device = "{kind}"' if kind.isalnum() else "",
            ),
        ),
        name="device-type-unknown",
        severity=Severity.NOTE,
    )


def _too_old(event: Event, kind: str, since: str) -> Explanation:
    return explanation(
        event,
        f"This torch does not know the device {kind}: torch {since} brought it",
        "The message lists the devices that this torch was built to know, and the one that "
        "the program asks for is not among them: torch is older than the program expects.",
        (
            Recipe(
                title=f"Take a torch with {kind}",
                steps=(
                    Action(
                        install=("torch",),
                        companions=("torchvision", "torchaudio"),
                        options=(Option.UPGRADE,),
                    ),
                ),
                note="Where pip keeps the old release, the Python is too old for the new one, "
                "or runs as Intel's on a Mac with Apple silicon.",
            ),
            code(
                "Compute on the processor instead",
                "the argument that names the device",
                '"cpu"',
                before=f'"{kind}"',
            ),
        ),
        name="device-type-unknown",
    )
