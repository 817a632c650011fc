"""Explain a list of torchvision's or torchaudio's releases that pip tried beside one torch."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.offers import companion_of
from doctor.analyzers.resolver_rules import LONGEST
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_ITEM = re.compile(r"(?P<name>torch|torchvision|torchaudio)==(?P<release>\d[\w.+]{0,30})")
_WRAPPED = 40
"""Lines over which pip's list of releases may be broken."""


def of_companions(case: Case, event: Event) -> Explanation | None:
    """Explain releases of torchvision or torchaudio that all want another torch than the one asked.

    pip tries them from the newest down, and gives up before it comes to the one that fits.
    """
    lines = case.log.lines[event.at : event.at + _WRAPPED]
    text = " ".join(" ".join(line[:LONGEST] for line in lines).split())
    _, _, text = text.partition("Cannot install ")
    listed, found, _ = text.partition(" because these package versions have")
    if not found:
        return None
    asked: dict[str, list[str]] = {}
    for item in _ITEM.finditer(listed):
        asked.setdefault(item["name"], []).append(item["release"].partition("+")[0])
    torch = list(dict.fromkeys(asked.pop("torch", ())))
    tried = {name: releases for name, releases in asked.items() if len(set(releases)) > 1}
    if len(torch) != 1 or not tried:
        return None
    name, releases = next(iter(tried.items()))
    fits = companion_of(case.catalog, name, torch[0])
    if not fits or fits in releases:
        return None
    return explanation(
        event,
        f"{name} {fits} goes with torch {torch[0]}; the {len(set(releases))} releases that pip "
        "tried want another torch",
        f"torch is asked for as {torch[0]}, and {name} without a release. pip tries the newest "
        f"ones first, each of which wants its own torch, and gives up before {fits}.",
        (
            Recipe(
                title=f"Name the {name} of torch {torch[0]}",
                note="Into the Python or the virtual environment of the program, which has its own "
                "where it is an application; then start it again. The same release belongs into "
                "its list of requirements.",
                steps=(Action(install=(f"torch=={torch[0]}", f"{name}=={fits}")),),
            ),
        ),
        contradicts=("torch/pins-contradict",),
    )
