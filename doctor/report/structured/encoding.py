"""Values as JSON that every reader takes, with no command to a CI runner in it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doctor.base.text import spell_commands

_INDENT = 2
_CONTROLS = re.compile("[\x7f-\x9f]")


def encoded(value: Any) -> str:
    """Return a value as indented JSON with a line feed at the end.

    What is no Unicode (half a character, out of a file name) becomes `?`. What a runner takes for a
    command wherever it stands, and the control characters that JSON itself lets through are written
    with escapes that mean the same.
    """
    try:
        content = msgspec.json.encode(value)
    except UnicodeEncodeError:
        content = msgspec.json.encode(_whole(msgspec.to_builtins(value)))
    text = msgspec.json.format(content, indent=_INDENT).decode()
    text = spell_commands(text, lambda char: f"\\u{ord(char):04x}")
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value
