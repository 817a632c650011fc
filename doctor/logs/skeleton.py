"""Begin the YAML of a known issue from a log.

The log fills in some fields, and comments ask the author for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from doctor.model.events import Event

_AROUND = 6
_LONGEST = 140
_UNPRINTABLE = re.compile(
    "[^\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that YAML 1.1 refuses in a text, or reads as a line break (4.1.1 and 4.2)."""
_ODD = "\ufffd"
_VARIABLE = re.compile(
    r"0x[0-9a-fA-F]+|(?:[A-Za-z]:)?[\\/](?:[\w.+@-]+[\\/])+[\w.+@-]*|\d+(?:\.\d+)*"
)
_ASKED = """severity: error
cause: >-
  (In words that a newcomer understands: what does not fit, and why that shows as this message.)
"""
_FIX = """fixes:
  - title: (What to do first; which steps does it take, of install, run, env, edit and system?)
references:
  - url: https://
    what: (what is to be found there)
    opened: {today}
verified: {{how: thread, checked: {today}}}
examples:
  - name: (where this log comes from)
    expect: match
    log: |2
{log}
  - name: (the nearest message that means something else)
    expect: no-match
    log: |
      (its text)
"""


def skeleton(lines: Sequence[str], owner: Event, today: date) -> str:
    """Return the text of a known issue whose signature is the line that owns the failure.

    `doctor lint` names what is still to be said.
    """
    first = max(0, owner.at - _AROUND)
    shown = [_printable(line[:300].rstrip()) for line in lines[first : owner.at + 1 + _AROUND]]
    log = "\n".join(f"      {line}" if line else "" for line in shown)
    head = (
        f"title: {_quoted(_printable(owner.text[:100]))}\n{_ASKED}signatures:\n  - pattern: "
        f"{_quoted(pattern(owner.text))}\n"
    )
    return head + _FIX.format(today=today.isoformat(), log=log)


def pattern(text: str) -> str:
    """Return a pattern for a line that leaves versions, numbers, addresses and paths open."""
    parts, at = [], 0
    shortened = text.strip()[:_LONGEST]
    for found in _VARIABLE.finditer(shortened):
        parts += [
            _escaped(shortened[at : found.start()]),
            r"\d[\d.]*" if found[0][0].isdigit() and "x" not in found[0] else r"\S+",
        ]
        at = found.end()
    return "".join((*parts, _escaped(shortened[at:])))


def _escaped(text: str) -> str:
    """Escape the characters that have a meaning in a pattern, and no other: people read it."""
    return re.sub(r"[\\.^$*+?{}\[\]|()]", lambda found: "\\" + found[0], _printable(text)).replace(
        _ODD, "."
    )


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(_ODD, text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
