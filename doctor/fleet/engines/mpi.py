"""Open MPI: one rank on each node, started by one `mpirun`.

mpirun ends all ranks when one dies or ends with an error, and starts none where one host cannot be
reached. So each rank runs under a shell that ends with 0, and hosts are tried in halves where
nothing starts. See https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence

from doctor.base.errors import DoctorError, UsageError
from doctor.base.text import one_line
from doctor.fleet.engine import NODE_VARIABLE, Job
from doctor.fleet.engines.collecting import Collector
from doctor.fleet.package import checked_name, checked_names, listed_names, travelling
from doctor.host import Host
from doctor.host.streaming import Stream
from doctor.model.fleet import NodeAnswer, NodeState

_VARIABLES = ("OMPI_", "PMIX_", "PRTE_", "SLURM_", "PBS_", "LSB_", "PE_HOSTFILE", "SGE_")
"""What mpirun asks for the nodes of an allocation, and its own settings."""
_END_SECONDS = 10.0
_LARGEST_HOSTFILE = 4 << 20
_RANK_LINE = re.compile(
    rb"doctor-rank ([0-9a-f]{16}) ([A-Za-z0-9._-]{1,253}) ([0-9]{1,3}|begins)\s*\Z"
)

# --preload-files puts a file below the folder of the session, which Open MPI removes; where the
# nodes share a file system, the file is where it was.
_RANK = """\
run=$1 archive=$2 python=$3; shift 3
echo "doctor-rank $run $DOCTOR_FLEET_NODE begins"
if [ -z "$archive" ]; then
  "$python" -m doctor "$@" 2>&1 &
elif [ -r "$OMPI_FILE_LOCATION$archive" ]; then
  "$python" "$OMPI_FILE_LOCATION$archive" "$@" 2>&1 &
else
  "$python" "$archive" "$@" 2>&1 &
fi
child=$!
trap 'kill -TERM $child' TERM INT
wait $child
echo "doctor-rank $run $DOCTOR_FLEET_NODE $?"
"""


class Mpi:
    """The hosts of an Open MPI job.

    `nodes` is a list of hosts, or how many of those in `hostfile`; `hostfile` is one of Open MPI.
    `mpirun` is the command.
    """

    name = "mpi"

    def __init__(
        self,
        host: Host,
        *,
        nodes: str = "",
        hostfile: str = "",
        mpirun: str = "mpirun",
        grace: float = 30.0,
    ) -> None:
        self._nodes, self._hostfile, self._mpirun, self._grace = nodes, hostfile, mpirun, grace
        own = [name for name in host.env if name.startswith(_VARIABLES)]
        self._host = Host(env=travelling(host.env, own), cwd=host.cwd)
        self._cancelled = threading.Event()

    def nodes(self) -> tuple[str, ...]:
        """Return the hosts: those that are named, of the hostfile, or of the batch system."""
        if self._nodes and not self._nodes.isdigit():
            return checked_names(listed_names(self._nodes))
        known = self._of_hostfile() or self._of_batch_system()
        if not known:
            raise UsageError("--nodes or --set hostfile=FILE must name the hosts")
        if not self._nodes:
            return known
        if not 1 <= int(self._nodes) <= len(known):
            raise UsageError(f"{self._nodes} nodes are wanted, and {len(known)} are known")
        return known[: int(self._nodes)]

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        """Run the job once on each node; see doctor.fleet.engine.Engine."""
        nodes = checked_names(nodes)
        self._cancelled.clear()
        found = self._host.which(self._mpirun)
        if found is None:
            raise DoctorError(f"{self._mpirun} is not on PATH")
        asked = self._host.run([found, "--version"], timeout=20)
        if "Open MPI" not in asked.output:
            raise DoctorError(f"{found} is not that of Open MPI")
        end = time.monotonic() + job.start_timeout
        groups = [list(nodes)]
        while groups and not self._cancelled.is_set():
            group = groups.pop()
            reader = _Reader(job.run, group)
            yield from self._started(found, job, reader, group)
            if reader.begun or not reader.awaited:
                yield from self._failures(reader, job)
            elif len(group) == 1 or time.monotonic() > end:
                words = next(_sentences(reader.messages), "") or reader.words
                why = f"mpirun starts nothing there: {words}"
                for node in tuple(reader.awaited):
                    yield reader.fail(node, NodeState.REFUSED, why)
            else:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]

    def cancel(self) -> None:
        """End mpirun, which ends its ranks."""
        self._cancelled.set()

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        """Return nothing: MPI has no nodes of its own; its hostfile has."""
        del nodes, reason
        return ()

    def _of_hostfile(self) -> tuple[str, ...]:
        if not self._hostfile:
            return ()
        text = self._host.whole(self._host.cwd / self._hostfile, _LARGEST_HOSTFILE)
        if text is None:
            raise UsageError(f"there is no hostfile {self._hostfile}")
        words = (line.partition("#")[0].split() for line in text.splitlines())
        return checked_names(line[0].partition(":")[0] for line in words if line)

    def _of_batch_system(self) -> tuple[str, ...]:
        """Return the hosts that a batch system names in a file, or in a variable (LSF)."""
        for variable in ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"):
            if path := self._host.env.get(variable):
                text = self._host.whole(path, _LARGEST_HOSTFILE) or ""
                return checked_names(line.split()[0] for line in text.splitlines() if line.split())
        return checked_names(self._host.env.get("LSB_HOSTS", "").split())

    def _started(
        self, mpirun: str, job: Job, reader: _Reader, nodes: Sequence[str]
    ) -> Iterator[NodeAnswer]:
        deadline = time.monotonic() + job.timeout + self._grace
        with Stream(_command(mpirun, job, nodes), self._host.env, self._host.cwd) as stream:
            try:
                yield from reader.answers(stream, deadline, self._cancelled.is_set)
                reader.late = time.monotonic() >= deadline
            finally:
                # By SIGTERM, so that the ranks end too; the end of mpirun alone may come late.
                if stream.wait(1) is None:
                    stream.terminate()
                    stream.wait(_END_SECONDS)

    def _failures(self, reader: _Reader, job: Job) -> Iterator[NodeAnswer]:
        for node in tuple(reader.awaited):
            code = reader.codes.get(node)
            if code in (126, 127):
                why = f"the Python that was named cannot be run there (exit code {code})"
                yield reader.fail(node, NodeState.REFUSED, why)
            elif code is not None:
                yield reader.fail(node, NodeState.LOST, f"exit code {code}; {reader.words}")
            elif reader.late or self._cancelled.is_set():
                yield reader.fail(node, NodeState.SILENT, f"no report within {job.timeout:g} s")
            else:
                words = next(_sentences(reader.messages), "its rank ended without a report")
                yield reader.fail(node, NodeState.LOST, words)


class _Reader(Collector):
    """Reads how each rank ended as well."""

    def __init__(self, run: str, nodes: Sequence[str]) -> None:
        super().__init__(run, nodes)
        self.run, self.late = run.encode(), False
        self.codes: dict[str, int] = {}

    def on_line(self, line: bytes) -> Iterator[NodeAnswer]:
        """Take the first and the last line of a rank."""
        if (found := _RANK_LINE.match(line)) and found[1] == self.run:
            node = found[2].decode()
            self.begun.add(node)
            if found[3] != b"begins":
                self.codes[node] = int(found[3])
        else:
            yield from super().on_line(line)


def _command(mpirun: str, job: Job, nodes: Sequence[str]) -> list[str]:
    """Return one mpirun for all nodes, with one program context for each, which names it."""
    archive = str(job.archive.resolve()) if job.archive else ""
    settings = [
        word for name, value in job.environment.items() for word in ("-x", f"{name}={value}")
    ]
    command = [mpirun]
    for number, node in enumerate(nodes):
        command += [
            *([":"] if number else []),
            *("-np", "1", "--host", f"{checked_name(node)}:1", "-x", f"{NODE_VARIABLE}={node}"),
            *settings,
            *(["--preload-files", archive] if archive else []),
            *("sh", "-c", _RANK, "doctor", job.run, archive, job.python, *job.arguments),
        ]
    return command


def _sentences(messages: Sequence[str]) -> Iterator[str]:
    """Yield the words of mpirun's own messages, which stand between lines of dashes."""
    for line in messages:
        if (words := one_line(line, 300)) and not set(words) <= {"-", "=", "*"}:
            yield words
