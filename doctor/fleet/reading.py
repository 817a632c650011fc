"""Reports of nodes as files: JSON reports, the packets of a spool folder, the output of a job.

Everything here is hostile input: each file is bounded, and a broken one is an answer of its node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from doctor.base.errors import InputError
from doctor.base.text import one_line
from doctor.fleet import wire
from doctor.fleet.values import RawFact
from doctor.host import reading
from doctor.model.fleet import NodeAnswer, NodeState
from doctor.model.scales import Confidence, Severity

_MOST_FILES = 100_000
_BEGINNING = 4096
_OF_NO_NODE = frozenset({"report", "doctor", "doctor-report", "result", "output", "out", "stdout"})
"""Names of files that say what they hold, and not from where."""
_SUFFIXES = frozenset({".json", ".report", ".packet", ".txt", ".out", ".log"})


class SeenFinding(msgspec.Struct, frozen=True):
    """The parts of a finding that are compared; `raw` holds the rest."""

    id: str
    title: str
    severity: Severity
    target: str = ""
    confidence: Confidence = Confidence.HIGH
    suppressed: msgspec.Raw = msgspec.Raw(b"null")


class SeenOutcome(msgspec.Struct, frozen=True):
    """The parts of an outcome that are compared."""

    id: str
    verdict: str
    device: str | None = None
    reason: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _SeenDoctor(msgspec.Struct, frozen=True):
    version: str = ""


class SeenReport(msgspec.Struct, frozen=True):
    """A JSON report of any version of doctor, as far as nodes are compared by it."""

    facts: dict[str, RawFact]
    findings: tuple[msgspec.Raw, ...]
    exit_code: int
    outcomes: tuple[SeenOutcome, ...] = ()
    doctor: _SeenDoctor = _SeenDoctor()
    static: bool = False
    interrupted: bool = False


_REPORT = msgspec.json.Decoder(SeenReport)
_FINDING = msgspec.json.Decoder(SeenFinding)


def read_report(data: bytes) -> SeenReport:
    """Return a report; raise InputError where it is broken or none of doctor's."""
    if not data:
        raise InputError("what came is empty")
    try:
        return _REPORT.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        why = one_line(str(error), 200)
        raise InputError(f"what came is not a report of doctor: {why}") from None


def read_finding(raw: bytes) -> SeenFinding | None:
    """Return a finding of a report; None for one that is broken or that a suppression covers."""
    try:
        found = _FINDING.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return None if bytes(found.suppressed) != b"null" else found


def answers(paths: Sequence[Path], problems: list[str]) -> Iterator[NodeAnswer]:
    """Yield what files say of nodes; a folder stands for the files in it.

    The name of a node is that of its file, or of the folder where all files are named alike and
    where several have a name that says nothing of a node. What no node can be made of goes into
    `problems`, and so does the second file of a node.
    """
    files = list(_files(paths, problems))
    alike = len(files) > 1 and len({path.name for path in files}) == 1
    named: dict[str, list[Path]] = {}
    for path in files:
        named.setdefault(_node_name(path), []).append(path)
    first: dict[str, Path] = {}
    for path in files:
        name = _node_name(path)
        same = files if alike else named[name]
        if alike or (len(same) > 1 and name.lower() in _OF_NO_NODE):
            name = _folder_name(path, same)
        try:
            for answer in _of_file(path, name):
                if (before := first.setdefault(answer.name, path)) != path:
                    problems.append(one_line(f"{path}: unused, {before} is of the same node", 300))
                yield answer
        except (reading.UnreadableFile, OSError) as error:
            problems.append(one_line(str(error), 300))


def _files(paths: Iterable[Path], problems: list[str]) -> Iterator[Path]:
    count = 0
    for path in paths:
        listed = sorted(path.rglob("*")) if path.is_dir() else [path]
        for one in listed:
            if path.is_dir() and (one.name.startswith(".") or not one.is_file()):
                continue
            if (count := count + 1) > _MOST_FILES:
                problems.append(f"only the first {_MOST_FILES} files were read")
                return
            yield one


def _folder_name(path: Path, files: Sequence[Path]) -> str:
    """Return the first folder in which the path differs, as Ansible's fetch lays files out."""
    parts = path.absolute().parts
    others = [one.absolute().parts for one in (files[0], files[-1])]
    place = next(
        (
            number
            for number, part in enumerate(parts)
            if any(len(other) <= number or other[number] != part for other in others)
        ),
        len(parts) - 1,
    )
    return parts[place]


def _node_name(path: Path) -> str:
    before, found, after = path.name.rpartition(".json.")
    if found and before and after:  # as `pdcp` and `clush --rcopy` name copies
        return after
    name = path
    while name.suffix in _SUFFIXES:
        name = name.with_suffix("")
    return name.name


def _of_file(path: Path, name: str) -> Iterator[NodeAnswer]:
    data = reading.read_whole(path, wire.LARGEST_REPORT)
    if data is None:
        raise reading.UnreadableFile(f"{path}: there is no such file")
    if data.startswith(b'{"node":'):
        yield _of_packet(data, name)
    elif b"doctor-packet-1 " in data[: 64 * _BEGINNING]:
        yield from _of_output(data)
    else:
        yield NodeAnswer(name=name, state=NodeState.ANSWERED, content=data)


def _of_packet(data: bytes, name: str) -> NodeAnswer:
    try:
        packet = wire.decode(data)
    except InputError as error:
        return NodeAnswer(name=name, state=NodeState.LOST, reason=str(error))
    answer = wire.answer(packet, name)
    if packet.node != name:
        return msgspec.structs.replace(
            answer, reason=answer.reason or f"its report calls it {one_line(packet.node, 100)}"
        )
    return answer


def _of_output(data: bytes) -> Iterator[NodeAnswer]:
    """Yield the answers in the output of a job, such as that of pdsh."""
    reader = wire.PacketReader()
    began: set[str] = set()
    for packet in reader.feed(data + b"\n"):
        name = one_line(packet.node, 253)
        began.add(name)
        if packet.state is not None:
            began.discard(name)
            yield wire.answer(packet, name)
    for name in sorted(began):
        why = "its check began, and no report of it is there"
        yield NodeAnswer(name=name, state=NodeState.LOST, reason=why)
