"""Starts doctor as a process of its own out of one that has imported it already.

A command line tool is tested by starting it, hundreds of times, and most of each start is imports.
On Linux one process for each worker imports doctor, judges one log, and forks: what is forked
has its own folder, environment, streams and arguments, runs `python -m doctor` through runpy, and
ends as any interpreter does. What a start itself does is tested by real ones
(`tests.command.COLD`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from doctor.cli import start as starting

_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "TYPER_", "GLIBC_", "MALLOC_")
"""What an interpreter reads before it runs a line.

Where one of these is another than it was, only a real start will do.
"""
_LOG = b"""Traceback (most recent call last):
  File "train.py", line 3, in <module>
    import torch
RuntimeError: Failed to find C compiler. Please specify via CC environment variable.
RuntimeError: operator torchvision::nms does not exist
"""
"""Two failures that many tests are about."""
_PROGRAMS = (
    "__main__.py",
    "generate.py",
)  # and in doctor/host, of which the rest is imported by others
_LATER = (
    "rich.columns",
    "rich.live",
    "rich.markdown",
    "rich.table",
    "rich.traceback",
    "typer.main",
    "yaml",
    "msgspec.json",
    "json",
)


def possible(env: Mapping[str, str]) -> bool:
    """Say whether a fork with this environment is what a start with it would be."""
    starts_again = any(env.get(name) for name in starting._THEIRS)
    return sys.platform == "linux" and not starts_again and _at_start(env) == _at_start(os.environ)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_AT_START)}


class Process:
    """One doctor that was forked; its output is read meanwhile."""

    def __init__(
        self,
        arguments: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: str | None,
        session: bool,
    ) -> None:
        self.arguments, self.returncode = arguments, None
        ours, theirs = zip(
            *(os.pipe() for _ in range(3)), strict=True
        )  # its output, its errors, how it ended
        typed, entered = (os.open(os.devnull, os.O_RDONLY), -1) if stdin is None else os.pipe()
        asked = json.dumps(
            {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "session": session}
        ).encode()
        with _asking:
            server = _server()
            socket.send_fds(server, [len(asked).to_bytes(8, "big")], [typed, *theirs])
            server.sendall(asked)
        for each in (typed, *theirs):
            os.close(each)
        self._said: list[bytes] = [b"", b""]
        self._readers = [
            threading.Thread(target=self._read, args=(number, end), daemon=True)
            for number, end in enumerate(ours[:2])
        ]
        self._readers += (
            [threading.Thread(target=_type, args=(entered, stdin or ""), daemon=True)]
            if stdin is not None
            else []
        )
        for reader in self._readers:
            reader.start()
        self._ended: IO[bytes] = os.fdopen(ours[2], "rb")
        self.pid = int(self._ended.readline())

    returncode: int | None

    def _read(self, number: int, end: int) -> None:
        with os.fdopen(end, "rb") as stream:
            self._said[number] = stream.read()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the process and of its streams; return output and errors.

        Raises subprocess.TimeoutExpired.
        """
        for reader in self._readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.arguments, timeout or 0)
        self.wait()
        out, err = (said.decode().replace("\r\n", "\n") for said in self._said)
        return out, err

    def wait(self) -> int:
        """Wait for the end of the process; return its code, negative where a signal ended it."""
        if self.returncode is None:
            with self._ended:
                self.returncode = int(self._ended.readline())
        return self.returncode

    def kill(self) -> None:
        """Kill it; its end is waited for by `communicate`."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def run(
    arguments: list[str], *, cwd: Path, env: Mapping[str, str], stdin: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Do what subprocess.run does with text for `python -m doctor` and these arguments.

    Raises subprocess.TimeoutExpired.
    """
    child = Process(arguments, cwd=cwd, env=env, stdin=stdin, session=False)
    try:
        out, err = child.communicate(timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    return subprocess.CompletedProcess(arguments, child.wait(), out, err)


def _type(entered: int, text: str) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(entered, "w", encoding="utf-8") as stream:
        stream.write(text)


_asking = threading.Lock()


@functools.cache
def _server() -> socket.socket:
    """Start the process that imports doctor.

    It ends with the last copy of the socket that is returned.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno())]
        server = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    atexit.register(_end, ours, server)
    return ours


def _end(ours: socket.socket, server: subprocess.Popen[bytes]) -> None:
    ours.close()
    server.wait(10)


def _serve(asked: socket.socket) -> None:
    """Fork for each question; returns in the fork only, which then is a doctor about to start."""
    while True:
        head, fds, *_ = socket.recv_fds(asked, 8, 4)
        if not head:
            sys.exit()
        length, body = int.from_bytes(head, "big"), b""
        while len(body) < length:
            body += asked.recv(length - len(body))
        minder = os.fork()
        if minder:
            for each in fds:
                os.close(each)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        elif _minded(asked, json.loads(body), fds):
            return


def _minded(asked: socket.socket, wanted: dict[str, Any], fds: list[int]) -> bool:
    """Fork once more, so that somebody waits for the process.

    True in that process, and the other tells its end and is gone.
    """
    *streams, ended = fds
    asked.close()
    child = os.fork()
    if not child:
        os.close(ended)
        _become(wanted, streams)
        return True
    for each in streams:
        os.close(each)
    with os.fdopen(ended, "wb", 0) as told:
        told.write(b"%d\n" % child)
        told.write(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def _become(wanted: dict[str, Any], streams: list[int]) -> None:
    if wanted["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.path.insert(0, str(Path.cwd()))
    sys.argv[1:] = wanted["arguments"]


def _import() -> None:
    """Import the modules of doctor and what its commands import later, except its programs."""
    home = Path(__file__).parents[1]
    for path in sorted(home.glob("doctor/**/*.py")):
        if path.parent.name != "host" and path.name not in _PROGRAMS:
            importlib.import_module(
                ".".join(path.relative_to(home).with_suffix("").parts).removesuffix(".__init__")
            )
    for name in _LATER:
        importlib.import_module(name)
    _read_catalog()


def _read_catalog() -> None:
    """Read the catalog and what its signatures need, which are the same for each doctor.

    One log is judged and shown, so that the patterns that every log is searched for are compiled.
    """
    from doctor.catalog.loading import load
    from doctor.judge.match.signatures import telling
    from doctor.pipeline.assess import assess
    from doctor.pipeline.logs import observation_from_logs, read_log
    from doctor.redact.report import without_any_secrets
    from doctor.report.structured import json_document
    from doctor.report.terminal import document

    for _ in telling(load()):
        pass
    read = read_log("log", io.BytesIO(_LOG), load())
    report = assess(observation_from_logs((read,)), load(), command="diagnose")
    shared = without_any_secrets(report)
    json_document.render(shared)
    document.render(shared, verbosity=1, width=80, colour=False, unicode=True)


if __name__ == "__main__":
    import gc
    import runpy

    del sys.path[0]
    _import()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv.pop())))
    runpy.run_module("doctor", run_name="__main__", alter_sys=True)
