"""Four nodes of this machine, each with a network of its own, on one bridge.

Each starts a torch once: a rank is a fork of it, so that a group of ranks costs no import.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.hosts import script

_SERVER = Path(__file__).with_name("rank_server.py")
_CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    asked = {"script": sys.argv[2], "environment": dict(os.environ)}
    socket.send_fds(server, [json.dumps(asked).encode()], [1, 2])
    server.recv(1)
"""


def missing() -> str:
    """Return why no such nodes can be made here; empty where they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a network namespace needs Linux and root"
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "apt-get install iproute2 brings ip"
    return ""


class Network:
    """The nodes n1 to n4; each has the address 10.77.0.1 and so on, and an MTU of 1400."""

    nodes = ("n1", "n2", "n3", "n4")

    def __init__(self, folder: Path, pids: dict[str, int]) -> None:
        self._folder, self._pids = folder, pids

    def address(self, node: str) -> str:
        """Return the address of a node."""
        return f"10.77.0.{node[1:]}"

    def python(self, node: str) -> str:
        """Return the command that runs a script on a node, as a Python does."""
        return str(self._folder / node / "python")

    def break_kernels(self, node: str) -> None:
        """Let a kernel of a node give one wrong bit."""
        (self._folder / node / "faults.py").write_text(
            "import torch\n"
            "right = torch.Tensor.float\n"
            "def wrong(tensor):\n"
            "    found = right(tensor)\n"
            "    found[77] += 1\n"
            "    return found\n"
            "torch.Tensor.float = wrong\n"
        )

    def set_variable(self, node: str, name: str, value: str) -> None:
        """Give the ranks of a node another environment variable."""
        (self._folder / node / "faults.py").write_text(
            f"import os\nos.environ[{name!r}] = {value!r}\n"
        )

    def mend(self, node: str) -> None:
        """Take the fault of a node away."""
        (self._folder / node / "faults.py").unlink()

    def drop(self, one: str, other: str) -> None:
        """Drop all packets between two nodes, as a broken path of a switch does."""
        for here, there in ((one, other), (other, one)):
            _ip(
                self._pids[here],
                "route",
                "add",
                "blackhole",
                self.address(there),
            )


@contextlib.contextmanager
def four_nodes(python: Path, folder: Path) -> Iterator[Network]:
    """Run the nodes; their networks end with their processes."""
    with contextlib.ExitStack() as stack:
        # The bridge lies in a network of its own as well, and goes with it.
        hub = stack.enter_context(_apart(["sleep", "infinity"]))
        _ip(hub.pid, "link", "add", "hub", "type", "bridge")
        _ip(hub.pid, "link", "set", "hub", "up")
        pids = {}
        for number, node in enumerate(Network.nodes, 1):
            (folder / node).mkdir()
            server = folder / node / "socket"
            script(
                folder / node / "python",
                f"exec {sys.executable} -c '{_CLIENT}' {server} \"$1\"",
            )
            argv = [str(python), str(_SERVER), str(server), str(folder / node / "faults.py")]
            process = stack.enter_context(_apart(argv))
            pids[node] = process.pid
            _ip(
                hub.pid,
                *("link", "add", f"to{number}", "mtu", "1400", "type", "veth"),
                *("peer", "name", "eth0", "mtu", "1400", "netns", str(process.pid)),
            )
            _ip(hub.pid, "link", "set", f"to{number}", "master", "hub", "up")
            _ip(process.pid, "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for name in ("lo", "eth0"):
                _ip(process.pid, "link", "set", name, "up")
        for node in Network.nodes:
            _wait_for(folder / node / "socket")
        yield Network(folder, pids)


@contextlib.contextmanager
def _apart(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a network of its own."""
    process = subprocess.Popen(
        # It ends with the test that started it, however that ends.
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", *argv],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        while Path(_net(process)).readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait(10)


def _net(process: subprocess.Popen[bytes]) -> str:
    return f"/proc/{process.pid}/ns/net"


def _ip(pid: int, *words: str) -> None:
    """Change the network of a process."""
    subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words], check=True, timeout=20)


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 120
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} did not come")
        time.sleep(0.05)
