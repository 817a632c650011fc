"""Show what a long command does: one moving line on a terminal, else a line for each stage.

CI systems end jobs that print nothing, so a line follows where nothing else was said for a while.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

from doctor.cli.console import say, style
from doctor.model.checks import Progress

_SILENCE = 8.0
"""Seconds without a line, after which one says what runs."""


@contextlib.contextmanager
def stages(*, quiet: bool = False) -> Iterator[Progress]:
    """Show the stages of a run: `plan 1 of 2, checking the copy: torch-runtime`, with seconds."""
    look = style(sys.stderr)
    if quiet or sys.stderr is None:
        yield lambda _what, _seconds: None
    elif look.interactive and not os.environ.get("CI"):
        from rich.console import Console

        with Console(stderr=True).status("reading files") as status:
            begun = time.monotonic()

            def moving(what: str, _seconds: float) -> None:
                status.update(f"{what}  [dim]{time.monotonic() - begun:.0f} s[/dim]")

            yield moving
    else:
        lines = _Lines()
        lines.show("reading files", 0)
        yield lines.show


class _Lines:
    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()
        self._stage = ""

    def show(self, what: str, _seconds: float) -> None:
        """Print a new stage, or a sign of life."""
        stage, _, detail = what.partition(": ")
        now = time.monotonic()
        passed = f"{now - self._begun:4.0f} s"
        if stage != self._stage:
            self._stage, self._last = stage, now
            shown = what if detail and "step" in stage else stage
            say(f"doctor: {passed}  {shown}")
        elif now - self._last >= _SILENCE:
            self._last = now
            say(f"doctor: {passed}  still {what}")
