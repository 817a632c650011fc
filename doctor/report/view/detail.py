"""How much of a finding each format shows: every limit on findings stands here."""

from __future__ import annotations

from typing import NamedTuple


class Detail(NamedTuple):
    """The limits of one format. Numbers count entries, `text` and `line` count characters."""

    evidence: int
    fixes: int
    links: int
    brief: bool = False
    """Show the first sentence of the cause, and the sources of log lines only."""
    own_fixes: bool = False
    """Show the fixes of a finding that the plan for all of them takes the place of."""
    verify: bool = True
    """Show the command that tells whether a fix worked."""
    explains: int = 12
    text: int = 4000
    line: int = 600
    command: int = 20_000
    suggest: bool = False
    """Show the line of the project with its new version, as GitHub's suggestions are written."""


GLANCE = Detail(evidence=2, fixes=1, links=0, brief=True, verify=False, line=240, command=1_000_000)
"""A terminal: seven lines for an ordinary finding."""

WHOLE = Detail(evidence=1000, fixes=100, links=100, own_fixes=True, line=4000, command=1_000_000)
"""A terminal with -v."""

ISSUE = Detail(evidence=10, fixes=4, links=5, suggest=True)
"""Markdown for an issue; GitHub takes 65,536 characters."""

SUMMARY = Detail(evidence=5, fixes=4, links=3, line=400, suggest=True)
"""The page of a run of GitHub Actions; it takes 1 MiB."""

PAGE = Detail(evidence=20, fixes=8, links=12, line=1000)
"""An HTML page."""

ANNOTATION = Detail(evidence=3, fixes=1, links=0, verify=False, explains=0, line=400, command=4000)
"""Plain text beside a line of code, in the formats of CI systems."""

HELP = Detail(evidence=0, fixes=20, links=10)
"""The help of a rule in code scanning."""

TITLE, ID, PLACE = 300, 120, 400
STEPS, CHANGED_LINES = 60, 400
