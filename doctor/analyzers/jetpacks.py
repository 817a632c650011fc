"""Explain wheels that were made for another JetPack than the one of the board."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Recipe

_JETPACK = re.compile(r"(?i)jetpack (\d)((?:\.\d{1,2}){0,2})")
_PYTHONS = {"4": "3.6", "5": "3.8", "6": "3.10"}
"""The Python of the Ubuntu in each JetPack (18.04, 20.04, 22.04), for which NVIDIA builds torch."""

_BUILT_BY_NVIDIA = frozenset(
    {"onnxruntime-gpu", "torch", "torchvision", "torchaudio", "tensorflow-gpu", "tensorrt"}
)
"""Distributions whose wheels for a Jetson lie with NVIDIA alone, or are missing on PyPI."""
_ZOO = "https://elinux.org/Jetson_Zoo"
_PACKS = {"3.6": "JetPack 4", "3.8": "JetPack 5", "3.10": "JetPack 6"}


def not_on_pypi(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain a distribution that PyPI has for PCs and servers, and NVIDIA for a Jetson."""
    if name not in _BUILT_BY_NVIDIA or not value_of(case.facts, "host.jetson"):
        return None
    python = ".".join(str(value_of(case.facts, "python.version") or "").split(".")[:2])
    pack = _PACKS.get(python, "")
    own = Recipe(
        title=f"Install the wheel that was built for {pack or 'the JetPack of the board'}",
        note=f"{_ZOO} lists the wheels of onnxruntime-gpu for JetPack 4 and 5, and NVIDIA's page "
        "PyTorch for Jetson those of torch.",
        steps=(Action(install=("<wheel>",)),),
        ask={
            "wheel": "the address of the wheel for this JetPack, with "
            f"{'cp' + python.replace('.', '') if python else 'the own Python'} and linux_aarch64 "
            "in its name"
        },
    )
    index = Recipe(
        title="Install it from the index of Jetson's builds",
        use_if=() if python == "3.10" else ("the board has JetPack 6 and Python 3.10",),
        steps=(Action(install=(name,), index="https://pypi.jetson-ai-lab.io/jp6/cu126"),),
    )
    return explanation(
        event,
        f"{name} has no wheel for a Jetson on PyPI"
        + (f": {pack} takes the one that was built for it" if pack else ""),
        "The wheels on PyPI are for PCs and servers. Those with CUDA for a Jetson go with one "
        "JetPack: its Python, and its CUDA.",
        (index,) if python == "3.10" else (own,) if pack else (index, own),
        name="no-wheel-for-jetson",
        contradicts=("torch/no-wheel-for-this-python", "tensorflow/no-wheel-for-this-python"),
    )


def other_jetpack(
    case: Case, event: Event, wanted: str, pythons: Sequence[str]
) -> Explanation | None:
    """Explain a wheel that was made for the Python, and so the CUDA, of another JetPack."""
    found = _JETPACK.search(str(value_of(case.facts, "host.jetson") or ""))
    own = _PYTHONS.get(found[1]) if found else None
    if found is None or own is None or not pythons or own in pythons:
        return None
    name, python = wanted.partition(" ")[0], pythons[-1]
    pack = f"JetPack {found[1]}{found[2]}"
    recipes: tuple[Recipe, ...] = (
        Recipe(
            title=f"Install the {name} that NVIDIA built for {pack}",
            note="NVIDIA's page PyTorch for Jetson lists the wheels; those for each JetPack lie "
            "below https://developer.download.nvidia.com/compute/redist/jp, in a folder such as "
            "v511/pytorch for JetPack 5.1.1.",
            steps=(Action(install=("<wheel>",)),),
            ask={
                "wheel": f"the address of the wheel for {pack}, with "
                f"cp{own.replace('.', '')} and linux_aarch64 in its name"
            },
        ),
        Recipe(
            title="Take NVIDIA's container with torch for this JetPack",
            note="Its tag names the L4T of the JetPack: r35 for JetPack 5, r36 for JetPack 6, r32 "
            "for JetPack 4.",
            steps=(
                Action(
                    run=("docker", "run", "--runtime", "nvidia", "-it", "--rm", "<image>"),
                ),
            ),
            ask={"image": "such as nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3"},
        ),
    )
    return explanation(
        event,
        f"The wheel of {wanted} is for Python {python}, and {pack} has Python {own}",
        f"A wheel for a Jetson goes with one JetPack: its Python, and its CUDA. Python {python} "
        f"made anew on {pack} would not bring the CUDA libraries that this wheel wants, and the "
        "torch of the usual index has no CUDA for a Jetson.",
        recipes if name.startswith("torch") else recipes[:1],
    )
