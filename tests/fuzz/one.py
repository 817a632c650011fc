"""Fuzzes one target in this process: `python -m tests.fuzz.one TARGET [options of libFuzzer] FOLDER…`. The process ends with it."""

from __future__ import annotations

import sys
import time

import atheris

with atheris.instrument_imports(include=["doctor"]):
    from tests.fuzz.targets import TARGETS

_LONGEST = 5.0
"""Seconds of processor time: libFuzzer's own bound is one of the clock, which runs on while others have the processor."""


class TooLongError(Exception):
    """A target took too long over one input."""


def main() -> None:
    """Fuzz until libFuzzer's options say that it is enough."""
    target = TARGETS[sys.argv.pop(1)]

    def bounded(data: bytes) -> None:
        begun = time.process_time()
        target(data)
        if (took := time.process_time() - begun) > _LONGEST:
            raise TooLongError(f"{took:.1f} s for {len(data)} bytes")

    atheris.Setup(sys.argv, bounded)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
