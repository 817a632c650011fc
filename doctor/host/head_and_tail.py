"""The beginning and the end of a stream, bounded.

A log's first error and its last lines tell most. The middle of a long one is dropped, so that
memory stays bounded whatever a command prints.
"""

from __future__ import annotations

import threading

_LINE = 4096
"""How far a line, or a word, that is cut in two is given up."""


class HeadAndTail:
    """Keeps the first and the last bytes of what it is given, `limit` at most.

    Several threads may give.
    """

    def __init__(self, limit: int) -> None:
        self._half, self._lock = max(limit // 2, 1), threading.Lock()
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0

    def add(self, chunk: bytes) -> None:
        """Take what comes next."""
        with self._lock:
            room = max(self._half - len(self._head), 0)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            if (surplus := len(self._tail) - self._half) > 0:
                del self._tail[:surplus]
                self._dropped += surplus

    def content(self) -> bytes:
        """Return what was kept, with a line in place of what was not."""
        with self._lock:
            if not self._dropped:
                return bytes(self._head) + bytes(self._tail)
            head, tail = _whole_head(bytes(self._head)), _whole_tail(bytes(self._tail))
            dropped = self._dropped + len(self._head) + len(self._tail) - len(head) - len(tail)
            return head + f"\n[… {dropped} bytes left out …]\n".encode() + tail


def _whole_head(head: bytes) -> bytes:
    """Return a text without its last, cut line: half a secret could not be recognized."""
    near = max(len(head) - _LINE, 0)
    place = head.rfind(b"\n", near)
    return head[: place if place >= 0 else max(head.rfind(b" ", near), 0) or len(head)]


def _whole_tail(tail: bytes) -> bytes:
    """Return a text without the part of a line that it begins with."""
    place = tail.find(b"\n", 0, _LINE)
    return tail[(place if place >= 0 else tail.find(b" ", 0, _LINE)) + 1 :]
