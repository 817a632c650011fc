"""Explain a name that a compiled module should have passed on."""

from __future__ import annotations

import re

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.recipes import WINDOWS, again, command
from doctor.model.events import Event

COMPILED = re.compile(
    r"(?<!torch)\.(?:_C|_ext|_cext|_native|_rust|_kernels|_pybind_state|\w{0,40}_pybind11_state)$"
)
"""Modules that pass on what a compiled one holds; their own files name nothing of it."""


def explain_unloaded(event: Event, distribution: str, name: str, module: str) -> Explanation:
    """Explain a name that a compiled module should have passed on."""
    return Explanation(
        event=event,
        precision=Precision.FAMILY,
        detection=detection(
            event,
            f"{module} lacks {name}: the compiled part of {distribution} did not load",
            f"{module} passes on what a compiled module holds. That module did not load, mostly "
            f"for a library that is missing, or its file is of another release. A warning above "
            f"this line names the reason.",
            recipes=(
                command(
                    "Install the Visual C++ runtime",
                    *("winget", "install", "--exact", "--id", "Microsoft.VCRedist.2015+.x64"),
                    *("--accept-package-agreements", "--accept-source-agreements"),
                    use_if=(WINDOWS,),
                ),
                again(distribution),
            ),
            name="compiled-part-not-loaded",
        ),
    )
