"""What lines that a program of ours printed come to.

Pure, so that what needs a Mac is judged the same in tests.
"""

from __future__ import annotations

import json
import re
import signal
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

Termination = Optional[Tuple[str, str]]
"""A verdict and its reason; None where a case passed."""
Lines = List[Dict[str, Any]]
Judge = Callable[[Lines, str], Termination]

UNBUILT = re.compile(
    r"has not been built with|CUDA_ERROR_NO_DEVICE|no CUDA-capable device|CUDA_ERROR_STUB_LIBRARY",
    re.IGNORECASE,
)
GUARDED = re.compile(r"device mismatch in")
KNOWN = "releases from 0.9.0 on have this fault (huggingface/candle#3744)"
LONGEST = 600


class ProgramOutput(NamedTuple):
    """The lines about each case, the case that was begun last, and why there are no more.

    No device, or an error.
    """

    cases: dict[str, Lines]
    types: dict[str, str]
    begun: str
    no_device: str
    error: str


def parse_output(out: str) -> ProgramOutput:
    """Read what a program printed; a line that was cut off by its end is none."""
    cases: dict[str, Lines] = {}
    types: dict[str, str] = {}
    begun, last = "", {"no_device": "", "error": ""}
    for line in out.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict):
            continue
        if "case" in told:
            cases.setdefault(told["case"], []).append(told)
        elif "refused" in told:
            types[told["type"]] = told["refused"]
        begun = "" if "case" in told else told.get("begin", begun)
        last.update((key, str(told[key])) for key in last if key in told)
    return ProgramOutput(cases, types, begun, last["no_device"], last["error"])


def unopened(said: str) -> Termination:
    """Judge what opening a device said.

    No device is a skip, one that does not open is a failure.
    """
    return ("skipped" if UNBUILT.search(said) else "failed"), f"the device does not open: {said}"[
        :LONGEST
    ]


def total(lines: Lines, what: str) -> int:
    """Return how many products went so, of all groups and types."""
    return sum(line[what] for line in lines)


def first(lines: Lines, what: str) -> str:
    """Return the first product that went so, and what was said of it."""
    return next((line[f"first_{what}"] for line in lines if line[what]), "")


def count(lines: Lines) -> int:
    """Return how many products there were."""
    return sum(total(lines, what) for what in ("right", "refused", "wrong"))


def exact(lines: Lines, _: str) -> Termination:
    """Operands that every release multiplies: right, or a failure."""
    if total(lines, "wrong"):
        return wrong(lines, "")
    if total(lines, "refused"):
        return (
            "failed",
            f"{total(lines, 'refused')} of {count(lines)} refused: {first(lines, 'refused')}"[
                :LONGEST
            ],
        )
    return None


def refusable(lines: Lines, device: str) -> Termination:
    """Operands that a release may refuse with a clear error: a wrong number is a failure."""
    return wrong(lines, device)


def wrong(lines: Lines, _: str) -> Termination:
    """Fail where a number is wrong."""
    if not total(lines, "wrong"):
        return None
    return "failed", f"{total(lines, 'wrong')} of {count(lines)} wrong: {first(lines, 'wrong')}"[
        :LONGEST
    ]


def spread(lines: Lines, device: str) -> Termination:
    """Report wrong products of one matrix with a batch of views, without a verdict."""
    ended = wrong(lines, device)
    if ended and device == "cpu" and "panicked" not in ended[1]:
        return "skipped", f"{KNOWN}, so it is told and not counted: {ended[1]}"[:LONGEST]
    return ended


def refusals(heard: ProgramOutput, ends: dict[str, Termination]) -> list[str]:
    """Return what is worth a line beside the verdicts.

    What was refused, and which types are not multiplied at all.
    """
    refused = [
        f"{name} {total(lines, 'refused')} of {count(lines)}"
        for name, lines in heard.cases.items()
        if lines
        and "refused" in lines[0]
        and total(lines, "refused")
        and (ends.get(name) or [""])[0] != "failed"
    ]
    said = (
        [f"refused with an error, which is not counted against it: {', '.join(refused)}"]
        if refused
        else []
    )
    said += [f"{kind} is not multiplied here: {why}"[:200] for kind, why in heard.types.items()]
    if (ends.get("broadcast") or ("", ""))[1].startswith(KNOWN):
        lines = heard.cases["broadcast"]
        many = f"{total(lines, 'wrong')} of {count(lines)}"
        said.append(
            f"a view made by broadcast_as() gave wrong products, {many}: call "
            "contiguous() on it first (huggingface/candle#3744)"
        )
    return said


def death(heard: ProgramOutput, code: int) -> Termination:
    """Judge how a program ended that ended too soon.

    By a signal, or by an error of candle that no case holds.
    """
    if code == 0 and not heard.error:
        return None
    how = f"died of {name_of(-code)}" if code < 0 else f"ended with {code}"
    return "failed", (heard.error or f"the program {how}")[:LONGEST]


def name_of(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def alone(lines: Lines, _: str) -> Termination:
    """One handle: the device adds at all, or everything else says nothing."""
    line = lines[-1]
    return None if line["how"] == "right" else ("failed", line["detail"][:LONGEST])


def together(lines: Lines, _: str) -> Termination:
    """Two handles, or two devices: right, or candle's own error about devices.

    Anything else that is said decides nothing.
    """
    line = lines[-1]
    if line["how"] == "wrong":
        return "failed", line["detail"][:LONGEST]
    if line["how"] == "right" or GUARDED.search(line["detail"]):
        return None
    return "skipped", f"undecided, for another error came first: {line['detail']}"[:LONGEST]
