"""A process of the target that has done the dear imports and forks for every check (its own side: checks/nursery.py)."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from doctor.errors import DoctorError
from doctor.host.process import Bounds, Child, Ended, Leader, Ran, follow, start
from doctor.host.trees import MARK, kill_tree

_ANSWER_SECONDS = 10.0
_LOST = -9
"""The exit code of a child whose nursery is gone: nobody can tell its own any more, and it is killed."""


class NurseryError(DoctorError):
    """The nursery made no child."""


class _Forked:
    """A child of the nursery; it leads a session of its own."""

    def __init__(self, pid: int) -> None:
        self.pid, self._code, self._over = pid, _LOST, threading.Event()

    def ended(self, code: int) -> None:
        """Take note of its end."""
        if not self._over.is_set():
            self._code = code
            self._over.set()

    def within(self, seconds: float | None) -> int | None:
        """Wait for its end."""
        return self._code if self._over.wait(seconds) else None


class Nursery:
    """Opened by the first script that is run in it; serves others once that script has settled."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._listened, self._orders = os.pipe()
        self._news, self._told = os.pipe()
        self._root: Child | None = None
        self._children: dict[int, _Forked] = {}
        self._first: _Forked | None = None
        self._answer: dict[str, Any] | None = None
        self._logs: list[IO[bytes]] = []
        self._answered, self._turn = threading.Event(), threading.Lock()
        self.answers: dict[str, bool] = {}
        """By kind of device: whether a fork came to its own end on one; false where only a process of its own did."""

    @property
    def has_forked(self) -> bool:
        """Whether the first script went on in a fork."""
        return self._first is not None

    @property
    def settled(self) -> bool:
        """Whether it forks."""
        return self._first is not None and self._root is not None and self._root.within(0) is None

    @property
    def pid(self) -> int:
        """The process that the first script runs in: the root until it has settled, then its first child."""
        first = self._first
        return first.pid if first else self._root.pid if self._root else 0

    def within(self, seconds: float | None) -> int | None:
        """Wait for the end of the first script."""
        first = self._first
        if first is not None:
            return first.within(seconds)
        code = self._root.within(seconds) if self._root else _LOST
        return None if self._first is not None else code

    def open(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, mark: str, bounds: Bounds) -> Ran:
        """Run the first script, `argv` being the command that becomes the nursery; returns what the script gave."""
        told = {**env, MARK: self._mark, "CANARY_NURSERY": f"{self._listened},{self._told},{mark}"}
        try:
            root = start(argv, told, cwd, merge=True, keep=(self._listened, self._told))
        except (OSError, ValueError) as error:
            return Ran(ended=Ended.NOT_STARTED, why=str(error))
        finally:
            os.close(self._listened)
            os.close(self._told)
        self._root = Child(root)
        threading.Thread(target=self._listen, daemon=True).start()
        leader: Leader = self
        return follow(leader, [pipe for pipe in (root.stdout,) if pipe is not None], mark, bounds)

    def run(self, script: Path, env: Mapping[str, str], cwd: Path, mark: str, bounds: Bounds) -> Ran:
        """Run another script in a child of its own; raises NurseryError where none is made."""
        log = cwd / "log"
        try:
            os.mkfifo(log)
            pipe = os.fdopen(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        except OSError as error:
            raise NurseryError(str(error)) from None
        try:
            child = self._ask({"script": str(script), "folder": str(cwd), "log": str(log), "env": {**env, MARK: mark}})
        except BaseException:
            pipe.close()
            raise
        os.set_blocking(pipe.fileno(), True)
        self._logs.append(pipe)
        return follow(child, [pipe], mark, bounds)

    def close(self) -> None:
        """End it, with whatever is left of its children."""
        os.close(self._orders)
        if self._root is None:
            os.close(self._news)
            return
        kill_tree(self._root.pid, self._mark)
        self._root.within(_ANSWER_SECONDS)
        # An orphan that never called exec carries the nursery's mark, and held its log open until now.
        for log in self._logs:
            log.close()

    def _ask(self, order: Mapping[str, Any]) -> _Forked:
        with self._turn:
            self._answered.clear()
            try:
                os.write(self._orders, json.dumps(order).encode() + b"\n")
            except OSError as error:
                raise NurseryError(f"the nursery is gone: {error}") from None
            if not self._answered.wait(_ANSWER_SECONDS) or self._answer is None:
                raise NurseryError("the nursery does not answer")
            if "made" not in self._answer:
                raise NurseryError(str(self._answer.get("refused")))
            return self._children[self._answer["made"]]

    def _listen(self) -> None:
        """Read news until there are none any more."""
        # The nursery runs the patient's code, which may write anything anywhere: what is no news ends the trust in it.
        with os.fdopen(self._news, "rb") as lines, contextlib.suppress(ValueError, KeyError, TypeError):
            self._read(lines)
        self._answer = None
        for child in tuple(self._children.values()):
            child.ended(_LOST)
        self._answered.set()

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            news = json.loads(line)
            if "ended" in news:
                self._children[news["ended"]].ended(news["code"])
                continue
            if "made" in news:
                child = self._children[news["made"]] = _Forked(news["made"])
                if self._first is None:
                    self._first = child
                    continue
            self._answer = news
            self._answered.set()
