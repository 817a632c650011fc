"""Follow the output of a command while it runs: for jobs whose answers come one by one."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from doctor.host.process import ChildProcess, start_process
from doctor.host.process_tree import MARK

_CHUNK = 65536
_CHUNKS = 256
"""How many chunks wait to be read at most; a command that prints more has to wait."""
_REAP_SECONDS = 10.0


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of standard output, or of standard error."""

    data: bytes
    is_error: bool = False


class Stream:
    """A command that runs, in a process group of its own.

    `with Stream(argv, env) as stream` kills it at the end with everything that it started. Raises
    OSError or ValueError where it does not start. Standard input is closed.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
    ) -> None:
        mark = uuid.uuid4().hex
        child = start_process(argv, {**env, MARK: mark}, cwd, merge=False)
        self._child = ChildProcess(child, mark)
        self._chunks: queue.Queue[Chunk | None] = queue.Queue(_CHUNKS)
        self._closed = threading.Event()
        self._open = 0
        for pipe, is_error in ((child.stdout, False), (child.stderr, True)):
            if pipe is not None:
                self._open += 1
                threading.Thread(target=self._read, args=(pipe, is_error), daemon=True).start()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def chunks(self, deadline: float) -> Iterator[Chunk | None]:
        """Yield what the command prints, until it ends or `time.monotonic()` reaches `deadline`.

        None is yielded about once a second while nothing comes.
        """
        while self._open and (left := deadline - time.monotonic()) > 0:
            try:
                chunk = self._chunks.get(timeout=min(left, 1.0))
            except queue.Empty:
                yield None
                continue
            if chunk is None:
                self._open -= 1
            else:
                yield chunk

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, negative for a signal; None where the command still runs then."""
        return self._child.wait(seconds)

    def terminate(self) -> None:
        """Ask the command to end; on Windows it is killed, with everything that it started."""
        if sys.platform == "win32":
            self._child.kill()
        else:
            with contextlib.suppress(OSError):
                os.kill(self._child.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the command with everything that it started; may be called twice."""
        self._closed.set()
        self._child.kill()
        self._child.wait(_REAP_SECONDS)

    def _read(self, pipe: IO[bytes], is_error: bool) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(pipe.fileno(), _CHUNK):
                self._put(Chunk(data=data, is_error=is_error))
        self._put(None)
        pipe.close()

    def _put(self, chunk: Chunk | None) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._chunks.put(chunk, timeout=0.5)
                return
