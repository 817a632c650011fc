"""The beginning and the end of a stream, bounded."""

from __future__ import annotations

import threading


class Kept:
    """Keeps the first and the last bytes of what it is given, `limit` at most; several threads may give."""

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
            gap = f"\n[… {self._dropped} bytes left out …]\n".encode() if self._dropped else b""
            return bytes(self._head) + gap + bytes(self._tail)
