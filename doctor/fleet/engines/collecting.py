"""Answers of nodes out of the output of one command that runs on all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from doctor.base.text import one_line
from doctor.fleet import wire
from doctor.host.streaming import Stream
from doctor.model.fleet import NodeAnswer, NodeState

_MESSAGES = 4000
"""How many of the scheduler's own lines are kept."""
_LONGEST = 4096


class Collector:
    """Reads packets and the scheduler's messages; knows which nodes are still awaited.

    A packet counts for a node that was asked, once: the name in it is what the node says.
    """

    def __init__(self, run: str, nodes: Iterable[str]) -> None:
        self.awaited = dict.fromkeys(nodes)
        self._nodes = tuple(self.awaited)
        self.begun: set[str] = set()
        self.messages: deque[str] = deque(maxlen=_MESSAGES)
        self.words = ""
        """The last line that a node printed and that is no part of a packet."""
        self._packets = wire.PacketReader(run)
        self._message = self._line = b""

    def answers(
        self, stream: Stream, deadline: float, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[NodeAnswer]:
        """Yield answers until all nodes have answered, the command ends or the time is over."""
        for chunk in stream.chunks(deadline):
            if stop():
                return
            if chunk is None:
                continue
            if chunk.is_error:
                self._add_messages(chunk.data)
                continue
            for line in self._lines_of(chunk.data):
                yield from self._of(line)
            if self._nodes and not self.awaited:
                return

    def on_line(self, line: bytes) -> Iterator[NodeAnswer]:
        """Take a line that is no part of a packet; an adapter may find answers in it."""
        if text := one_line(line[:_LONGEST].decode("utf-8", "replace"), 400):
            self.words = text
        yield from ()

    def fail(self, node: str, state: NodeState, reason: str) -> NodeAnswer:
        """Return the answer of a node that gave none, which is no longer awaited."""
        self.awaited.pop(node, None)
        return NodeAnswer(name=node, state=state, reason=one_line(reason, 500))

    def _of(self, line: bytes) -> Iterator[NodeAnswer]:
        if b"doctor-packet-" not in line:
            yield from self.on_line(line)
        elif (packet := self._packets.feed_line(line)) and packet.node in self.awaited:
            if packet.state is None:
                self.begun.add(packet.node)
            else:
                del self.awaited[packet.node]
                yield wire.answer(packet, packet.node)

    def _lines_of(self, data: bytes) -> list[bytes]:
        *whole, self._line = (self._line + data).split(b"\n")
        self._line = self._line[: 4 * _LONGEST]
        return whole

    def _add_messages(self, data: bytes) -> None:
        *whole, self._message = (self._message + data).split(b"\n")
        self._message = self._message[:_LONGEST]
        self.messages.extend(line[:_LONGEST].decode("utf-8", "replace") for line in whole)
