"""The interface between doctor and a cluster: place one command on each node, give back answers.

An engine is an adapter to a scheduler that is already there. It starts processes by that
scheduler's own commands or client, and keeps no state of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from doctor.model.fleet import NodeAnswer

NODE_VARIABLE = "DOCTOR_FLEET_NODE"
"""The environment variable by which an engine tells a process the name of its node."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine runs on each node, the same on all of them.

    The command is `PYTHON ARCHIVE ARGUMENTS…`, or `PYTHON -m doctor ARGUMENTS…` without an
    archive, where doctor lies at the same place on each node. `archive` is a file of this machine
    (doctor.fleet.archive); the engine carries it to the node and removes it there. `python` is a
    path on the nodes. `run` is the random name of this run, which each packet repeats. `timeout`
    is in seconds, for one node from its start; `start_timeout` bounds the wait for the scheduler.
    `environment` is added to that of the command.
    """

    run: str
    arguments: tuple[str, ...]
    python: str
    archive: Path | None = None
    timeout: float = 600.0
    start_timeout: float = 120.0
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    def command(self, archive: str | None = None) -> tuple[str, ...]:
        """Return the command for a node on which the archive lies at `archive`."""
        program = (archive,) if archive else ("-m", "doctor")
        return (self.python, *program, *self.arguments)


class Engine(Protocol):
    """A scheduler that places a command on nodes.

    The command prints packets among other lines (doctor.fleet.wire.PacketReader reads them), and
    finds the name of its node in the environment variable `DOCTOR_FLEET_NODE`, which the engine
    sets.
    """

    name: str
    """slurm, ray, k8s or mpi."""

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the selected nodes.

        Raises DoctorError where the scheduler does not answer or knows no such node.
        """

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        """Run the job once on each of the nodes, and yield an answer for each as it comes.

        A node that refuses, is silent or is lost gets an answer as well, with the reason in the
        scheduler's words. The iterator ends within the job's limits of time; where the caller
        closes it, everything on the nodes is ended. Raises DoctorError where nothing can be placed.
        """

    def cancel(self) -> None:
        """End everything that was placed; may be called from another thread, and twice."""

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        """Return commands of the scheduler that take nodes out of service; they are only printed.

        `reason` is one line of plain words.
        """


@runtime_checkable
class Previewing(Protocol):
    """An engine that can print what it would create."""

    def dry_run(self, job: Job) -> str:
        """Return what a run would create, and create nothing.

        Raises DoctorError as `Engine.nodes` does.
        """
