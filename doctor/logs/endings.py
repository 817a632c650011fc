"""What the last lines of a log say of how its program ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LAST, _LATELY = 3, 200
"""Lines that are not empty, from the end: for a success, and for a failure that speaks against."""
_LONGEST = 400
_WELL = re.compile(
    r"(?i:\b(?:[a-z]{1,30}_)?(?:exit|return)[ _]?(?:code|status)\s?[=:]\s?0(?![\d.x]))"
    r"|(?i:\bexit(?:ed|s)?(?: with)?(?: exit)? (?:status|code):? 0(?![\d.x]))"
    r"|^test result: ok\. \d"
    r"|^100% tests passed, 0 tests failed out of \d|^\s{0,8}Finished `?\w{1,20}`? (?:profile )?\["
    r"|^Successfully built \S"
)
"""Statuses of a shell, and the last lines of cargo, CTest and `pip wheel`."""
_TESTED = re.compile(r"\b\d{1,7} passed\b")
"""What the last line of pytest says between two rows of equals signs."""
_BADLY = re.compile(
    r"(?i:\b(?:exit|return)(?:ed)?(?: with)?[ _]?(?:code|status)\s?[=:]?\s?-?[1-9])"
    r"|\b[1-9]\d{0,6} (?:failed|errors?)\b(?!_)|^test result: FAILED|^error: could not compile"
    r"|^Traceback \(most recent call last\)|^(?:g?make|ninja)(?:\[\d\])?: (?:\*\*\*|build stopped)"
    r"|^\s{0,8}(?:ERROR|error|fatal): |^(?:ERROR: )?Failed to build "
)

_FAILS = re.compile(r"(?i)error|panick|fail|abort|killed|exception|fault|denied|not found")
"""What a line says that tells of a failure after a success: a program that was built, and ran."""


def ended_well(lines: Sequence[str]) -> bool:
    """Say whether a log ends with a success, and no failed end stands shortly before."""
    ends = [line[:_LONGEST].rstrip() for line in lines[-_LATELY:] if line.strip()]
    last = ends[-_LAST:]
    well = [at for at, line in enumerate(last) if _WELL.search(line) or _is_tested(line)]
    if not well or any(_FAILS.search(line) for line in last[well[-1] + 1 :]):
        return False
    return not any(_BADLY.search(line) for line in ends)


def _is_tested(line: str) -> bool:
    return line.startswith("===") and _TESTED.search(line) is not None
