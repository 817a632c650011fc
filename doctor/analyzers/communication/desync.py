"""Ranks that wait in different exchanges, by the watchdog's own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import code, variables
from doctor.model.events import Event

_LINE = re.compile(
    r"\[Rank (\d{1,5})\] Watchdog caught collective operation timeout: "
    r"WorkNCCL\(SeqNum=(\d{1,12}), OpType=(\w{3,40})(?:, NumelIn=(\d{1,15}))?"
)
_GROUP = re.compile(r"\[PG (?:ID )?(\d{1,4})\b")
_LONGEST = 1000
_SHOWN = 2


class Wait(NamedTuple):
    """What one rank waits in: the number of the exchange, its kind, and its size."""

    rank: int
    number: int
    kind: str
    size: int


def desynchronised(case: Case) -> Iterator[Explanation]:
    """Yield that ranks wait in different exchanges of one group, where the log shows two."""
    found: dict[int, Wait] = {}
    at: Event | None = None
    for event in case.of("nccl-timeout"):
        line = case.log.lines[event.at][:_LONGEST] if event.at < len(case.log.lines) else ""
        if (match := _LINE.search(line)) and _GROUP.findall(line.partition("Watchdog")[0]) in (
            [],
            ["0"],
        ):
            rank = int(match[1])
            found.setdefault(rank, Wait(rank, int(match[2]), match[3], int(match[4] or 0)))
            at = at or event
    waits = sorted(found.values())
    differ = {(one.kind, one.size) for one in waits}
    if at is None or len(waits) < _SHOWN or len(differ) == 1 or _has_pair(waits):
        return
    one = waits[0]
    other = next(wait for wait in waits if (wait.kind, wait.size) != (one.kind, one.size))
    yield Explanation(
        event=at,
        precision=Precision.EXACT,
        contradicts=("nccl/collective-timed-out",),
        detection=detection(
            at,
            f"The ranks do different things: rank {one.rank} waits in {_words(one)}, rank "
            f"{other.rank} in {_words(other)}",
            "All ranks have to run the same exchanges in the same order. One of them took another "
            "way through the program: it had fewer batches, skipped a step, or saves or evaluates "
            "alone. The network is not at fault, and more time does not help.",
            recipes=(
                code(
                    "Give each rank the same number of batches",
                    "the place that makes the loader; a sampler of your own cuts its list to a "
                    "multiple of the number of ranks",
                    "sampler = DistributedSampler(dataset, drop_last=True)\n"
                    "loader = DataLoader(dataset, sampler=sampler, drop_last=True)\n"
                    "steps = torch.tensor(len(loader), device='cuda')\n"
                    "dist.all_reduce(steps, op=dist.ReduceOp.MIN)  # stop all ranks after these",
                    note="What one rank does alone (save, evaluate) holds no exchange; the others "
                    "meet it at dist.barrier() behind it.",
                ),
                variables(
                    "Have torch name the call in which the ranks part",
                    {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
                    note="It compares each exchange, which is slow.",
                    lasting=False,
                ),
            ),
            name="ranks-out-of-step",
        ),
    )


def _has_pair(waits: list[Wait]) -> bool:
    """Say whether ranks send and receive, which are different on purpose."""
    return any(one.kind in ("SEND", "RECV", "COALESCED") for one in waits)


def _words(wait: Wait) -> str:
    return f"{wait.kind} number {wait.number}" + (f" of {wait.size} values" if wait.size else "")
