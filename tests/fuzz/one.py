"""Fuzz one target in this process.

`python -m tests.fuzz.one TARGET [options of libFuzzer] FOLDER…`; the process ends with it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence

import atheris

with atheris.instrument_imports(include=["doctor"]):
    from tests.fuzz.targets import TARGETS, corpus

_LONGEST = 5.0
"""Seconds of processor time.

libFuzzer's own bound is one of the clock, which runs on while others have the processor.
"""


class TooLongError(Exception):
    """A target took too long over one input."""


def fuzz(name: str, arguments: Sequence[str]) -> None:
    """Fuzz a target until the options of libFuzzer say that it is enough, and end the process."""
    target = TARGETS[name]
    # Modules that are imported where they are used have to come now: libFuzzer sees no later ones.
    with atheris.instrument_imports(include=["doctor"]):
        for path in corpus(name):
            with contextlib.suppress(Exception):  # the same file is the first that is fuzzed
                target(path.read_bytes())

    def bounded(data: bytes) -> None:
        begun = time.process_time()
        target(data)
        if (took := time.process_time() - begun) > _LONGEST:
            raise TooLongError(f"{took:.1f} s for {len(data)} bytes")

    atheris.Setup([sys.argv[0], *arguments], bounded)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], sys.argv[2:])
