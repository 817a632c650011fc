"""Ray: one task pinned to each live node, started by a driver in the Python that has Ray.

A driver needs the very Python and Ray of its cluster, so Ray is no dependency of doctor. The
archive goes through Ray's object store, and the report comes back as the result of the task.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from doctor.base.errors import DoctorError, UsageError
from doctor.base.text import one_line
from doctor.fleet.engine import NODE_VARIABLE, Job
from doctor.fleet.engines.collecting import Collector
from doctor.fleet.package import checked_names, listed_names, travelling
from doctor.host import Host
from doctor.host.streaming import Stream
from doctor.model.fleet import NodeAnswer, NodeState

_DRIVER = Path(__file__).parent / "drivers" / "on_ray.py"
_CONNECT_SECONDS = 60.0
_END_SECONDS = 30.0
_MARK = b"doctor-ray "
_VARIABLES = ("RAY_ADDRESS", "RAY_TMPDIR", "RAY_NODE_IP_ADDRESS")


class Ray:
    """A Ray cluster that runs; `address` is that of its head, or empty for the one of this machine.

    `nodes` is a list of names or addresses, a number, or empty for all live nodes. `python` has
    Ray; it is the `python` of the job where it is not named.
    """

    name = "ray"

    def __init__(
        self,
        host: Host,
        *,
        nodes: str = "",
        address: str = "",
        python: str = "",
        grace: float = 30.0,
    ) -> None:
        if address.startswith("-") or any(sign.isspace() for sign in address):
            raise UsageError(f"{address[:80]!r} is no address of a Ray cluster")
        self._nodes, self._address, self._grace = nodes, address, grace
        self._host = Host(env=travelling(host.env, _VARIABLES), cwd=host.cwd)
        self._python = python or host.which("python3") or "python3"
        self._cancelled = threading.Event()

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the selected nodes: host names, made unique by their ids."""
        rows = self._rows()
        alive = [row["name"] for row in rows if row["alive"]]
        if not self._nodes:
            return checked_names(alive)
        if self._nodes.isdigit():
            if not 1 <= int(self._nodes) <= len(alive):
                raise UsageError(f"{self._nodes} nodes are wanted, and {len(alive)} are alive")
            return checked_names(alive[: int(self._nodes)])
        by_word = {row["address"]: row["name"] for row in rows}
        by_word |= {row["name"]: row["name"] for row in rows}
        wanted = listed_names(self._nodes)
        if foreign := [word for word in wanted if word not in by_word]:
            raise UsageError(f"Ray knows no such node: {', '.join(foreign[:5])}")
        return checked_names(by_word[word] for word in wanted)

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        """Run the job once on each node; see doctor.fleet.engine.Engine."""
        nodes = checked_names(nodes)
        self._cancelled.clear()
        orders = {
            "address": self._address,
            "nodes": nodes,
            "run": job.run,
            "command": job.command("archive" if job.archive else None),
            "archive": str(job.archive) if job.archive else "",
            "timeout": job.timeout,
            "grace": self._grace,
            "environment": job.environment,
            "variable": NODE_VARIABLE,
        }
        reader = _Reader(job.run, nodes)
        seconds = _CONNECT_SECONDS + job.timeout + self._grace
        with self._driver(orders) as stream:
            try:
                yield from reader.answers(stream, time.monotonic() + seconds, self._is_cancelled)
            finally:
                # Ray forgets a driver that is killed only after a while.
                if stream.wait(1) is None:
                    stream.terminate()
                    stream.wait(_END_SECONDS)
        if reader.error:
            raise DoctorError(f"Ray: {one_line(reader.error, 400)}")
        for node in tuple(reader.awaited):
            yield reader.fail(node, NodeState.SILENT, "Ray's driver ended without its result")

    def cancel(self) -> None:
        """End the driver; Ray then ends its tasks, and no others."""
        self._cancelled.set()

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        """Return nothing: no command of Ray takes one node out of service for others.

        `ray drain-node` ends the node's own work. Its machines belong to the scheduler below it.
        """
        del nodes, reason
        return ()

    def _is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def _rows(self) -> list[dict[str, Any]]:
        reader = _Reader("", ())
        with self._driver({"address": self._address, "command": ()}) as stream:
            for _ in reader.answers(stream, time.monotonic() + _CONNECT_SECONDS, lambda: False):
                pass
            stream.wait(5)
        if reader.error or reader.rows is None:
            words = reader.error or next(reversed(reader.messages), "no answer in time")
            raise DoctorError(f"Ray: {one_line(words, 400)}")
        return reader.rows

    @contextlib.contextmanager
    def _driver(self, orders: Mapping[str, Any]) -> Iterator[Stream]:
        with tempfile.TemporaryDirectory(prefix="doctor-ray-") as folder:
            path = Path(folder) / "orders.json"
            path.write_bytes(msgspec.json.encode(orders))
            argv = (self._python, "-B", str(_DRIVER), str(path))
            try:
                stream = Stream(argv, {**self._host.env, "RAY_USAGE_STATS_ENABLED": "0"})
            except (OSError, ValueError) as error:
                raise DoctorError(f"{self._python} does not start: {error}") from None
            with stream:
                yield stream


class _Reader(Collector):
    """Reads the driver's own lines as well."""

    def __init__(self, run: str, nodes: Sequence[str]) -> None:
        super().__init__(run, nodes)
        self.rows: list[dict[str, Any]] | None = None
        self.error = ""

    def on_line(self, line: bytes) -> Iterator[NodeAnswer]:
        """Take a line of the driver: the nodes, an error, or how the task of a node ended."""
        if not line.startswith(_MARK):
            return
        with contextlib.suppress(msgspec.DecodeError):
            words = msgspec.json.decode(line[len(_MARK) :], type=dict[str, Any])
            self.rows = words.get("nodes", self.rows)
            self.error = words.get("error", self.error)
            if (node := words.get("node")) in self.awaited:
                yield self.fail(str(node), NodeState(words["how"]), str(words["why"]))
