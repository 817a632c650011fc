"""What the last lines of a log say of how its program ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LAST, _LATELY = 3, 200
"""Lines that are not empty, from the end: for a success, and for a failure that speaks against."""
_LONGEST = 400
_WELL = re.compile(
    r"(?i:\b(?:[a-z]{1,30}_)?(?:exit|return)[ _]?(?:code|status)\s?(?:[=:]\s?|\s)0(?![\d.x]))"
    r"|(?i:\bexit(?:ed|s)?(?: with)?(?: exit)? (?:status|code):? 0(?![\d.x]))"
    r"|^test result: ok\. \d"
    r"|^100% tests passed, 0 tests failed out of \d|^\s{0,8}Finished `?\w{1,20}`? (?:profile )?\["
    r"|^Successfully built \S|^ok\s{1,4}[\w./-]{1,200}\s{1,4}(?:\d[\d.]{0,10}s|\(cached\))$"
    r"|^(?:[A-Z][A-Z\d]{1,20}[_ -])(?:OK|DONE|PASSED|SUCCESS|SUCCEEDED)$"
)
"""Statuses of a shell, and the last lines of cargo, CTest, `go test`, `pip wheel` and `echo`."""
_TESTED = re.compile(r"\b\d{1,7} passed\b")
"""What the last line of pytest says between two rows of equals signs."""
_BADLY = re.compile(
    r"(?i:\b(?:exit|return)(?:ed)?(?: with)?[ _]?(?:code|status)\s?[=:]?\s?-?[1-9])"
    r"|(?:^|[\s,(=:])[1-9]\d{0,6} (?:failed|errors?)\b(?!_)|^test result: FAILED"
    r"|^error: could not compile"
    r"|^Traceback \(most recent call last\)|^(?:g?make|ninja)(?:\[\d\])?: (?:\*\*\*|build stopped)"
    r"|^\s{0,8}(?:ERROR|error|fatal): |^(?:ERROR: )?Failed to build "
)

_TRIES = re.compile(
    r"(?i)\battempt \d{1,4}(?:/| of )\d.{0,300}\bretry|\bretrying in \d"
    r"|\bretry \d{1,4}(?:/| of )\d"
)
"""What a line says of a try that is followed by another one."""
_ECHOED = re.compile(r"&& {0,3}echo [\"']?(?P<word>\w{2,40})[\"']?$")
"""A command whose shell prints a word where it succeeds, and only then."""
_FAILS = re.compile(r"(?i)error|panick|fail|abort|killed|exception|fault|denied|not found")
"""What a line says that tells of a failure after a success: a program that was built, and ran."""


def ended_well(lines: Sequence[str]) -> bool:
    """Say whether a log ends with a success, and no failed end stands shortly before."""
    ends = [line[:_LONGEST].rstrip() for line in lines[-_LATELY:] if line.strip()]
    if _is_echoed(ends):
        return True
    ends = [line for line in ends if not _TRIES.search(line)]
    last = ends[-_LAST:]
    well = [at for at, line in enumerate(last) if _WELL.search(line) or _is_tested(line)]
    if not well or any(_FAILS.search(line) for line in last[well[-1] + 1 :]):
        return False
    return not any(_BADLY.search(line) for line in ends)


def _is_tested(line: str) -> bool:
    return line.startswith("===") and _TESTED.search(line) is not None


def _is_echoed(ends: Sequence[str]) -> bool:
    """Say whether the last line is the word that the last command prints after a success."""
    asked = [found["word"] for line in ends if (found := _ECHOED.search(line))]
    return bool(asked) and ends[-1].strip() == asked[-1]
