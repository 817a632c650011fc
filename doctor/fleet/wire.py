"""Reports of nodes on their way through the standard output of a job.

A scheduler merges what all tasks print, and may put a label before each line. So a packet is split
into lines, each of which says to which packet it belongs, its number and its check sum (CRC-32);
lines of different nodes, and of other programs, may stand between them:

    [label] doctor-packet-1 RUN PACKET PART/PARTS SUM DATA

RUN names the run, PACKET is the beginning of the SHA-256 of the whole packet, DATA is base64. A
line is shorter than 1024 bytes: srun passes on at most as many of a task at a time
(STDIO_MAX_MSG_LEN of Slurm), so that a longer line is torn apart by lines of other nodes.
A packet is a header in JSON, a line feed, and the report, compressed with zlib (RFC 1950).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
import zlib
from collections.abc import Iterator

import msgspec

from doctor.base.errors import DoctorError, InputError
from doctor.base.text import one_line
from doctor.model.fleet import NodeAnswer, NodeState

LARGEST_PACKET = 4 << 20
"""Bytes of a packet, compressed; a report with all its logs is a tenth of it."""
LARGEST_REPORT = 32 << 20
"""Bytes of a report once it is unpacked."""
LARGEST_MEMORY = 256 << 20
"""Bytes of packets that are not complete yet, of all nodes together."""
_CHUNK = 660
_MOST_PARTS = LARGEST_PACKET // _CHUNK + 1
_LONGEST_LINE = 4096
_LINE = re.compile(
    rb"doctor-packet-1 ([0-9a-f]{16}) ([0-9a-f]{24}) ([0-9]{1,5})/([0-9]{1,5}) ([0-9a-f]{8})"
    rb" ([A-Za-z0-9+/=]+)"
)


class TooLarge(DoctorError):
    """A report is too large for a packet."""


class Packet(msgspec.Struct, frozen=True, kw_only=True):
    """A message of one node; `node` is the name that it gives itself.

    `state` is None where the check begins; otherwise the packet is the last one of its node.
    `content` is the compressed report, and `reason` says why there is none. `clock` is the node's
    own time when it made the packet, in seconds since 1970.
    """

    node: str
    state: NodeState | None = None
    reason: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    clock: float | None = None
    content: bytes = b""


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    state: NodeState | None = None
    reason: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    clock: float | None = None


def compress(report: bytes) -> bytes:
    """Return a report as the content of a packet."""
    return zlib.compress(report, 9)


_ZLIB = b"\x78"
"""The first byte of what `compress` makes (RFC 1950, section 2.2)."""


def decompress(content: bytes) -> bytes:
    """Return the report in the content of a packet.

    Raises InputError where it is broken, or larger than `LARGEST_REPORT`.
    """
    if content[:1] != _ZLIB:
        raise InputError("what came is not a report of doctor")
    inflate = zlib.decompressobj()
    try:
        report = inflate.decompress(content, LARGEST_REPORT)
    except zlib.error as error:
        raise InputError(f"its report is broken: {error}") from None
    if inflate.unconsumed_tail:
        raise InputError(f"its report is larger than {LARGEST_REPORT >> 20} MiB")
    if not inflate.eof:
        raise InputError("its report is cut short")
    return report


def encode(packet: Packet) -> bytes:
    """Return a packet as bytes, as it is also kept in a file."""
    header = _Header(**{name: getattr(packet, name) for name in _Header.__struct_fields__})
    return msgspec.json.encode(header) + b"\n" + packet.content


def decode(data: bytes) -> Packet:
    """Return the packet that `encode` made; raise InputError for anything else."""
    head, _, content = data.partition(b"\n")
    try:
        header = msgspec.json.decode(head, type=_Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"no packet of doctor: {error}") from None
    return Packet(**msgspec.structs.asdict(header), content=content)


def answer(packet: Packet, name: str, now: float | None = None) -> NodeAnswer:
    """Return the last packet of a node as its answer; the engine knows the `name` of the node.

    `now` is the time of its arrival, by default this moment.

    A packet without a state, or with the state `answered` and no report, is that of a node that
    was lost.
    """
    now = time.time() if now is None else now
    state = packet.state or NodeState.LOST
    if state is NodeState.ANSWERED and not packet.content:
        state = NodeState.LOST
    return NodeAnswer(
        name=name,
        state=state,
        content=packet.content,
        reason=one_line(packet.reason, 500),
        exit_code=packet.exit_code,
        seconds=packet.seconds,
        lag=None if packet.clock is None else now - packet.clock,
    )


def lines(packet: Packet, run: str) -> Iterator[str]:
    """Yield the lines of a packet for a run; raise TooLarge beyond `LARGEST_PACKET`."""
    data = encode(packet)
    if len(data) > LARGEST_PACKET:
        raise TooLarge(f"the report is larger than {LARGEST_PACKET >> 20} MiB, compressed")
    digest = hashlib.sha256(data).hexdigest()[:24]
    parts = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    for number, part in enumerate(parts, 1):
        text = base64.b64encode(part).decode()
        yield f"doctor-packet-1 {run} {digest} {number}/{len(parts)} {zlib.crc32(part):08x} {text}"


class PacketReader:
    """Puts packets of one run, or of any, together out of the lines of a job.

    Lines of other programs, of other runs and broken ones are passed over. Where packets that are
    not complete take more than `LARGEST_MEMORY`, the oldest is dropped.
    """

    def __init__(self, run: str | None = None) -> None:
        self._run = run.encode() if run else None
        self._open: dict[bytes, dict[int, bytes]] = {}
        self._size = 0
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Take the next bytes of the output, in pieces of any size; yield complete packets."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if (packet := self.feed_line(line)) is not None:
                yield packet
        self._rest = self._rest[: 4 * _LONGEST_LINE]

    def feed_line(self, line: bytes) -> Packet | None:
        """Take one line; return the packet that it completes."""
        found = _LINE.search(line[: 4 * _LONGEST_LINE]) if b"doctor-packet-1 " in line else None
        if found is None or self._run not in (None, found[1]):
            return None
        key, number, count = found[2], int(found[3]), int(found[4])
        if not 1 <= number <= count <= _MOST_PARTS:
            return None
        try:
            part = base64.b64decode(found[6], validate=True)
        except binascii.Error:
            return None
        if zlib.crc32(part) != int(found[5], 16):
            return None
        return self._add(key, number, count, part)

    def _add(self, key: bytes, number: int, count: int, part: bytes) -> Packet | None:
        parts = self._open.setdefault(key, {})
        if number not in parts:
            parts[number] = part
            self._size += len(part)
        if len(parts) == count:
            return self._complete(key)
        while self._size > LARGEST_MEMORY:
            self._drop(next(iter(self._open)))
        return None

    def _complete(self, key: bytes) -> Packet | None:
        parts = self._drop(key)
        data = b"".join(parts[number] for number in sorted(parts))
        if hashlib.sha256(data).hexdigest()[:24].encode() != key:
            return None
        try:
            return decode(data)
        except InputError:
            return None

    def _drop(self, key: bytes) -> dict[int, bytes]:
        parts = self._open.pop(key)
        self._size -= sum(map(len, parts.values()))
        return parts
