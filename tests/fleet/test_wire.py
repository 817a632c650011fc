"""Packets arrive whole out of the output of a job, whatever stands between their lines."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet import wire
from doctor.model.fleet import NodeState

_RUN = "0123456789abcdef"


def _packets(count: int) -> list[wire.Packet]:
    rng = random.Random(1)
    return [
        wire.Packet(
            node=f"n{number}",
            state=NodeState.ANSWERED,
            exit_code=number,
            content=wire.compress(rng.randbytes(5000)),
        )
        for number in range(count)
    ]


@given(st.randoms(use_true_random=False), st.integers(1, 2000))
def test_packets_arrive_in_any_order_between_other_lines(rng: random.Random, piece: int) -> None:
    sent = _packets(3)
    lines = [line for packet in sent for line in wire.lines(packet, _RUN)]
    rng.shuffle(lines)
    labels = ["", "2: ", "[1,0]<stdout>:", "noise without an end "]
    data = "".join(f"{rng.choice(labels)}{line}\nsrun: error\n" for line in lines).encode()
    reader = wire.PacketReader(_RUN)
    got = [
        packet
        for start in range(0, len(data), piece)
        for packet in reader.feed(data[start : start + piece])
    ]
    assert sorted(got, key=lambda packet: packet.node) == sent


@given(st.binary(max_size=3000))
def test_noise_is_passed_over(data: bytes) -> None:
    reader = wire.PacketReader(_RUN)
    assert list(reader.feed(b"doctor-packet-1 " + data + b"\n")) == []


def test_packets_of_another_run_and_broken_lines_are_passed_over() -> None:
    (packet,) = _packets(1)
    lines = list(wire.lines(packet, _RUN))
    assert list(wire.PacketReader("f" * 16).feed("\n".join([*lines, ""]).encode())) == []
    torn = [lines[0].replace("A", "B"), *lines[1:]]
    assert list(wire.PacketReader(_RUN).feed("\n".join([*torn, ""]).encode())) == []


def test_packets_that_never_end_are_dropped(monkeypatch: object) -> None:
    reader = wire.PacketReader(_RUN)
    limit, wire.LARGEST_MEMORY = wire.LARGEST_MEMORY, 20_000
    try:
        for packet in _packets(30):
            for line in list(wire.lines(packet, _RUN))[:-1]:
                reader.feed_line(line.encode())
            assert reader._size <= 20_000
    finally:
        wire.LARGEST_MEMORY = limit


def test_an_answer_without_a_report_is_a_lost_node() -> None:
    packet = wire.Packet(node="n1", state=NodeState.ANSWERED)
    assert wire.answer(packet, "n1").state is NodeState.LOST
