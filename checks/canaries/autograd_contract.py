# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Checks that autograd functions keep what their backward passes read"
# needs = []
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = ["attributes", "gradient-count", "running"]
# ///
"""An autograd function's backward pass reads from `ctx` only what its forward pass stores there.

A failure means that gradients cannot be had through that function: the first `backward()` raises,
most often because one package takes over the backward pass of another that has moved on since.
Inference never calls it, so a failure matters as a warning.

Nothing is imported. Classes and their bases are found by reading the import statements of the
installed files. The oracle is what autograd itself does: an attribute that no statement sets is
missing, and a backward pass returns at least as many values as `apply` was given. A class counts
where `apply` of it can be reached, and where its forward pass was made for a backward pass: one
that keeps no tensors, under an inherited backward pass that unpacks them, serves inference only.
What is in doubt is no failure.

Where torch is there, the classes that build on another package's are run in a child: their own
forward and backward pass on the processor, with stand-ins for every function that they call outside
torch.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CHECKS, CaseEnded, Report, is_installed  # noqa: E402
from reading.contracts import Contract, Suspect, accepts, suspects  # noqa: E402
from reading.functions import bodies  # noqa: E402
from reading.reach import Site  # noqa: E402
from reading.sources import Sources, sites  # noqa: E402

REPORT = Report()
BOUND = 60.0
RUNS = 4


def description_for_child(held: Contract, sites: list[Site]) -> dict[str, Any] | None:
    """Describe a class to the child that runs it.

    None where its source does not say which inputs are tensors.
    """
    ends = [part.value for part in bodies(held.backward.node) if isinstance(part, ast.Return)]
    last = ends[0].elts if len(ends) == 1 and isinstance(ends[0], ast.Tuple) else []
    tensors = [index for index, value in enumerate(last) if not isinstance(value, ast.Constant)]
    given = max(
        [site.given for site in sites if site.given is not None and accepts(held, site.given)]
        or [0]
    )
    if (
        not tensors
        or not given
        or {held.forward.owner, held.backward.owner} - {node.name for _, node in held.kind.line}
    ):
        return None
    return {
        "line": [[module.path, node.name] for module, node in held.kind.line],
        "tensors": tensors,
        "given": given,
    }


def run(classes: list[Any]) -> list[str]:
    """Ask classes for gradients in one child; return what each said, as far as the child came."""
    try:
        command = [sys.executable, os.path.join(CHECKS, "reading", "gradients.py")]
        ran = subprocess.run(
            command,
            input=json.dumps(classes),
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [type(error).__name__] * len(classes)
    print(ran.stderr[-8000:], file=sys.stderr)
    said = [line[2:].strip() for line in ran.stdout.splitlines() if line.startswith("--")]
    return said + [f"the child ended with {ran.returncode}"] * (len(classes) - len(said))


def judged(held: Contract, said: str) -> bool | None:
    """Say whether a class gave gradients; None where what it raised is not about its contract."""
    name = f"{held.kind.node.name}Backward"
    if f"function {name} returned an incorrect number of gradients" in said:
        return False
    missing = [
        read.name
        for read in held.reads
        if said == f"AttributeError: '{name}' object has no attribute '{read.name}'"
    ]
    return (
        True
        if said == "passed"
        else False
        if missing and missing[0] not in held.kept.some
        else None
    )


def running(held: list[Suspect]) -> list[tuple[Contract, str]]:
    """Run the suspects, the faulty ones first, and return what each said."""
    chosen = [
        (one, description_for_child(one, places))
        for one, places, _ in sorted(held, key=lambda one: not one[2])[:RUNS]
    ]
    asked = [described for _, described in chosen if described]
    told = iter(run(asked) if asked else [])
    return [
        (one, next(told) if described else "its source does not say which inputs are tensors")
        for one, described in chosen
    ]


def tell(held: list[Suspect], case: str, ran: list[tuple[Contract, str]]) -> None:
    """End a case with its faults, but for those that running the class has refuted."""
    well = [one for one, said in ran if judged(one, said)]
    said = [
        fault.says
        for one, _, found in held
        for fault in found
        if fault.case == case and not (fault.settled and one in well)
    ]
    if said:
        raise CaseEnded(
            "failed", "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")
        )


def tell_run(ran: list[tuple[Contract, str]]) -> None:
    """End the case with what the classes raised."""
    if not ran:
        raise CaseEnded("skipped", "torch is not installed")
    red = [
        f"{said} (what {one.kind.node.name} calls outside torch was replaced by stand-ins)"
        for one, said in ran
        if judged(one, said) is False
    ]
    if red:
        raise CaseEnded("failed", "; ".join(red))
    if all(judged(one, said) is None for one, said in ran):
        raise CaseEnded(
            "skipped",
            "; ".join(
                f"{one.kind.node.name} could not be run by itself: {said}" for one, said in ran
            ),
        )


def main() -> None:
    """Read every autograd function, run those that use another package, and report the faults."""
    with REPORT.result(None) as data:
        data.update(matters="warning", functions=0)
        sources = Sources(sites())
        held = list(suspects(sources, data))
        data["files"] = len(sources.files)
        if not data["functions"]:
            raise CaseEnded(
                "skipped", "no autograd function that is installed takes over the passes of another"
            )
        ran = running(held) if is_installed("torch") else []
        data["ran"] = {one.kind.node.name: said for one, said in ran}
        with REPORT.case("attributes"):
            tell(held, "attributes", ran)
        with REPORT.case("gradient-count"):
            tell(held, "gradient-count", ran)
        with REPORT.case("running"):
            if not held:
                raise CaseEnded(
                    "skipped", "no autograd function here builds on one of another package"
                )
            tell_run(ran)


if __name__ == "__main__":
    REPORT.run(main)
