"""Slurm: one task per node by `srun`, inside an allocation or in one that is asked for.

The archive goes by `sbcast`: what stands on srun's standard input reaches all tasks at the pace of
the slowest one, so a node that hangs would hold up all others. Reports come back on srun's standard
output, so no shared folder is needed. See https://slurm.schedmd.com/srun.html.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import threading
import time
from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.errors import DoctorError, UsageError
from doctor.base.text import one_line
from doctor.fleet.engine import Job
from doctor.fleet.engines.collecting import Collector
from doctor.fleet.engines.slurm_words import in_words, too_long, why
from doctor.fleet.package import (
    checked_expression,
    checked_names,
    first_names,
    known_names,
    launcher,
    travelling,
)
from doctor.host import CompletedCommand, Host
from doctor.host.streaming import Stream
from doctor.model.fleet import NodeAnswer, NodeState

_COMMAND_SECONDS = 30.0
_CLEANING_SECONDS = 20.0
_LAST_WORDS_SECONDS = 3.0
_OWN_VARIABLES = ("SLURM_CONF", "SLURM_CLUSTERS")
"""Variables by which Slurm's commands find their cluster; others would change the step's shape."""
_FREE = frozenset({"idle", "mixed", "completing", "planned"})
_USABLE_IN_ALLOCATION = _FREE | {"allocated", "draining", "reserved", "mixed-drain", "maint"}
_SUFFIXES = "*~#!%$@^-+"
"""What sinfo puts behind a state; `*` is a node that does not respond."""
_OPTION = re.compile(r"--[a-z][a-z-]{0,40}(=[^\s\x00-\x1f]{0,500})?")
_TASK_MESSAGE = re.compile(r"srun: error: ([\w.,\[\]-]{1,4000}): tasks? [0-9,-]+: (.{1,300})")
_NODE_MESSAGE = re.compile(
    r"srun: error:.{0,200}?\b(?:[Nn]ode failure on|on node|for node) ([\w.,\[\]-]{1,4000})"
)
_REMOVE = 'rm -rf -- "/tmp/$1"[.-]* "${TMPDIR:-/tmp}/$1"[.-]*'
_GRANTED = re.compile(r"Granted job allocation (\d+)")


class _State(msgspec.Struct, frozen=True):
    """What sinfo says of a node."""

    words: str
    reason: str = ""

    @property
    def base(self) -> str:
        return self.words.lower().rstrip(_SUFFIXES)

    @property
    def responds(self) -> bool:
        return "*" not in self.words and self.base not in ("down", "unknown", "error")


class Slurm:
    """A Slurm cluster, or the allocation in which doctor runs.

    `nodes` is a list of nodes in Slurm's own form, how many of the free ones, or empty: all nodes
    of the allocation, or of the partition. `options` go to `salloc`: `--account=…`, `--gres=…`.
    `grace` is how many seconds a step may take beyond the time of a node.
    """

    name = "slurm"

    def __init__(
        self,
        host: Host,
        *,
        nodes: str = "",
        partition: str = "",
        options: Sequence[str] = (),
        grace: float = 30.0,
    ) -> None:
        self._nodes = checked_expression(nodes) if nodes else ""
        self._partition = checked_expression(partition) if partition else ""
        for option in options:
            if _OPTION.fullmatch(option) is None:
                raise UsageError(f"{option[:80]!r} is no option of salloc such as --account=NAME")
        self._options, self._grace = tuple(options), grace
        self._allocation = host.env.get("SLURM_JOB_ID", "")
        self._allocated = host.env.get("SLURM_JOB_NODELIST", "")
        if not self._allocation.isdigit():
            self._allocation = ""
        self._host = Host(env=travelling(host.env, _OWN_VARIABLES), cwd=host.cwd)
        self._cancelled = threading.Event()
        self._run = ""

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the selected nodes, in Slurm's order."""
        if self._allocation:
            inside = self._expanded(self._allocated)
            if not self._nodes:
                return inside
            if self._nodes.isdigit():
                return first_names(inside, int(self._nodes), "the allocation")
            return known_names(self._expanded(self._nodes), inside)
        if self._nodes and not self._nodes.isdigit():
            names = self._expanded(self._nodes)
            return known_names(names, self._states(names))
        states = self._states(())
        if not self._nodes:
            return tuple(states)
        free = [name for name, state in states.items() if state.responds and state.base in _FREE]
        return first_names(free, int(self._nodes), "the free nodes")

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        """Run the job once on each node; see doctor.fleet.engine.Engine."""
        nodes = checked_names(nodes)
        self._cancelled.clear()
        self._run = job.run
        states = self._states(nodes)
        usable = []
        for name in nodes:
            if refusal := self._why_not(states.get(name)):
                yield NodeAnswer(name=name, state=NodeState.REFUSED, reason=refusal)
            else:
                usable.append(name)
        if not usable:
            return
        allocation, lost = self._allocation, set[str]()
        try:
            if not allocation:
                allocation = self._allocate(job, usable)
            for answer in self._step(job, allocation, usable):
                if answer.state is NodeState.LOST:
                    lost.add(answer.name)
                yield answer
        finally:
            self._finish(allocation, [name for name in usable if name not in lost])

    def cancel(self) -> None:
        """End the step of this run, and its wait for an allocation; no job or step of others."""
        self._cancelled.set()
        if not self._run:
            return
        self._command("scancel", f"--name={_title(self._run)}", "--state=PENDING")
        for step in self._steps():
            self._command("scancel", step)

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        """Return the command that drains nodes: running jobs end, and no new one starts."""
        return (
            (
                *("scontrol", "update", f"NodeName={','.join(checked_names(nodes))}"),
                *("State=DRAIN", f"Reason={one_line(reason, 200)}"),
            ),
        )

    # What Slurm's own commands say.

    def _command(self, *argv: str, seconds: float = _COMMAND_SECONDS) -> CompletedCommand:
        return self._host.run(argv, timeout=seconds, limit=16 << 20)

    def _asked(self, *argv: str) -> str:
        completed = self._command(*argv)
        if not completed.ok:
            raise DoctorError(f"{shlex.join(argv)}: {why(completed)}")
        return completed.output

    def _expanded(self, expression: str) -> tuple[str, ...]:
        if not expression:
            return ()
        return checked_names(self._asked("scontrol", "show", "hostnames", expression).split())

    def _states(self, names: Sequence[str]) -> dict[str, _State]:
        argv = ["sinfo", "--noheader", "--Node", "--format=%N|%T|%E"]
        if names:
            argv.append(f"--nodes={','.join(names)}")
        elif self._partition:
            argv.append(f"--partition={self._partition}")
        found: dict[str, _State] = {}
        for line in self._asked(*argv).splitlines():
            name, _, rest = line.partition("|")
            state, _, reason = rest.partition("|")
            if name.strip():
                found.setdefault(name.strip(), _State(state.strip(), reason.strip()))
        checked_names(found)
        return found

    def _why_not(self, state: _State | None) -> str:
        """Return why no task may start on a node; empty where one may."""
        if state is None:
            return "Slurm knows no such node"
        allowed = _USABLE_IN_ALLOCATION if self._allocation else _FREE
        if state.responds and state.base in allowed:
            return ""
        if state.base == "allocated":
            return "all of it is allocated to other jobs"
        reason = "" if state.reason in ("", "none") else f": {one_line(state.reason, 300)}"
        return f"Slurm says {state.words}{reason}"

    # The run.

    def _allocate(self, job: Job, nodes: Sequence[str]) -> str:
        minutes = 1 + round((job.timeout + self._reserve()) / 60)
        self._raise_if_too_long(minutes)
        argv = [
            *("salloc", "--no-shell", f"--job-name={_title(job.run)}", f"--nodes={len(nodes)}"),
            *(f"--nodelist={','.join(nodes)}", "--ntasks-per-node=1"),
            f"--immediate={max(1, round(job.start_timeout))}",
            f"--time={minutes}",
            *([f"--partition={self._partition}"] if self._partition else ()),
            *self._options,
        ]
        completed = self._command(*argv, seconds=job.start_timeout + 10)
        granted = _GRANTED.search(completed.errors)
        if granted is None:
            raise DoctorError(f"Slurm grants no allocation: {why(completed)}")
        return granted[1]

    def _reserve(self) -> float:
        return self._grace + 2 * _CLEANING_SECONDS

    def _raise_if_too_long(self, minutes: int) -> None:
        """Raise DoctorError where the partition ends a job sooner: salloc would wait in vain."""
        if any(option.startswith("--time") for option in self._options):
            return
        rows = self._command("sinfo", "--noheader", "--format=%P|%l").output.splitlines()
        if low := too_long(rows, self._partition, self._options, minutes, self._reserve()):
            raise DoctorError(low)

    def _step(self, job: Job, allocation: str, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        archive = None
        if job.archive is not None:
            archive = _place_of_archive(job)
            sent = self._command(
                *("sbcast", "--force", f"--jobid={allocation}", str(job.archive), archive),
                seconds=job.start_timeout,
            )
            if sent.code is None:
                raise DoctorError(f"the archive does not reach the nodes: {why(sent)}")
        argv = (
            *("srun", f"--job-name={_title(job.run)}", *_shape(allocation, nodes)),
            *("--export=ALL", "--kill-on-bad-exit=0", "--wait=0"),
            *launcher(job, archive, "$SLURMD_NODENAME"),
        )
        collector = Collector(job.run, nodes)
        deadline = time.monotonic() + job.timeout + self._grace
        with Stream(self._located(argv), {**self._host.env, **job.environment}) as stream:
            yield from collector.answers(stream, deadline, self._cancelled.is_set)
            # What srun says later speaks of the end that this run itself brought about.
            messages = tuple(collector.messages)
            if collector.awaited and stream.wait(0) is None:
                self.cancel()
                yield from collector.answers(stream, time.monotonic() + _LAST_WORDS_SECONDS)
            elif not collector.awaited:
                stream.wait(_LAST_WORDS_SECONDS)
            code = stream.wait(0)
        if not collector.begun and len(collector.awaited) == len(nodes) and code not in (None, 0):
            _raise_if_no_step(messages)
        yield from self._failures(collector, job, messages)

    def _located(self, argv: Sequence[str]) -> list[str]:
        found = self._host.which(argv[0])
        if found is None:
            raise DoctorError(f"{argv[0]} is not on PATH")
        return [found, *argv[1:]]

    def _failures(
        self, collector: Collector, job: Job, messages: Sequence[str]
    ) -> Iterator[NodeAnswer]:
        """Yield an answer for each node that gave none, in the words of Slurm."""
        awaited = tuple(collector.awaited)
        if not awaited:
            return
        said = self._said(messages)
        states: dict[str, _State] = {}
        with contextlib.suppress(DoctorError):
            states = self._states(awaited)
        for node in awaited:
            began, state = node in collector.begun, states.get(node)
            if node in said:
                how = NodeState.LOST if began else NodeState.REFUSED
                yield collector.fail(node, how, _with_words(said[node], collector.words))
            elif state is not None and not state.responds:
                words = f"Slurm says {state.words}: {state.reason}"
                yield collector.fail(node, NodeState.LOST, words)
            elif self._cancelled.is_set():
                yield collector.fail(node, NodeState.SILENT, _silence(job, began))
            else:
                yield collector.fail(node, NodeState.LOST, "its task ended without a report")

    def _said(self, messages: Sequence[str]) -> dict[str, str]:
        """Return what srun says about each node."""
        said: dict[str, str] = {}
        for line in messages:
            if found := _TASK_MESSAGE.match(line):
                names, words = found[1], in_words(found[2])
            elif found := _NODE_MESSAGE.match(line):
                names, words = found[1], line.removeprefix("srun: error: ")
            else:
                continue
            with contextlib.suppress(DoctorError):
                for name in self._expanded(names.strip(".,-")):
                    said.setdefault(name, words)
        return said

    def _steps(self) -> tuple[str, ...]:
        """Return the ids of the steps of this run."""
        argv = ("squeue", "--steps", "--noheader", "--format=%i %j")
        rows = (line.split() for line in self._command(*argv).output.splitlines())
        return tuple(row[0] for row in rows if row[1:] == [_title(self._run)])

    def _finish(self, allocation: str, nodes: Sequence[str]) -> None:
        """End the step, remove what it left on the nodes, and give our own allocation back."""
        try:
            self._end_steps()
            if allocation and nodes:
                self._command(
                    *("srun", *_shape(allocation, nodes), "--wait=5", "--immediate=5"),
                    *("sh", "-c", _REMOVE, "sh", _title(self._run)),
                    seconds=_CLEANING_SECONDS,
                )
        finally:
            if allocation and not self._allocation:
                self._command("scancel", allocation)

    def _end_steps(self) -> None:
        """End the step: by SIGTERM, so that doctor removes its files, and then by SIGKILL."""
        self.cancel()
        end = time.monotonic() + _LAST_WORDS_SECONDS
        while steps := self._steps():
            if time.monotonic() > end:
                for step in steps:
                    self._command("scancel", "--signal=KILL", step)
                return
            time.sleep(0.1)


def _title(run: str) -> str:
    return f"doctor-{run}"


def _shape(allocation: str, nodes: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a step with one task on each node, beside the steps of others."""
    return (
        *(f"--jobid={allocation}", "--overlap", f"--nodes={len(nodes)}"),
        *(f"--ntasks={len(nodes)}", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}"),
        *("--mpi=none", "--input=none", "--no-kill", "--quiet"),
    )


def _place_of_archive(job: Job) -> str:
    return f"/tmp/{_title(job.run)}.pyz"  # noqa: S108 - the name is random (Job.run)


def _silence(job: Job, began: bool) -> str:
    if began:
        return f"its check began and gave no report within {job.timeout:g} s"
    return f"doctor did not start there within {job.timeout:g} s"


def _raise_if_no_step(messages: Sequence[str]) -> None:
    for line in messages:
        if "Unable to create step" in line or "Unable to allocate" in line:
            raise DoctorError(f"Slurm starts no step: {one_line(line, 300)}")


def _with_words(said: str, printed: str) -> str:
    """Add what a node printed; srun does not say which one printed it."""
    return f"{said}; a node printed: {printed}" if printed else said
