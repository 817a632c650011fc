"""Explain a package that pip knows by another name than conda."""

from __future__ import annotations

from doctor.analyzers.case import Explanation
from doctor.analyzers.findings import explanation
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe


def named_torch(event: Event, wanted: str) -> Explanation:
    """Explain pytorch, which on PyPI is an empty package: pip's name of PyTorch is torch."""
    return explanation(
        event,
        "pip's name of PyTorch is torch: the package pytorch on PyPI holds nothing",
        "conda calls it pytorch. A list that was made for conda, or exported from it, has to name "
        "torch for pip.",
        (
            Recipe(
                title="Ask pip for torch",
                steps=(Action(install=(f"torch=={wanted}",)),),
                note="Name it torch in requirements.txt too. An old release has wheels for old "
                "Pythons alone.",
            ),
            Recipe(
                title="Install it with conda, under the name that is asked for",
                use_if=("conda is used",),
                steps=(
                    Action(run=("conda", "install", "-y", f"pytorch={wanted}", "-c", "pytorch")),
                ),
            ),
        ),
        name="release-not-offered",
    )
