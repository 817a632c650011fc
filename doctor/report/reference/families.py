"""What the ids mean that no entry of the catalog has: those of generic rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from doctor.base.own_name import own
from doctor.report.terminal.page import (
    QUIET,
    Lines,
    TerminalOptions,
    blank,
    look,
    paragraph,
    rendered_lines,
    span,
)


class Family(NamedTuple):
    """Ids with one beginning: what a finding of this kind means, and what to do about it."""

    form: str
    meaning: str
    advice: str


FAMILIES: Mapping[str, Family] = {
    "canary": Family(
        "canary/CHECK",
        "A check failed in the environment, and no known issue explains why. The check runs one "
        "small operation and compares its result with an independent computation, so the "
        "operation fails for your programs too.",
        "Read the log of the check: doctor show -v. If the stack is healthy otherwise, reinstall "
        "the package that the log names, then report the failure with doctor show -f markdown.",
    ),
    "check": Family(
        "check/CHECK",
        "A check broke before it could say anything: the fault is in doctor's own script, or "
        "something in the environment overwrote its result. It says nothing about the stack.",
        "Run the check alone with -v, and report it with doctor show -f markdown.",
    ),
    "compat": Family(
        "compat/TABLE/COLUMN",
        "Two releases are installed that a compatibility table does not have in one row. Each row "
        "of a table names its source.",
        "Install the release that the finding names. doctor list shows the tables.",
    ),
    "expect": Family(
        "expect/DEVICE",
        "--expect names a device, and no check reached it. Without --expect this is no finding.",
        "Look at what the report says about this device: driver, build of the framework, "
        "permissions, visible devices. Or drop the expectation on machines without the device.",
    ),
    "extension": Family(
        "extension/PACKAGE",
        "A compiled module of this package cannot be loaded: a library or a symbol is missing, or "
        "it was built for another release.",
        "Install the build of the package that goes with the installed framework, or build it "
        "there.",
    ),
    "card": Family(
        "card/one-of-several",
        "A check fails on one GPU, and passes on another of the same model in the same machine. "
        "The card is suspected, and not the program.",
        "Leave the card out with CUDA_VISIBLE_DEVICES, and follow the fixes in the report.",
    ),
    "failure": Family(
        "failure/KIND",
        "A log contains an error that no known issue describes, and doctor explains it by its "
        "mechanism: which program reports it, about what.",
        "Follow the fix in the report. doctor diagnose LOG gives it again.",
    ),
    "fleet": Family(
        "fleet/KIND",
        "doctor fleet says this of nodes. silent: no answer came in time. refused: the scheduler "
        "or the node did not run the check. lost: the check began, and no report came. "
        "differs/FACT: a node has another value than most. bits-differ, bits-change: a kernel "
        "gives other bits than on equal nodes, or than before. all-reduce-…: nodes or links do "
        "not add numbers together. clock, two-reports, other-name, doctor-versions: the reports "
        "themselves do not agree.",
        "Run doctor check on one of the nodes that the finding names, and compare it with a node "
        "that is well: doctor diff.",
    ),
    "ignore": Family(
        "ignore/expired, ignore/unused",
        "A finding is ignored in [tool.doctor], and the ignore has ended or covers nothing.",
        "Remove the ignore, or look at the finding again and set another day. The finding names "
        "the line.",
    ),
    "import": Family(
        "import/PACKAGE",
        "The package is installed and cannot be imported; it was tried in a process of its own.",
        "Install what it asks for, or a release that fits the others.",
    ),
    "judging": Family(
        "judging/unfinished",
        "Judging took longer than its limit, so doctor judged again without logs and outputs.",
        "Give the run more time (--budget), or fewer and shorter logs.",
    ),
    "machine": Family(
        "machine/RESOURCE",
        "The machine refused something that a check needs: space, open files, memory, processes, "
        "time or rights. The checks did not run, so this says nothing about the stack.",
        "Lift the limit that the finding names, or set TMPDIR to a folder with room.",
    ),
    "probe": Family(
        "probe/PROBE",
        "A part of doctor that reads files and asks tools did not finish. Its facts are unknown.",
        "Report it with doctor show -f markdown.",
    ),
    "reach": Family(
        "reach/STATE",
        "The machine shows a GPU, and the framework that is built for it does not reach it.",
        "Follow the fix in the report: driver, device nodes, permissions or visible devices.",
    ),
    "requires": Family(
        "requires/PACKAGE",
        "An installed package asks for another package, and that is missing or has a release that "
        "it does not allow. This is read from its metadata, as pip check does.",
        "Install a release that both allow; the finding names the command.",
    ),
}
"""By the first part of an id."""


def render(id_: str, *, width: int, colour: bool, unicode: bool) -> str:
    """Return what an id of a generic rule means."""
    how = look(width=width, unicode=unicode, colour=colour, verbosity=1)
    return rendered_lines(_family(id_, FAMILIES[id_.partition("/")[0]], how), how)


def _family(id_: str, family: Family, how: TerminalOptions) -> Lines:
    yield from paragraph(span(how, (id_, "bold"), (f"  {family.form}", QUIET)), how, indent=0)
    yield blank()
    yield from paragraph(family.meaning, how)
    yield blank()
    advice = re.sub(r"\bdoctor (?=show|list|diagnose|check|diff)", own() + " ", family.advice)
    yield from paragraph(advice, how, label=("do", QUIET))
