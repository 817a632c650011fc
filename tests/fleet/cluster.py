"""A Slurm cluster of several nodes on this machine, which leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scontrol", "scancel", "squeue")

_CONF = """\
ClusterName=doctor
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/d-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=1
SwitchType=switch/none
MpiDefault=none
SlurmdTimeout=5
KillWait=2
MessageTimeout=5
InactiveLimit=0
TCPTimeout=3
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
NodeName=n[1-{count}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=1
PartitionName=all Nodes=n[1-{count}] Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:4
PartitionName=short Nodes=n[1-{count}] MaxTime=3 State=UP OverSubscribe=FORCE:4
"""  # noqa: E501


def missing() -> str:
    """Return why no Slurm runs here; empty where one does."""
    if os.geteuid() != 0:
        return "a cluster needs root"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"apt-get install slurm-wlm munge brings {', '.join(absent)}" if absent else ""


class Slurm:
    """A cluster that runs; `env` is what its commands need."""

    def __init__(self, folder: Path, nodes: tuple[str, ...]) -> None:
        self.folder, self.nodes = folder, nodes
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def run(self, *argv: str, timeout: float = 30) -> str:
        """Run one of its commands, and return what it prints."""
        return subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=timeout, check=True
        ).stdout

    def pid(self, node: str) -> int:
        """Return the number of a node's daemon."""
        return int((self.folder / f"slurmd-{node}.pid").read_text())

    def lose(self, node: str) -> None:
        """End a node as a power cut does: its daemon, its steps, and every process of them."""
        log = str(self.folder / f"slurmd-{node}.log")
        # Daemons first: none of them may say that a task ended.
        daemons = [pid for pid in self.processes() if log in _open_files(pid)]
        for pid in (*daemons, *_of(f"SLURMD_NODENAME={node}\0", str(self.folder))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, node: str) -> None:
        """Start a node's daemon."""
        subprocess.run(["slurmd", "-N", node], env=self.env, check=True, timeout=30)

    def states(self) -> dict[str, str]:
        """Return the state of each node."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %t").split("\n")
        return dict(line.split() for line in lines if line.strip())

    def wait_for(self, state: str = "idle", seconds: float = 30) -> None:
        """Wait until all nodes have a state; raises TimeoutError."""
        end = time.monotonic() + seconds
        while set(self.states().values()) != {state}:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.states()}; {self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        """Return the ends of the logs."""
        return "\n".join(
            f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}"
            for path in sorted(self.folder.glob("*.log"))
        )

    def processes(self) -> tuple[int, ...]:
        """Return the processes that have this cluster in their environment."""
        return _of(f"SLURM_CONF={self.folder}/slurm.conf")


@contextlib.contextmanager
def slurm(count: int = 4) -> Iterator[Slurm]:
    """Run a cluster of nodes n1, n2 … of this machine, with a munged of its own."""
    # The path of a Unix socket may have 107 bytes (unix(7)), so pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    cluster = Slurm(folder, tuple(f"n{index + 1}" for index in range(count)))
    try:
        _configure(cluster, count)
        _start_munge(cluster)
        subprocess.run(["slurmctld"], env=cluster.env, check=True, timeout=30)
        for node in cluster.nodes:
            cluster.start(node)
        cluster.wait_for()
        yield cluster
    finally:
        _end(cluster)
        shutil.rmtree(folder, ignore_errors=True)


def _configure(cluster: Slurm, count: int) -> None:
    (cluster.folder / "state").mkdir()
    ports = _free_ports(count + 1)
    (cluster.folder / "slurm.conf").write_text(
        _CONF.format(
            folder=cluster.folder,
            host=socket.gethostname().partition(".")[0],
            control=ports[0],
            first=ports[1],
            last=ports[-1],
            count=count,
        )
    )


def _start_munge(cluster: Slurm) -> None:
    key = cluster.folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    subprocess.run(
        [
            "munged",
            f"--key-file={key}",
            *(f"--{what}={cluster.folder}/munge.{end}" for what, end in _MUNGE_FILES.items()),
        ],
        check=True,
        timeout=30,
    )


_MUNGE_FILES = {
    "socket": "socket",
    "pid-file": "pid",
    "log-file": "log",
    "seed-file": "seed",
}


def _free_ports(count: int) -> list[int]:
    """Return free ports that follow one another: Slurm takes a range of them."""
    for first in range(17100 + os.getpid() % 1000, 32000, count):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return list(range(first, first + count))
    raise OSError("no free ports")


def _end(cluster: Slurm) -> None:
    """End the daemons by their pid files, then what they started."""
    pids = [int(path.read_text()) for path in cluster.folder.glob("*.pid") if path.read_text()]
    for number in (signal.SIGTERM, signal.SIGKILL):
        rest = {*pids, *cluster.processes()} - {os.getpid()}
        for pid in rest:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        end = time.monotonic() + 5
        while any(_lives(pid) for pid in rest) and time.monotonic() < end:
            time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _open_files(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(entry.readlink()))
    return found


def _of(*words: str) -> tuple[int, ...]:
    """Return the processes whose environment or command line has all the words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                if all(word.encode() in text for word in words):
                    found.append(int(entry.name))
    return tuple(found)
