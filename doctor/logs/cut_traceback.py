"""Find a Python traceback that is pasted without its last line, which names the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.model.observation import Log

_FRAME = Pattern(r'^[^"“]{0,80}["“][^"“”]{1,400}["”], line \d{1,7}, in ')
_LONGEST = 1000
_BELOW = 12
"""Lines that a frame may have below it where the paste ends: its source and its marks."""
_ASK = "The line below the last frame names the error: hand in the output to its end."


def cut_traceback(log: Log) -> Mapping[str, object] | None:
    """Return what the fact `log.owner` says of such a traceback; None where there is none."""
    frames = _frames(log.lines)
    if len(frames) < 2 or len(log.lines) - frames[-1] > _BELOW:
        return None
    last = frames[-1]
    return {
        "source": log.source,
        "line": log.number(last),
        "text": log.lines[last].strip()[:_LONGEST],
        "by": "Python",
        "kind": "traceback-cut",
        "level": "failure",
        "ending": "",
        "ask": _ASK,
    }


def _frames(lines: Sequence[str]) -> list[int]:
    return [at for at, line in enumerate(lines) if _FRAME.search(line[:_LONGEST])]
