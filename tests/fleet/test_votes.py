"""The bit vote names the node whose kernel gives other bits, and is silent on healthy ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.fleet.votes import DigestVotes
from doctor.model.fleet import FleetFinding
from tests.checks import grid
from tests.checks.trial import Document

_GALLERY = Path(__file__).parents[1] / "gallery"
_FAULT = {"kind": "strides ignored", "layout": "transposed"}


def _vote(bits: Mapping[str, Mapping[str, object]], kind: str = "H100") -> list[FleetFinding]:
    ballot = DigestVotes()
    for node, hashes in bits.items():
        data = {"device": "cuda:0", "kind": kind, "hashes": hashes}
        ballot.add(node, json.dumps(data).encode())
    return list(ballot.findings())


def test_equal_bits_are_no_finding() -> None:
    assert _vote({f"n{node}": {"matmul": ["a"], "sum": ["b"]} for node in range(4)}) == []


def test_the_outlier_is_named() -> None:
    equal = {f"n{node}": {"matmul": ["a"], "sum": ["b"]} for node in range(3)}
    (one,) = _vote({**equal, "n3": {"matmul": ["x"], "sum": ["b"]}})
    assert (one.id, one.nodes) == ("fleet/bits-differ", "n3")
    assert "matmul" in one.title


def test_of_two_nodes_nobody_is_blamed() -> None:
    (one,) = _vote({"n1": {"matmul": ["a"]}, "n2": {"matmul": ["x"]}})
    assert (one.id, one.nodes) == ("fleet/bits-split", "n[1-2]")


def test_bits_that_change_within_a_node_are_named() -> None:
    (one,) = _vote({"n1": {"matmul": ["a", "b"]}, "n2": {"matmul": ["a"]}, "n3": {"matmul": ["a"]}})
    assert (one.id, one.nodes) == ("fleet/bits-change", "n1")


def test_other_hardware_may_have_other_bits() -> None:
    ballot = DigestVotes()
    for node, kind in (("n1", "H100"), ("n2", "H100"), ("n3", "H100"), ("n4", "A100")):
        data = {"device": "cuda:0", "kind": kind, "hashes": {"matmul": [kind]}}
        ballot.add(node, json.dumps(data).encode())
    assert list(ballot.findings()) == []


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"hashes": 3}', b'{"hashes": {"a": "b"}}', b"[" * 9999]
)
def test_broken_data_counts_as_no_vote(data: bytes) -> None:
    ballot = DigestVotes()
    ballot.add("n1", data)
    assert list(ballot.findings()) == []


@pytest.mark.patient
def test_one_faulty_kernel_among_four_workers_is_found(torch_python: Path, tmp_path: Path) -> None:
    def breaking(**fault: str) -> str:
        return f"import kernels\nkernels.products(['bmm'], **{fault!r})"

    native = {f"healthy{node}": "" for node in range(4)}
    equal = {f"n{node}": breaking() for node in range(3)}
    cells = {
        name: grid.Cell(script="canaries/bit_hashes.py", breaking=text or "pass", settings={})
        for name, text in {**native, **equal, "n3": breaking(**_FAULT)}.items()
    }
    documents = grid.run_grid(
        torch_python,
        tmp_path,
        cells,
        preload=f"import sys\nsys.path.insert(0, {str(_GALLERY)!r})\nimport torch",
        settings={"CANARY_DEVICES": "cpu", "TMPDIR": str(tmp_path)},
        seconds=120,
        at_once=2,
    )
    assert all(document["doing"] is None for document in documents.values())
    assert _of(documents, "healthy") == []
    (one,) = _of(documents, "n")
    assert (one.id, one.nodes) == ("fleet/bits-differ", "n3")
    assert "matmul-transposed" in one.title


def _of(documents: Mapping[str, Document], begin: str) -> list[FleetFinding]:
    ballot = DigestVotes()
    for name, document in documents.items():
        if name.startswith(begin):
            (result,) = document["results"]
            assert set(result["data"]["hashes"]) == set(result["cases"])
            ballot.add(name, json.dumps(result["data"]).encode())
    return list(ballot.findings())
