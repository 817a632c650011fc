"""Make foreign text safe to show to a terminal and to a CI runner, and cut it to size."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from doctor.base.lazy_pattern import Pattern

_ESCAPES = Pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]"
    r"|[@-Z\\-_])"
)
_COMMAND = Pattern(r"(?m)^[^\S\n]*:(:)|#(#\w{0,32}\[)|section_(?:start|end)(:)")
"""What runners take for a command: GitHub `::`.

Where a line begins and `##[` anywhere, Azure `##vso[`, TeamCity `##teamcity[`, GitLab
`section_start:`.

https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands
https://www.jetbrains.com/help/teamcity/service-messages.html
https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections
"""


def sanitize(text: str) -> str:
    """Strip terminal escapes, control characters and direction marks.

    Line ends become plain, tabs stay.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    bad = {
        ord(char): None
        for char in set(text)
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co")
    }
    return text.translate(bad) if bad else text


def one_line(text: str, most: int, more: str = "…") -> str:
    """Return foreign text as one line without control characters, cut to `most` characters.

    Runs of blanks become one. Of a text of megabytes only the beginning is looked at.
    """
    line = " ".join(sanitize(text[: 4 * most]).split())
    return line if len(line) <= most else line[:most].rstrip() + more


def enumerate_words(words: Sequence[str]) -> str:
    """Return words as people list them: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def shorten(text: str, most: int, more: str = " …") -> str:
    """Return foreign text without control characters, cut to `most`; blanks and lines stay."""
    whole = sanitize(text[: 2 * most])
    return whole if len(whole) <= most else whole[:most] + more


def neutralize_commands(text: str) -> str:
    """Break with a blank what a runner of continuous integration takes for a command."""
    return (
        spell_commands(text, " {}".format)
        if any(each in text for each in ("::", "##", "section_"))
        else text
    )


def spell_commands(text: str, how: Callable[[str], str]) -> str:
    """Respell the character that makes a text a command of a CI runner."""
    parts, at = [], 0
    for place in command_places(text):
        parts += [text[at:place], how(text[place])]
        at = place + 1
    return "".join((*parts, text[at:]))


def command_places(text: str) -> Iterator[int]:
    """Yield the places in a text before which a blank breaks a command of a runner."""
    for found in _COMMAND.finditer(text):
        yield found.start(found.lastindex or 0)
