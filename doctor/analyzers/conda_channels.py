"""Explain packages for CUDA that the channels of conda do not have for a system."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.fitting_pythons import on_mac
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Recipe, Snippet

TOOLKIT = re.compile(r"(?:cudatoolkit|cuda-?\d{2,3}|pytorch-cuda|cudnn)\b")


_OTHER_CHANNELS = (
    (re.compile(r"cudatoolkit=*(?:9\.|10\.|11\.)"), "conda-forge"),
    (re.compile(r"dgl-cuda"), "dglteam"),
    (re.compile(r"pytorch-cuda|cuda-toolkit|cuda-nvcc"), "nvidia"),
)
"""Packages for CUDA that the default channels lack, and the channel that has them."""


def no_toolkit(case: Case, event: Event, shown: str, named: Sequence[str]) -> Explanation:
    """Explain packages for CUDA in a list that the channels do not have for this system."""
    arm = (value_of(case.facts, "host.machine") or case.context.machine) in ("aarch64", "arm64")
    without = on_mac(case) or arm
    pins = [one for one in named if TOOLKIT.match(one) or "cuda" in one] if not without else named
    channels = list(
        dict.fromkeys(
            channel
            for one in named
            for form, channel in _OTHER_CHANNELS
            if form.match(one) and not without
        )
    )
    take_out = Recipe(
        title=f"Take {', '.join(pins[:4])} out of the list",
        snippet=Snippet(
            where="the environment.yml",
            before="\n".join(f"- {one}" for one in pins[:8]),
            after="\n".join(f"# - {one}" for one in pins[:8]),
        ),
        note="python and pip stay without their number (- python=3.10). Then make the environment, "
        "and install torch and the rest into it by pip, as pytorch.org says."
        if without
        else "Then make the environment, and install torch into it as pytorch.org says.",
    )
    add = Recipe(
        title=f"Name the channel that has them: {', '.join(channels)}",
        snippet=Snippet(
            where="the environment.yml, below channels:",
            after="\n".join(f"- {one}" for one in channels),
        ),
    )
    return explanation(
        event,
        f"No channel that was asked has {shown} for this system",
        "This is an ARM processor or a Mac: conda has cudatoolkit and the builds of that time for "
        "x86-64 alone."
        if without
        else "conda has cudatoolkit up to 11.8 for Linux and Windows only, some of its releases "
        "only on conda-forge: a Mac has no CUDA, and 12 and later is called cuda-toolkit. A torch "
        "from pip brings the CUDA libraries itself, so that the line can go.",
        (*((add,) if channels else ()), take_out),
    )
