"""Explain failures of communication: NCCL, gloo, rendezvous, refused connections, proxies."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.communication.desync import desynchronised
from doctor.analyzers.communication.texts import BETWEEN_TWO, CONSEQUENCES, HERE, REASONS, TABLE
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import explained
from doctor.model.events import Event, Level
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why the processes of a run, or a client and its server, do not reach each other."""
    table = TABLE
    if any(event.level is Level.FAILURE and event.kind not in table for event in case.events):
        # A rank that failed for its own reason closes its connections.
        table = {kind: text for kind, text in table.items() if kind not in CONSEQUENCES}
    specific = [one for one in explained(case, REASONS) if one.precision is Precision.EXACT]
    if specific:
        table = {kind: text for kind, text in table.items() if kind not in _LESS_SPECIFIC}
    if not any(word in line for line in case.log.lines for word in HERE):
        table = {kind: text for kind, text in table.items() if kind != "proxy-answers"}
    if alone := [event for event in case.of("nccl-timeout") if _between_two(event)]:
        yield from explained(case._replace(events=tuple(alone)), {"nccl-timeout": BETWEEN_TWO})
    registered = {event.at for event in case.of("locked-memory")}
    yield from (one for one in explained(case, table) if one.event.at not in registered)
    for one in specific:
        yield from _with_reports(case, one)
    yield from _ranks(case)
    yield from desynchronised(case)


def _between_two(event: Event) -> bool:
    """Say whether an operation that did not end is between two ranks, as in a pipeline."""
    return event.objects.get("operation", "") in ("RECV", "SEND")


_LESS_SPECIFIC = {"nccl-shared-memory", "nccl-network"}
_ABOUT_OTHERS = ("nccl-error", "nccl-shared-memory")
_CALL = re.compile(r"init_process_group\(.{1,500}")
_RANK = re.compile(r"\brank ?= ?(\d{1,5})\b")
_SIZE = re.compile(r"\bworld_size ?= ?(\d{1,5})\b")
_LONGEST = 1000


def _with_reports(case: Case, one: Explanation) -> Iterator[Explanation]:
    """Yield an explanation, and once more for each later line that only reports the failure.

    The line with WARN names what the system refused; torch then prints "unhandled system error".
    """
    yield one
    for event in case.of(*_ABOUT_OTHERS):
        if event.at > one.event.at:
            yield msgspec.structs.replace(one, event=event)


def _ranks(case: Case) -> Iterator[Explanation]:
    """Yield that a rank is not below the number of ranks, by the call in a traceback."""
    for event in case.events:
        if event.first < 0 or event.level is not Level.FAILURE:
            continue
        for line in case.log.lines[event.first : event.last + 1]:
            call = _CALL.search(line[:_LONGEST]) if "init_process_group(" in line else None
            rank, size = (_RANK.search(call[0]), _SIZE.search(call[0])) if call else (None, None)
            if rank and size and int(rank[1]) >= int(size[1]) > 0:
                yield _beyond(event, int(rank[1]), int(size[1]))
                return


def _beyond(event: Event, rank: int, size: int) -> Explanation:
    """Explain a rank that does not exist; where no process has rank 0, nobody opens the store."""
    whole = size == 1
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("distributed/*", "nccl/*"),
        detection=detection(
            event,
            f"Rank {rank} does not exist: world_size={size}, and ranks count from 0",
            f"The only rank is 0. It opens the store that the others connect to; rank {rank} "
            "waits for it until the time is up."
            if whole
            else f"The ranks are 0 to {size - 1}. Rank 0 opens the store that the others connect "
            "to, and the group waits until each of these has come.",
            recipes=(
                code(
                    "Count the ranks from 0",
                    "the call of init_process_group",
                    "dist.init_process_group(..., world_size=1, rank=0)"
                    if whole
                    else "rank = node_rank * processes_per_node + local_rank",
                    before=f"dist.init_process_group(..., world_size={size}, rank={rank})"
                    if whole
                    else "",
                    note="Neither the network nor NCCL is at fault.",
                ),
            ),
            severity=Severity.NOTE,
            name="rank-out-of-range",
        ),
    )
