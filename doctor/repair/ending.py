"""How the user's own program ended."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

import msgspec

from doctor.base.text import one_line
from doctor.repair.failures import failure_of, of_first_test, of_tests, telling

_FURTHER, _NAMED, _OTHERS = 3, 16, 3
_CRASHES = ("SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTRAP")
_OF_SHELLS = 128
"""What a shell adds to the signal by which its program ended."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How the user's own program ended; `code` is None where it did not end by itself.

    `command` is its command line, perhaps cut. `started`: there was something to run.
    """

    code: int | None
    text: str = ""
    command: str = ""
    started: bool = True

    @property
    def ok(self) -> bool:
        """Return whether the program ended well."""
        return self.code == 0

    @property
    def words(self) -> str:
        """Return how it ended."""
        if not self.started:
            return "does not start"
        if self.code is None:
            return "does not end"
        return f"ends with exit code {self.code}" + (f" ({self.signal})" if self.signal else "")

    @property
    def signal(self) -> str:
        """Return the signal by which the program crashed, in words; empty where it did not."""
        numbers = {getattr(signal, one, None) for one in _CRASHES} - {None}
        code = self.code or 0
        number = -code if code < 0 else code - _OF_SHELLS
        if number not in numbers:
            return ""
        return f"{signal.strsignal(number) or 'a crash'}, signal {number}"

    @property
    def why(self) -> str:
        """Return why the program failed: its message, and the signal by which it crashed."""
        said = one_line(failure_of(self.text).error, 200) or self.last_line
        return f"{self.signal}: {said}" if self.signal and said else self.signal or said

    @property
    def last_line(self) -> str:
        """Return the last line that the program wrote, or what pytest says of the first failure.

        Empty where it wrote none.
        """
        if test := of_first_test(self.text):
            return one_line(test.error, 300)
        found = failure_of(self.text)
        if not found.frames:
            return one_line(found.error, 300)
        lines = telling([line for line in self.text.splitlines() if line.strip()])
        return one_line(lines[-1], 300) if lines else ""

    @property
    def further(self) -> tuple[str, ...]:
        """Return what else pytest says, in other tests: messages that differ, a few."""
        every = dict.fromkeys(one.error for one in of_tests(self.text))
        return tuple(one_line(one, 200) for one in [*every][1 : 1 + _FURTHER])

    def words_beside(self, before: Ending | None) -> str:
        """Return how the program ended before the plan and afterwards."""
        was = f"{before.code}" if before is not None and before.code is not None else "none"
        return f"exit code of `{self.command}`: {was} before, {self.code} afterwards"


def in_vain(tried: Mapping[str, str], known: Sequence[str]) -> tuple[str, ...]:
    """Return sentences about what was tried, with the last line of the program each time.

    What else went wrong then may be the next fault; `known` has what is told already.
    """
    every = [one.removeprefix("with ") for one in tried]
    more = f", and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    told = f"The program also fails with each of these: {'; '.join(every[:_NAMED])}{more}."
    others: dict[str, str] = {}
    for what, error in tried.items():
        if error and not any(error in one for one in known):
            others.setdefault(error, what)
    apart = [f"It fails otherwise {what}: {error}" for error, what in others.items()]
    return (told, *apart[:_OTHERS]) if every else ()
