"""The search names the node or the link that breaks an all-reduce, in few rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.network import Rank, rank_of, search
from doctor.fleet.node import AllReduce, exchange_packets
from doctor.fleet.wire import PacketReader, answer
from doctor.model.fleet import FleetFinding, NodeAnswer, NodeState
from tests.fleet import network_namespaces
from tests.hosts import script


class Cluster:
    """Nodes of which some break a collective: alone, with one other, or before it begins."""

    def __init__(
        self,
        bad: Sequence[str] = (),
        links: Sequence[tuple[str, str]] = (),
        own: Sequence[str] = (),
    ) -> None:
        self.bad, self.links, self.own, self.rounds = set(bad), {*map(frozenset, links)}, {*own}, 0

    def __call__(self, nodes: Sequence[str]) -> Mapping[str, Rank]:
        self.rounds += 1
        broken = self.bad & {*nodes} or any(link <= {*nodes} for link in self.links)
        late = Rank(error="timed out") if broken or self.own & {*nodes} else Rank(ok=True)
        return {
            name: Rank(local=True, error="no interface") if name in self.own else late
            for name in nodes
        }


def _names(count: int) -> list[str]:
    return [f"n{index:03}" for index in range(count)]


def _found(findings: Sequence[FleetFinding]) -> dict[str, str]:
    return {one.id: one.nodes for one in findings}


def test_a_healthy_fleet_takes_one_round() -> None:
    cluster = Cluster()
    assert search(cluster, _names(512)).findings == ()
    assert cluster.rounds == 1


@given(st.integers(4, 64), st.data())
def test_a_bad_node_is_found(count: int, data: st.DataObject) -> None:
    names = _names(count)
    bad = data.draw(st.sampled_from(names))
    cluster = Cluster(bad=[bad])
    assert _found(search(cluster, names).findings) == {"fleet/all-reduce-node": bad}
    assert cluster.rounds <= 32


@given(st.integers(5, 64), st.data())
def test_a_bad_link_is_found(count: int, data: st.DataObject) -> None:
    names = _names(count)
    link = data.draw(st.sampled_from(list(combinations(names, 2))))
    (one,) = search(Cluster(links=[link]), names).findings
    assert one.id == "fleet/all-reduce-link"
    assert all(name in one.title for name in link)


def test_a_node_that_fails_by_itself_is_named_by_its_own_words() -> None:
    cluster = Cluster(own=["n005"])
    (one,) = search(cluster, _names(64)).findings
    assert (one.nodes, cluster.rounds) == ("n005", 2)
    assert "no interface" in one.title


def test_a_network_that_carries_nothing_is_bounded() -> None:
    cluster = Cluster(bad=_names(256))
    (one,) = search(cluster, _names(256)).findings
    assert one.id == "fleet/all-reduce"
    assert cluster.rounds <= 66


def test_another_mtu_is_a_finding() -> None:
    def exchange(nodes: Sequence[str]) -> Mapping[str, Rank]:
        return {name: Rank(ok=True, mtu=1500 if name == "n003" else 9000) for name in nodes}

    found = search(exchange, _names(8))
    assert [(path.nodes, path.mtu) for path in found.paths] == [
        ("n[000-002,004-007]", 9000),
        ("n003", 1500),
    ]
    (one,) = found.findings
    assert (one.id, one.nodes, one.severity.value) == ("fleet/all-reduce-path", "n003", "warning")


@pytest.mark.parametrize("content", [b"", b"x", b'{"ok": 3}'])
def test_a_broken_answer_is_a_rank_that_failed(content: bytes) -> None:
    found = NodeAnswer(name="n1", state=NodeState.ANSWERED, content=content)
    assert rank_of(found).local


@pytest.mark.parametrize(
    ("line", "transport"),
    [
        ("g1:77:77 [0] NCCL INFO Using network Socket", "Socket"),
        ("g1:77:99 [0] NCCL INFO Using network IB", "IB"),
        ("no word of it", ""),
    ],
)
def test_the_transport_of_nccl_comes_from_its_log(
    line: str, transport: str, tmp_path: Path
) -> None:
    python = script(
        tmp_path / "python", f"echo '{line}'; echo 'doctor-all-reduce {{\"ok\": true}}'"
    )
    assert _rank(AllReduce(nodes=("n1", "n2"), port=1, python=str(python)), "n1") == Rank(
        ok=True, transport=transport
    )


def _rank(group: AllReduce, name: str, seconds: float = 20) -> Rank:
    lines: list[str] = []
    exchange_packets(name, "0" * 16, group, seconds, lines.append)
    (packet,) = PacketReader().feed("\n".join([*lines, ""]).encode())
    return rank_of(answer(packet, name))


@pytest.mark.patient
@pytest.mark.skipif(network_namespaces.missing() != "", reason=network_namespaces.missing())
def test_real_ranks_name_a_link_an_interface_and_wrong_bits(
    torch_python: Path, tmp_path: Path
) -> None:
    """Four ranks of a real torch, each in a network of its own, on one bridge."""
    with network_namespaces.four_nodes(torch_python, tmp_path) as net:

        def exchange(nodes: Sequence[str]) -> Mapping[str, Rank]:
            port = next(ports)

            def rank(name: str) -> Rank:
                group = AllReduce(
                    nodes=tuple(nodes),
                    port=port,
                    python=net.python(name),
                    address=net.address(nodes[0]),
                )
                return _rank(group, name, seconds=4)

            with ThreadPoolExecutor(4) as pool:
                return dict(zip(nodes, pool.map(rank, nodes), strict=True))

        ports = iter(range(29_700, 29_900))
        healthy = search(exchange, net.nodes)
        assert healthy.findings == ()
        assert {(path.works, path.backend, path.transport) for path in healthy.paths} == {
            (True, "gloo", "tcp")
        }
        # Rank 0 finds no host with the name of rank 1 here, so it knows no path.
        first = healthy.paths[0]
        assert (first.nodes, first.interface, first.mtu) == ("n[2-4]", "eth0", 1400)

        net.break_kernels("n3")
        found = search(exchange, net.nodes).findings
        assert _found(found) == {"fleet/all-reduce-node": "n3"}
        assert "sums are wrong" in found[0].title
        net.mend("n3")

        net.set_variable("n3", "GLOO_SOCKET_IFNAME", "no-such0")
        found = search(exchange, net.nodes).findings
        assert _found(found) == {"fleet/all-reduce-node": "n3"}
        assert "no-such0" in found[0].title
        net.mend("n3")

        net.drop("n2", "n4")
        (one,) = search(exchange, net.nodes).findings
        assert (one.id, one.nodes) == ("fleet/all-reduce-link", "n[2,4]")
