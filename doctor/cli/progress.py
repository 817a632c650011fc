"""What `doctor check` shows while it runs.

On a terminal the report itself appears piece by piece: the machine and the findings of files and
tools, then a line for each check, then the rest. Elsewhere standard error gets a line for each
check, and a sign of life after eight seconds of silence: CI systems end jobs that print nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from doctor.cli.console import Style, say, style
from doctor.model.observation import Observation, Target
from doctor.model.outcomes import Outcome
from doctor.model.scales import Severity
from doctor.model.watching import Watcher
from doctor.report import Format

if TYPE_CHECKING:
    from doctor.model.report import Report
    from doctor.report.terminal.document import Screen

_SILENCE, _QUIET_SILENCE = 8.0, 60.0
"""Seconds without a line, after which one says that doctor is alive; the second with --quiet."""


class View:
    """What of a run is shown while it runs; by itself it shows nothing."""

    first: Any = None
    already: Screen | None = None

    @property
    def watcher(self) -> Watcher:
        """The callbacks for the examination."""
        return Watcher()

    def close(self) -> None:
        """Take away what is there for the time of the run only."""


@contextlib.contextmanager
def display(kind: Format | None, *, quiet: bool = False, verbose: bool = False) -> Iterator[View]:
    """Show a run that reports in a format, or a run without a report."""
    view = _view(kind, quiet=quiet, verbosity=-1 if quiet else int(verbose))
    try:
        yield view
    finally:
        view.close()


def _view(kind: Format | None, *, quiet: bool, verbosity: int) -> View:
    ci = bool(os.environ.get("CI"))
    out, err = style(sys.stdout), style(sys.stderr)
    if out.interactive and kind is Format.TEXT and not ci and not quiet:
        return _Stream(out, verbosity)
    if sys.stderr is None:
        return View()
    if err.interactive and not ci:
        return _Spinner(err)
    return _Lines(err, quiet=quiet)


class _Spinner(View):
    """One line that moves, and is gone in the end."""

    def __init__(self, look: Style, *, stream: Any = None) -> None:
        from rich.console import Console

        self._console = Console(
            file=stream or sys.stderr,
            force_terminal=True,
            color_system="standard" if look.colour else None,
            highlight=False,
        )
        self._count = ""
        self._status = self._console.status(
            "reading files, asking tools", spinner="dots" if look.unicode else "line"
        )
        self._status.start()

    @property
    def watcher(self) -> Watcher:
        return Watcher(static=self._static, running=self._running, check=self._check)

    def _static(self, _seen: Observation, checks: Sequence[str]) -> None:
        self._count = f"0 of {len(checks)}"
        self._status.update(f"{self._count} checks")

    def _running(self, names: Sequence[str], seconds: float) -> None:
        self._status.update(f"{self._count}  {', '.join(names)} [dim]{seconds:.0f} s[/dim]")

    def _check(self, _ended: Sequence[Outcome], done: int, total: int) -> None:
        self._count = f"{done} of {total}"

    def close(self) -> None:
        self._status.stop()


class _Stream(_Spinner):
    """The report, as far as it is known, above the line that moves."""

    def __init__(self, style_: Style, verbosity: int) -> None:
        super().__init__(style_, stream=sys.stdout)
        self._style, self._verbosity = style_, verbosity
        self._report: Report | None = None
        self._names = 0

    def first(self, report: Report, checks: Sequence[str]) -> None:
        """Show the machine, and the errors and warnings that files and tools give.

        Notes wait for the checks, which confirm or refute most of them.
        """
        from doctor.redact.report import without_any_secrets
        from doctor.report.terminal import document
        from doctor.report.terminal.blocks import finding
        from doctor.report.terminal.page import blank, look

        self._static(report.observation, checks)
        self._names = max(map(len, checks), default=0)
        self._report = report = without_any_secrets(report)
        self._how = look(
            width=self._style.width,
            unicode=self._style.unicode,
            colour=self._style.colour,
            verbosity=self._verbosity,
        )
        found = tuple(
            one for one in document.shapes(report, self._how) if one.severity > Severity.NOTE
        )
        self.already = document.Screen(findings=found)
        self._put(document.opening(report, self._how))
        for one in found:
            self._put(finding(one, self._how))
        self._put([blank()])

    def _check(self, ended: Sequence[Outcome], done: int, total: int) -> None:
        from doctor.model.outcomes import Verdict
        from doctor.redact.report import without_any_secrets
        from doctor.report.terminal.checks import check_line

        super()._check(ended, done, total)
        quiet = all(one.verdict is Verdict.SKIPPED or one.cached_from for one in ended)
        if self._report is None or self.already is None or quiet:
            return  # the end of the report lists those together
        self.already = msgspec.structs.replace(
            self.already, checks=self.already.checks | {ended[0].id}
        )
        facts = self._report.observation.facts
        self._put(check_line(without_any_secrets(tuple(ended)), facts, self._names, self._how))

    def _put(self, lines: Any) -> None:
        from doctor.report.terminal.page import as_rich

        for line in lines:
            self._console.print(as_rich(line), soft_wrap=True)


class _Lines(View):
    """Lines on standard error for those who read them later, or watch for silence."""

    def __init__(self, look: Style, *, quiet: bool) -> None:
        self._style, self._quiet = look, quiet
        self._last = self._begun = time.monotonic()
        self._doing = "reading files, asking tools"
        self._count = ""
        self._names = 0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        with contextlib.suppress(RuntimeError):  # no thread can be started: the run matters more
            threading.Thread(target=self._beat, daemon=True).start()

    @property
    def watcher(self) -> Watcher:
        return Watcher(
            targets=self._targets, static=self._static, running=self._running, check=self._check
        )

    def _targets(self, targets: Sequence[Target]) -> None:
        if not self._quiet:
            from doctor.report.view.machine import target_name

            self._say(f"doctor: examining {', '.join(map(target_name, targets)) or 'this machine'}")

    def first(self, report: Report, checks: Sequence[str]) -> None:
        """Show the titles of the errors and warnings that files and tools give."""
        self._static(report.observation, checks)
        for found in () if self._quiet else report.counted:
            if found.severity > Severity.NOTE:
                self._say(f"doctor: {found.severity.value}: {found.title} ({found.id})")

    def _static(self, _seen: Observation, checks: Sequence[str]) -> None:
        self._count = f"0/{len(checks)}"
        self._names = max(map(len, checks), default=0)

    def _running(self, names: Sequence[str], seconds: float) -> None:
        self._doing = f"{', '.join(names)}, {seconds:.0f} s"

    def _check(self, ended: Sequence[Outcome], done: int, total: int) -> None:
        self._count = f"{done}/{total}"
        if self._quiet:
            return
        from doctor.report.terminal.checks import check_line
        from doctor.report.terminal.page import look

        # No colour, and no wrapping: these lines are read in logs.
        how = look(width=200, unicode=self._style.unicode)
        for line in check_line(ended, {}, self._names, how):
            self._say(f"{self._count:>5} {line.plain}")

    def _beat(self) -> None:
        silence = _QUIET_SILENCE if self._quiet else _SILENCE
        while not self._ended.wait(max(self._last + silence - time.monotonic(), 0.05)):
            if time.monotonic() - self._last >= silence:
                seconds = time.monotonic() - self._begun
                self._say(f"{self._count:>5}    still running after {seconds:.0f} s: {self._doing}")

    def _say(self, text: str) -> None:
        with self._lock:
            if not self._ended.is_set():
                say(text)
                self._last = time.monotonic()

    def close(self) -> None:
        with self._lock:
            self._ended.set()
