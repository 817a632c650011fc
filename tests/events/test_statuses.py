"""How a process ended, by what its parent reports."""

from __future__ import annotations

import pytest

from doctor.events.statuses import ending
from tests.analyzers.explained import case_of


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("returned non-zero exit status 137", "137 (killed by SIGKILL): Something killed"),
        ("exitcode: -9 (pid: 5) of binary: /usr/bin/python", "-9 (killed by SIGKILL): "),
        ("died with <Signals.SIGKILL: 9>.", "SIGKILL: Something killed"),
        ("bash: line 1: 123 Killed  python x.py", "Killed (SIGKILL): Something killed"),
        (
            "Process finished with exit code -1073741819 (0xC0000005)",
            "-1073741819 (STATUS_ACCESS_VIOLATION): The process touched memory",
        ),
        ("returned non-zero exit status 1.", ""),
        ("exit code: 0x", ""),
        ("exitcode: --9", ""),
        ("no process ended", ""),
    ],
)
def test_the_end_is_explained_where_a_status_tells_one(text: str, beginning: str) -> None:
    found = ending(case_of(text).events)
    assert found.startswith(beginning)
    assert bool(found) is bool(beginning)
