# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Checks that attention packages call each other with arguments that fit"
# needs = []
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = ["signatures"]
# ///
"""The functions of an attention package take the arguments that another package passes to them.

A failure means that the two packages are not of releases that fit: the call raises TypeError as
soon as it is reached, in inference as well as in training. What is reached depends on the model, so
it matters as a warning.

Nothing is imported. Only what is sure is told: a name that one import at the top of a file gives, a
function at the top of its own file, of one name and wrapped by nothing. A call that is tried, that
stands under a condition about what is installed, or that the same function spells in two ways, is
left alone, and so is one through an import within a function. The oracle is how Python binds
arguments.
"""

from __future__ import annotations

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report  # noqa: E402
from reading.calls import Misfit, misfits  # noqa: E402
from reading.sources import Sources, sites, top  # noqa: E402

REPORT = Report()
CALLED = ("flash_attn", "ring_flash_attn", "xfuser", "yunchang")
"""Packages that others call and that are released apart from them."""


def advise(wrong: Misfit) -> str:
    """Say what to do."""
    return f"move {top(wrong.caller)} and {top(wrong.callee)} to releases made for each other"


def main() -> None:
    """Read every call into these packages."""
    with REPORT.result(None) as data:
        data["matters"] = "warning"
        here = [
            name
            for name in CALLED
            if any(os.path.isdir(os.path.join(site, name)) for site in sites())
        ]
        if not here:
            raise CaseEnded("skipped", f"none of {', '.join(CALLED)} is installed")
        with REPORT.case("signatures"):
            told = {wrong.says: wrong for wrong in reversed(list(misfits(Sources(sites()), here)))}
            said = [f"{wrong.says}: {advise(wrong)} ({wrong.where})" for wrong in told.values()]
            if said:
                raise CaseEnded(
                    "failed",
                    "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if said[4:] else ""),
                )


if __name__ == "__main__":
    REPORT.run(main)
