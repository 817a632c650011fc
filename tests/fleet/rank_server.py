"""Run scripts in forks of a Python that has imported torch; arguments: the socket, and faults."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any


def main(path: str, faults: str) -> None:
    """Serve one request at a time in a fork; the client waits until it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    importlib.import_module("torch")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{path}.new")
        server.listen(16)
        Path(f"{path}.new").replace(path)
        while True:
            client, _ = server.accept()
            asked, fds, _, _ = socket.recv_fds(client, 1 << 20, 2)
            if os.fork() == 0:
                server.close()
                os.dup2(fds[0], 1)
                os.dup2(fds[1], 2)
                run(json.loads(asked), faults)
            for fd in fds:
                os.close(fd)
            client.close()


def run(asked: dict[str, Any], faults: str) -> None:
    """Run the script that is asked for as the main program; does not return."""
    os.environ.clear()
    # The host name, which is the same on all of these nodes, leads nowhere.
    os.environ.update({"GLOO_SOCKET_IFNAME": "eth0", **asked["environment"]})
    try:
        if Path(faults).exists():
            runpy.run_path(faults)
        runpy.run_path(str(asked["script"]), run_name="__main__")
    finally:
        # The script ends the process itself; this is where it could not.
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
