"""Judge a clone: by the exit status of a command, or by the checks of doctor."""

from __future__ import annotations

from typing import NamedTuple

from doctor.base.text import one_line
from doctor.environments.clone import Clone
from doctor.host import Host, Termination
from doctor.model.checks import Progress
from doctor.model.scales import Severity
from doctor.pipeline import check as pipeline
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.repair.delta import Answer

_SKIP = 125
"""The exit status that says "cannot be tested", as for `git bisect run`."""
_LOG = 64 << 10


class Judged(NamedTuple):
    """What came of a trial, and why."""

    answer: Answer
    why: str


class Judge:
    """Judges clones. The first one is the good environment, and the second one has all moves."""

    def __init__(self, command: tuple[str, ...], timeout: float, progress: Progress) -> None:
        self._command, self._timeout, self._progress = command, timeout, progress
        self._good: frozenset[str] | None = None
        self._wrong: frozenset[str] | None = None

    def answer(self, copy: Clone, what: str, *, is_start: bool) -> Judged:
        """Return whether a clone is good, bad or cannot be tested."""
        if self._command:
            return self._by_command(copy, what)
        return self._by_checks(copy, what, is_start=is_start)

    def _by_command(self, copy: Clone, what: str) -> Judged:
        words = " ".join(self._command)
        ran = copy.run(
            self._command,
            timeout=self._timeout,
            limit=_LOG,
            tick=lambda passed: self._progress(f"{what}: running {one_line(words, 60)}", passed),
        )
        lines = [line.strip() for line in ran.output.splitlines() if line.strip()]
        last = one_line(lines[-1], 160) if lines else ""
        if ran.ended is Termination.ITSELF and ran.code is not None:
            if ran.code == 0:
                return Judged(Answer.GOOD, "exit status 0")
            answer = Answer.UNRESOLVED if ran.code == _SKIP else Answer.BAD
            return Judged(answer, f"exit status {ran.code}" + (f": {last}" if last else ""))
        return Judged(Answer.BAD, one_line(ran.why or f"ended by {ran.ended.value}", 160))

    def _by_checks(self, copy: Clone, what: str, *, is_start: bool) -> Judged:
        report = pipeline.check_whole(
            CheckRequest(observe=ObserveRequest(python=str(copy.environment.python), fresh=True)),
            host=Host(env={**copy.host.env, "DOCTOR_CACHE_DIR": ""}, cwd=copy.host.cwd),
        )
        self._progress(f"{what}: checked", 0.0)
        wrong = frozenset(found.id for found in report.counted if found.severity is Severity.ERROR)
        if is_start:
            self._good = wrong
            return Judged(Answer.GOOD, "the checks of the good environment are the measure")
        new = wrong - (self._good or frozenset())
        if self._wrong is None:
            self._wrong = new
        same = sorted(new & self._wrong)
        if same:
            return Judged(Answer.BAD, ", ".join(same[:3]))
        return Judged(Answer.GOOD, "no error that the good environment does not have")
