"""Values of facts as nodes are compared by them: in words, without what naturally differs.

Each pair of a name and a value has a number, so that ten thousand reports that say nearly the same
take the memory of one. Reports are hostile input: names outside the vocabulary are dropped, long
values become a digest, and the table has an end.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from doctor.base.text import one_line
from doctor.facts.placeholders import as_text
from doctor.model.vocabulary import is_known
from doctor.model.vocabulary.fleet import DERIVED_SOURCES, DEVICES, NATURAL, SIZES

ABSENT, UNKNOWN = "absent", "not known"
_LONGEST_NAME = 200
_LONGEST_VALUE = 64 << 10
_SHOWN = 200
_MOST_FACTS = 5000
_MOST_BYTES = 256 << 20
_OVERFLOW = "one of too many values"


class RawFact(msgspec.Struct, frozen=True):
    """A fact of a report whose value is not decoded yet."""

    state: str
    value: msgspec.Raw = msgspec.Raw(b"null")
    source: str = ""


@lru_cache(maxsize=1 << 16)
def is_compared(name: str) -> bool:
    """Return whether nodes are compared by a fact."""
    return (
        len(name) <= _LONGEST_NAME
        and is_known(name)
        and not any(fnmatchcase(name, pattern) for pattern in NATURAL)
        and not name.startswith("requires.")
    )


class ValueTable:
    """The numbers of all pairs of a name and a value, and how many nodes have each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[str] = []
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._by_words: dict[tuple[str, str], int] = {}
        self._bytes = 0

    def numbers(self, facts: Mapping[str, RawFact]) -> array[int]:
        """Return the numbers of a node's facts, in ascending order."""
        found = array("L")
        known = self._numbers
        for name, fact in facts.items():
            if fact.source.startswith(DERIVED_SOURCES):
                continue
            key = (name, b"" if fact.state != "present" else bytes(fact.value))
            if fact.state == "unknown":
                key = (name, b"?")
            number = known.get(key)
            if number is None:
                if not is_compared(name) or self._is_full_for(name):
                    continue
                number = self._add(key)
            found.append(number)
            if len(found) >= _MOST_FACTS:
                break
        return array("L", sorted(set(found)))

    def number(self, name: str, words: str) -> int:
        """Return the number of a name and a value in words."""
        pair = (name, words)
        if (number := self._by_words.get(pair)) is None:
            if self._bytes > _MOST_BYTES and words != _OVERFLOW:
                return self.number(name, _OVERFLOW)
            number = self._by_words[pair] = len(self.names)
            self.names.append(name)
            self.values.append(words)
            self._bytes += 200 + len(words)
        return number

    def _is_full_for(self, name: str) -> bool:
        """Return whether the table takes no fact of a new name any more."""
        return self._bytes > 2 * _MOST_BYTES and (name, _OVERFLOW) not in self._by_words

    def _add(self, key: tuple[str, bytes]) -> int:
        number = self.number(key[0], _words(*key))
        # A fact that differs on each node, such as a list of UUIDs, would fill the table.
        if self._bytes <= _MOST_BYTES and len(key[1]) <= _LONGEST_VALUE:
            self._numbers[key] = number
            self._bytes += 200 + len(key[1])
        return number


def _words(name: str, raw: bytes) -> str:
    if raw in (b"", b"?"):
        return UNKNOWN if raw else ABSENT
    if len(raw) > _LONGEST_VALUE:
        return f"a long value ({_digest(raw)})"
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return f"a broken value ({_digest(raw)})"
    if name in DEVICES and isinstance(value, list):
        return _devices(value)
    if name in SIZES and isinstance(value, int):
        return _size(value)
    text = as_text(value)
    words = one_line(text, _SHOWN)
    return words if len(text) <= _SHOWN else f"{words} ({_digest(raw)})"


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:12]


def _devices(devices: list[Any]) -> str:
    count = Counter(_device(one) for one in devices[:1000] if isinstance(one, dict))
    return ", ".join(f"{number} × {name}" for name, number in sorted(count.items())) or "none"


def _device(device: dict[str, Any]) -> str:
    name = one_line(str(device.get("name") or device.get("gfx") or "GPU"), 80)
    memory = device.get("memory_bytes")
    if device.get("error"):
        return f"{name} that does not answer"
    size = f" ({memory / (1 << 30):.0f} GiB)" if isinstance(memory, int) and memory > 0 else ""
    return name + size + (" with MIG" if device.get("mig") else "")


def _size(count: int) -> str:
    """Return a size in words, rounded up to a sixteenth of the next power of two."""
    step = max(1 << max(count - 1, 0).bit_length() >> 4, 1)
    rounded = -(-count // step) * step
    unit, name = (1 << 30, "GiB") if rounded >= 1 << 30 else (1 << 20, "MiB")
    return f"about {rounded / unit:.3g} {name}"
