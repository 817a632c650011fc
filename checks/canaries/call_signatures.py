# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Reads whether attention packages call each other's functions with arguments that these take"
# needs = []
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = ["signatures"]
# ///
"""The functions of one attention package take the arguments that another package, released apart from it, calls them with.

A failure means that the two packages are not of releases that fit: the call raises TypeError as soon as it is reached, in inference
as well as in training. What is reached depends on the model, so it matters as a warning.

Nothing is imported. Only what is sure is told: a name that one import at the top of a file gives, a function at the top of its own
file, of one name and wrapped by nothing. A call that is tried, that stands under a condition about what is installed, or that the same
function spells in two ways, is left alone, and so is one through an import within a function. The oracle is how Python binds arguments.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, CHECKS)
from reading.calls import Misfit, misfits  # noqa: E402
from reading.sources import Sources, sites, top  # noqa: E402

sys.path.remove(CHECKS)


# --- report: the same in every check, kept so by a test ---
class Ending(Exception):
    """Ends a case, or a whole result, before its time: `raise Ending("skipped", "no nvcc here")`."""


class Report:
    """What was seen and what is being done, on disk before and after every risky step."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.doing: dict[str, Any] = {"device": None, "case": "", "act": False}

    def write(self, doing: dict[str, Any] | None) -> None:
        """Replace the file in one step; where none is asked for, print the document once it is done."""
        document = {"contract": 1, "facts": self.facts, "results": self.results, "doing": doing}
        text, path = json.dumps(document, indent=1), os.environ.get("CANARY_RESULT")
        if path:
            with open(path + ".part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(path + ".part", path)
        elif doing is None:
            print(text)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold what is under test: what it raises is a failure, and how it dies is the patient's."""
        self.write({**self.doing, "act": True})
        try:
            yield
        except Ending:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Ending("failed", " ".join(f"{type(error).__name__}: {error}".split())[:400]) from error
        self.write(self.doing)

    @contextmanager
    def result(self, device: str | None) -> Iterator[dict[str, Any]]:
        """Hold what a device gives (None: the machine): failed with any case, skipped with all."""
        entry: dict[str, Any] = {"device": device, "cases": {}, "data": {}}
        self.results.append(entry)
        started = time.monotonic()
        with self.case("", entry):
            yield entry["data"]
            for verdict in "failed", "skipped":
                said = [f"{name}: {case['reason']}" for name, case in entry["cases"].items() if case["verdict"] == verdict]
                if said and (verdict == "failed" or len(said) == len(entry["cases"])):
                    raise Ending(verdict, "; ".join(said))
        entry["seconds"] = round(time.monotonic() - started, 3)

    @contextmanager
    def case(self, name: str, entry: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold a case of the last result, listed once it has ended; without a name, the result itself."""
        entry = {} if entry is None else entry
        entry.update(verdict="running", reason="")
        self.doing.update(device=self.results[-1]["device"], case=name)
        self.write(self.doing)
        try:
            yield
            entry["verdict"] = "passed"
        except Ending as end:
            entry["verdict"], entry["reason"] = end.args
        if name:
            self.results[-1]["cases"][name] = entry
        self.doing["case"] = ""
        self.write(self.doing)


# --- end of report ---


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
        here = [name for name in CALLED if any(os.path.isdir(os.path.join(site, name)) for site in sites())]
        if not here:
            raise Ending("skipped", f"none of {', '.join(CALLED)} is installed")
        with REPORT.case("signatures"):
            told = {wrong.says: wrong for wrong in reversed(list(misfits(Sources(sites()), here)))}
            said = [f"{wrong.says}: {advise(wrong)} ({wrong.where})" for wrong in told.values()]
            if said:
                raise Ending("failed", "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if said[4:] else ""))
    REPORT.write(doing=None)


main()
