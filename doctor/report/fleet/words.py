"""Sentences about a fleet that several formats share."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from doctor.base.text import one_line
from doctor.fleet.comparison import CHECK, in_words, label_of
from doctor.model.document import FixDocument
from doctor.model.fleet import (
    Difference,
    FleetFinding,
    FleetReport,
    NetworkPath,
    NodeGroup,
)
from doctor.model.scales import Severity
from doctor.report.view.words import count

MOST_DIFFERENCES = 8


def verdict(report: FleetReport) -> str:
    """Return the outcome in one sentence."""
    summary = report.summary
    missing = summary.nodes - summary.answered
    if not summary.answered:
        return f"None of the {count(summary.nodes, 'node')} answered."
    parts = [f"{count(missing, 'node')} did not answer"] if missing else []
    if summary.groups > 1:
        parts.append(_odd(report))
    worst = [one for one in report.findings if one.severity is Severity.ERROR]
    if any(one.id.startswith("fleet/all-reduce") for one in worst):
        parts.append("an all-reduce across nodes fails")
    if any(one.id.startswith("fleet/bits-") for one in worst):
        parts.append("kernels give wrong bits")
    if own := [one for one in worst if not one.id.startswith("fleet/")]:
        parts.append(f"{count(len(own), 'error')} in what nodes report")
    if not parts:
        if summary.nodes == 1:
            return "The node answered and reports no error."
        return f"All {summary.nodes} nodes answered, are alike, and report no error."
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _odd(report: FleetReport) -> str:
    mattering = [group for group in report.groups if matters(group)]
    size = sum(group.size for group in mattering)
    if not size:
        return f"{count(report.summary.groups, 'group')} of nodes differ in nothing that matters"
    if not any(group.majority for group in report.groups):
        return f"{count(report.summary.groups, 'group')} of nodes differ, none is the majority"
    verb = "differs" if size == 1 else "differ"
    return f"{count(size, 'node')} {verb} from what is usual"


def matters(group: NodeGroup) -> bool:
    """Return whether a group differs in something that matters."""
    return any(is_important(one) for one in group.differences)


def split_differences(
    group: NodeGroup,
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Return the differences to show at once, all that matter among them, and the rest."""
    important = tuple(one for one in group.differences if is_important(one))
    others = tuple(one for one in group.differences if not is_important(one))
    room = max(MOST_DIFFERENCES - len(important), 0)
    return (*important, *others[:room]), others[room:]


def is_important(one: Difference) -> bool:
    """Return whether a difference is a warning or an error."""
    return one.severity is not None and one.severity > Severity.NOTE


def states(report: FleetReport) -> str:
    """Return how many nodes answered, and how many did not."""
    summary = report.summary
    named = ("answered", "silent", "refused", "lost")
    return ", ".join(
        f"{getattr(summary, name)} {name}"
        for name in named
        if getattr(summary, name) or name == "answered"
    )


def group_title(group: NodeGroup) -> str:
    """Return what the machines of a group are, in a few words."""
    return ", ".join(group.traits.values()) or "nothing is known of these machines"


def difference(one: Difference) -> str:
    """Return a difference in one line."""
    label = label_of(one.name)
    if one.name.startswith(CHECK):
        return f"{label}: {one.here} instead of {one.majority}"
    more = f" (and {count(one.follows, 'fact')} that follow)" if one.follows else ""
    here, usual = in_words(one.name, one.here), in_words(one.name, one.majority)
    return f"{label}: {here} instead of {usual}{more}"


def path(one: NetworkPath) -> str:
    """Return how nodes reached each other in an all-reduce, in one line."""
    transport = f" over {one.transport}" if one.transport else ""
    parts = [
        f"{one.backend}{transport}" if one.backend else "no backend",
        one.interface and f"interface {one.interface}",
        f"MTU {one.mtu}" if one.mtu else "",
    ]
    verdict_ = "right sums" if one.works else "no right sum"
    return ", ".join(filter(None, (verdict_, *parts)))


def commands(found: FleetFinding) -> Iterator[str]:
    """Yield the commands of the engine as lines for a POSIX shell."""
    for argv in found.exclude:
        yield shlex.join(one_line(word, 4000) for word in argv)


def fix_lines(fix: FixDocument) -> tuple[str, ...]:
    """Return the commands of a fix, each on one line."""
    return tuple(one_line(line, 400) for line in fix.commands)
