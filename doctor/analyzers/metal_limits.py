"""Explain limits of memory that variables set for Metal."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which variable sets a limit that torch refuses."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "mps-watermark": Text(
        "torch refuses the limit of memory that a variable sets for Metal: {which} ratio {ratio}",
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO is set, in the shell, a script that starts the program "
        "or a file .env. The low ratio may not exceed it, and is 1.4 unless "
        "PYTORCH_MPS_LOW_WATERMARK_RATIO is set; neither may exceed 2. Nothing is wrong with torch "
        "or the program.",
        (
            command(
                "Start the program without the variable",
                "unset",
                "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
                note="Take the line out of the file that sets it, too: grep for WATERMARK in "
                "~/.zshrc, bin/activate of the environment, webui-user.sh and .env.",
            ),
            variables(
                "Set both, the low one below the high one",
                {
                    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7",
                    "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.6",
                },
                use_if=("the limit is wanted",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
