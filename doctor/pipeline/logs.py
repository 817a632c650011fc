"""Open logs, and turn them into an observation."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from doctor import __version__
from doctor.base.errors import UsageError
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, State, present, value_of
from doctor.model.observation import Log, Observation

LogSource: TypeAlias = "Path | BinaryIO"
"""A file, `-` for standard input, or a file that is open for reading bytes."""
_STANDARD_INPUT = "-"


def read_logs(sources: Sequence[LogSource], catalog: Catalog) -> tuple[Log, ...]:
    """Read logs in their order.

    Raises UsageError for a path that occurs twice, for a file that cannot be read, and for a device
    without an end.
    """
    paths = [str(source) for source in sources if isinstance(source, Path)]
    if len(set(paths)) < len(paths):
        raise UsageError("the same log is given twice")
    return tuple(_read(source, catalog) for source in sources)


def read_log(name: str, stream: BinaryIO, catalog: Catalog) -> Log:
    """Read a log of any size: of a long one, the lines near what the catalog looks for.

    Raises UsageError for a device without an end.
    """
    from doctor.judge.match.signatures import telling
    from doctor.logs import reading

    _refuse_endless(name, stream)
    return reading.read(stream, name, telling(catalog))


def _read(source: LogSource, catalog: Catalog) -> Log:
    if not isinstance(source, Path):
        return read_log(str(getattr(source, "name", "log")), source, catalog)
    try:
        if str(source) == _STANDARD_INPUT:
            if sys.stdin is None:
                raise UsageError("-: standard input is closed")
            return read_log(_STANDARD_INPUT, sys.stdin.buffer, catalog)
        with source.open("rb") as file:
            return read_log(str(source), file, catalog)
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from None


def _refuse_endless(name: str, stream: BinaryIO) -> None:
    """Raise UsageError for /dev/zero and its like; /dev/null ends, and so does a terminal."""
    try:
        file = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return  # io.BytesIO has no descriptor: io.UnsupportedOperation is an OSError
    if stat.S_ISCHR(file.st_mode) and not (stream.isatty() or _is_null(file)):
        raise UsageError(f"{name}: a device, which has no end")


def _is_null(file: os.stat_result) -> bool:
    try:
        return os.path.samestat(file, Path(os.devnull).stat())
    except OSError:
        return os.name == "nt"  # NUL has no status there, and Windows has no endless device


def observation_from_logs(
    logs: Sequence[Log], environment: Observation | None = None
) -> Observation:
    """Return what logs say of a machine; what an observed environment knows outweighs it."""
    from doctor.events.owner import owning_event
    from doctor.events.reading import events_of
    from doctor.events.statuses import ending
    from doctor.logs.cut_traceback import cut_traceback
    from doctor.logs.endings import ended_well
    from doctor.logs.log import log_facts
    from doctor.logs.questions import question

    found: dict[str, Fact] = {}
    for log in logs:
        more = log_facts(log)
        found = {
            name: fact
            for name, fact in {**more, **found}.items()
            if more.get(name, fact).value == found.get(name, fact).value
        }
    for log in logs:
        if ended_well(log.lines):
            continue
        events = events_of(log)
        if (event := owning_event(events)) is not None:
            value = {
                "source": log.source,
                "line": event.line,
                "text": event.text,
                "by": event.speaker,
                "kind": event.kind,
                "level": event.level.value,
                "ending": ending(events),
                "ask": question(event, log.lines),
            }
            found["log.owner"] = present(value, log.source)
            break
        if (cut := cut_traceback(log)) is not None:
            found["log.owner"] = present(cut, log.source)
            break
    if environment is None and "log.owner" not in found:
        found = _without_cuda(logs) | found
    base = environment or Observation(doctor_version=__version__)
    known = {
        name: fact
        for name, fact in base.facts.items()
        if fact.state is not State.UNKNOWN or name not in found
    }
    return msgspec.structs.replace(base, facts={**found, **known}, logs=(*base.logs, *logs))


def _without_cuda(logs: Sequence[Log]) -> dict[str, Fact]:
    """Return the facts of a text that reports no failure but that torch sees no CUDA device."""
    from doctor.logs.described import described_facts

    for log in logs:
        facts = described_facts(log)
        if value_of(facts, "torch.cuda_available") is False:
            return facts
    return {}
