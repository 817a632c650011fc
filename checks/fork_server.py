"""Runs one check script, which may then become a fork server.

It forks for other scripts, so that they share its imports.

    python fork_server.py SCRIPT

The script finds a function `FORK_SERVER` among its globals, and calls it where its imports are
done, no device has been touched and nothing is held open. From there on the script goes on in a
child, and this process makes a child for every order it reads. Each child has a session, a working
folder, an environment and a log of its own, and dies alone.

`CANARY_CHANNEL` is the descriptor of a socket that keeps messages apart (SOCK_SEQPACKET),
`CANARY_FORK_SERVER` what the first child's own children are marked with. An order is a message of
JSON ({"script", "folder", "log", "env"}); so are news: {"made": pid} in the order of the orders,
the script's own child first, {"ended": pid, "code": exit code, negative for a signal}, {"refused":
why} where no child can be made. A child closes the socket before it runs its script.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import json
import os
import runpy
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any

DEVICES = (
    *("/dev/nvidia", "/dev/kfd", "/dev/dri", "/dev/dxg", "/dev/accel", "/dev/davinci"),
    *("/dev/nvhost-", "/dev/nvmap", "/dev/nvgpu"),  # Jetson
)


LONGEST_ORDER = 1 << 20
BEGUN = time.monotonic()


def touched() -> bool:
    """Whether this process holds a device open.

    What a driver keeps for a process does not survive a fork.
    """
    try:
        held = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return any(os.readlink(path).startswith(DEVICES) for path in held if os.path.islink(path))
    except OSError:
        return True


class ForkServer:
    """The channel, and the children that live."""

    def __init__(self, channel: int, mark: str) -> None:
        self.channel, self.mark = channel, mark
        self.wake, self.woken = -1, -1
        self.children: set[int] = set()

    def settle(self) -> None:
        """Return in a child that goes on as the script; this process never returns.

        Does nothing where a fork would do harm.
        """
        if touched():
            return
        gc.freeze()
        # The thread that waits for it does not survive the fork, and its locks may not either.
        faulthandler.cancel_dump_traceback_later()
        self.wake, self.woken = os.pipe()
        os.set_blocking(self.woken, False)
        signal.set_wakeup_fd(self.woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if self.fork():
            # What is left of this process must not hold the script's log open.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            self.serve()
        os.environ["CANARY_RUN"] = self.mark
        seconds = float(os.environ.get("CANARY_STACK_AFTER") or 0.0) - (time.monotonic() - BEGUN)
        if seconds > 0:
            faulthandler.dump_traceback_later(seconds, file=2)

    def fork(self) -> bool:
        """Fork; true in the parent, false in the child."""
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Python 3.12 warns of any thread. Those that are there belong to libraries that stop
            # them around a fork (OpenBLAS does).
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            self.children.add(pid)
            self.tell(made=pid)
            return True
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in self.channel, self.wake, self.woken:
            os.close(descriptor)
        return False

    def tell(self, **news: Any) -> None:
        """Say what happened; nobody listens any more when that fails."""
        try:
            os.write(self.channel, json.dumps(news).encode())
        except OSError:
            self.close()

    def serve(self) -> None:
        """Make children until nobody gives orders any more."""
        while True:
            ready, _, _ = select.select([self.channel, self.wake], [], [])
            if self.wake in ready:
                os.read(self.wake, 4096)
            self.reap()
            if self.channel in ready:
                order = os.read(self.channel, LONGEST_ORDER)
                if not order:
                    self.close()
                self.obey(json.loads(order))

    def obey(self, order: dict[str, Any]) -> None:
        """Make a child that runs a script and ends with it."""
        try:
            log = os.open(order["log"], os.O_WRONLY)
            parent = self.fork()
        except OSError as error:
            self.tell(refused=str(error))
            return
        if not parent:
            live(order, log)
        os.close(log)

    def reap(self) -> None:
        """Collect the children that ended, and report how."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                self.children.discard(pid)
                code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                self.tell(ended=pid, code=code)

    def close(self) -> None:
        """End with every child."""
        for pid in self.children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                continue
        os._exit(0)


def live(order: dict[str, Any], log: int) -> None:
    """Be the process of a script, from its folder to its exit code."""
    code = 1
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["env"])
        tempfile.tempdir = None
        sys.argv[:] = [order["script"]]
        runpy.run_path(order["script"], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        # The stack below belongs to another script, so there is no way back: do what the end of an
        # interpreter does, and go.
        atexit._run_exitfuncs()
        for stream in sys.stdout, sys.stderr:
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        os._exit(code & 0xFF)


def main() -> None:
    """Run the script that was named."""
    script = sys.argv[1]
    channel, mark = int(os.environ.pop("CANARY_CHANNEL")), os.environ.pop("CANARY_FORK_SERVER")
    os.set_inheritable(channel, False)
    sys.path[:] = [
        path
        for path in sys.path
        if path and os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))
    ]
    sys.argv[:] = [script]
    fork_server = ForkServer(channel, mark)
    runpy.run_path(script, init_globals={"FORK_SERVER": fork_server.settle}, run_name="__main__")


if __name__ == "__main__":
    main()
