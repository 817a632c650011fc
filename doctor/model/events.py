"""Events: what programs report in a log, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec


class Level(Enum):
    """What an event is: a failure, a warning, or a report about another program's failure."""

    FAILURE = "failure"
    WARNING = "warning"
    WRAPPER = "wrapper"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One report of one program in a log.

    `speaker` is the program ("pip", "nvcc", "CUDA"), `kind` the mechanism ("undefined-symbol"),
    `objects` what the message names (symbol, library, package, version, code …). `text` is the line
    as it stands in the log, `at` its index among the lines, `line` its number from 1. A general
    event only shows that something failed: a line that begins with `error:`, an exception that no
    form knows.

    `process` names the process of many that printed it (`[rank0]`). `first` and `last` are the
    indices of the lines of its traceback, -1 outside of one; `chain` tells how that traceback
    follows from the one above it ("cause" or "handling").
    """

    speaker: str
    kind: str
    text: str
    source: str
    at: int
    line: int
    level: Level = Level.FAILURE
    objects: Mapping[str, str] = msgspec.field(default_factory=dict)
    general: bool = False
    process: str = ""
    first: int = -1
    last: int = -1
    chain: str = ""
