"""A library of torch itself that only the builds for another vendor's GPUs have."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_OF_VENDOR = re.compile(
    r"^(?:lib)?(?:torch|c10)_(?P<vendor>cuda|hip|xpu)(?:_\w{1,20})?\.(?:so|dll)$"
)
_INDEX = re.compile(r"https://download\.pytorch\.org/whl/(?P<tag>rocm\d\.\d|cpu|xpu|cu\d{3})\b")
_WORDS = {"cuda": "CUDA", "hip": "ROCm", "xpu": "Intel's GPUs"}


def of_other_vendor(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain a library of torch itself that this build of torch does not have.

    The log shows the build by the index that torch came from; else nothing is said.
    """
    match = _OF_VENDOR.match(name)
    tags = {
        found["tag"]
        for line in case.log.lines[:2000]
        if "install" in line or "index" in line.lower()
        for found in _INDEX.finditer(line[:1000])
    }
    if match is None or len(tags) != 1:
        return None
    (tag,) = tags
    here = "cuda" if tag.startswith("cu") else "hip" if tag.startswith("rocm") else tag
    if here == match["vendor"]:
        return None
    index = f"https://download.pytorch.org/whl/{tag}"
    together = ("torch", "torchvision", "torchaudio")
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("cuda/library-not-found",),
        detection=detection(
            event,
            f"A package built for {_WORDS[match['vendor']]} lies beside torch from the index {tag}",
            f"{name} is a part of torch itself, in builds for {_WORDS[match['vendor']]} only. "
            "torchvision, torchaudio or another extension came from PyPI or another index, whose "
            "builds are for that.",
            recipes=(
                Recipe(
                    title=f"Install torch, torchvision and torchaudio anew, all from {tag}",
                    steps=(
                        Action(
                            install=together,
                            index=index,
                            options=(Option.REINSTALL, Option.NO_DEPS),
                        ),
                        Action(install=together, index=index),
                    ),
                    note="Programs that list torchvision or torchaudio among their requirements "
                    "bring those of PyPI back: install these last.",
                ),
            ),
            name="build-for-another-vendor",
            captures={"library": name},
        ),
    )
