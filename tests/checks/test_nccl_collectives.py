"""Two processes exchange through Gloo what GPUs exchange through NCCL.

A wrong bit and a death are seen, and no process is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.checks.beside import module
from tests.checks.trial import CHECKS, run_check
from tests.command import alive

SCRIPT = "canaries/nccl_collectives.py"

_FLIP = """

if True:  # a block, so that what follows may be indented
    import torch
    import torch.distributed as dist
    def flip(tensor):
        tensor.view(-1).view(torch.uint8)[-1] ^= 1
"""
_FAULTS = {
    "all-reduce": """
    all_reduces = dist.all_reduce
    def all_reduce(tensor, *rest, **more):
        done = all_reduces(tensor, *rest, **more)
        if dist.get_rank() == 1 and tensor.dtype is torch.int32 and tensor.numel() == 1023: flip(tensor)
        return done
    dist.all_reduce = all_reduce
""",  # noqa: E501
    "broadcast": """
    real = dist.broadcast
    def broadcast(tensor, source, *rest, **more):
        done = real(tensor, source, *rest, **more)
        if dist.get_rank() == 1 and source == 0 and tensor.numel() > 1023: flip(tensor)
        return done
    dist.broadcast = broadcast
""",
    "send-and-receive": """
    real = dist.batch_isend_irecv
    def batch_isend_irecv(both):
        flip(both[0].tensor)
        return real(both)
    dist.batch_isend_irecv = batch_isend_irecv
""",
}


def _patched(folder: Path, body: str) -> str:
    """Return a folder for PYTHONPATH that changes torch.distributed in every process."""
    (folder / "patch").mkdir()
    (folder / "patch" / "sitecustomize.py").write_text(_FLIP + body, encoding="utf-8")
    return str(folder / "patch")


def test_two_processes_agree(torch_python: Path, tmp_path: Path) -> None:
    document = run_check(torch_python, SCRIPT, tmp_path, CANARY_PEERS="")
    cpu, cuda = document["results"]
    assert (cpu["device"], cpu["verdict"], cpu["reason"]) == ("cpu", "passed", "")
    assert {case["verdict"] for case in cpu["cases"].values()} == {"passed"}
    assert len(cpu["cases"]) == 3
    assert (cuda["device"], cuda["verdict"], cuda["reason"]) == (
        "cuda",
        "skipped",
        "needs two GPUs",
    )


@pytest.mark.parametrize("cases", [("broadcast",), ("all-reduce", "send-and-receive")])
def test_one_wrong_bit_is_seen(torch_python: Path, tmp_path: Path, cases: tuple[str, ...]) -> None:
    path = _patched(tmp_path, "".join(map(_FAULTS.__getitem__, cases)))
    cpu = run_check(torch_python, SCRIPT, tmp_path, CANARY_PEERS="", PYTHONPATH=path)["results"][0]
    assert cpu["verdict"] == "failed"
    assert {
        name: ended["verdict"]
        for name, ended in cpu["cases"].items()
        if ended["verdict"] != "passed"
    } == dict.fromkeys(cases, "failed")
    assert all("1 of " in cpu["cases"][case]["reason"] for case in cases)
    assert all("differ" in cpu["cases"][case]["reason"] for case in cases)


def test_a_process_that_dies_is_named_and_the_other_does_not_wait(
    torch_python: Path, tmp_path: Path
) -> None:
    body = """
    def broadcast(*_, **__):
        if dist.get_rank() == 1: os._exit(3)
        import time; time.sleep(600)
    import os
    dist.broadcast = broadcast
"""
    began = time.monotonic()
    cpu = run_check(
        torch_python, SCRIPT, tmp_path, CANARY_PEERS="", PYTHONPATH=_patched(tmp_path, body)
    )["results"][0]
    assert time.monotonic() - began < 100
    assert {name: ended["verdict"] for name, ended in cpu["cases"].items()} == {
        "all-reduce": "passed",
        "broadcast": "failed",
        "send-and-receive": "skipped",
    }
    assert "rank 1 (cpu) in broadcast: ended with code 3" in cpu["reason"]
    assert "rank 0 (cpu) in broadcast: still running" in cpu["reason"]


def test_processes_end_with_the_script(torch_python: Path, tmp_path: Path) -> None:
    path = _patched(
        tmp_path, "    import time\n    dist.broadcast = lambda *_, **__: time.sleep(600)\n"
    )
    environment = {
        **os.environ,
        "CANARY_PEERS": "",
        "PYTHONPATH": path,
        "CANARY_RESULT": str(tmp_path / "result.json"),
    }
    script = subprocess.Popen(
        [str(torch_python), str(CHECKS / SCRIPT)], cwd=tmp_path, env=environment
    )
    ranks: list[int] = []
    try:
        deadline = time.monotonic() + 60
        while len(ranks) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
            ranks = [
                int(path.parent.name)
                for path in Path("/proc").glob("[0-9]*/cmdline")
                if _is_rank(path, tmp_path)
            ]
    finally:
        script.send_signal(signal.SIGKILL)
        script.wait()
    assert len(ranks) == 2
    deadline = time.monotonic() + 20
    while any(map(alive, ranks)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, ranks))


def _is_rank(cmdline: Path, folder: Path) -> bool:
    try:
        said = cmdline.read_bytes()
    except OSError:
        return False
    return b"rank.py" in said and str(folder).encode() in said


_LOG = """\
host:7:7 [0] NCCL INFO NCCL version 2.29.7+cuda13.0
host:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
host:7:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
host:7:9 [0] NCCL INFO Channel 00 : 0[0] -> 2[2] via SHM/direct/direct
host:7:9 [0] NCCL INFO 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer
"""  # noqa: E501


def test_the_way_that_nccl_took_is_told(tmp_path: Path) -> None:
    script = module("canaries.nccl_collectives")
    ranks = object.__new__(script.Ranks)
    ranks.folder, ranks.places = str(tmp_path), ["cuda:0"]
    (tmp_path / "nccl-0.log").write_text(_LOG, encoding="utf-8")
    (tmp_path / "rank-0.json").write_text('{"version": "2.29.7", "cases": {}}', encoding="utf-8")
    assert script.transports(ranks) == [
        "NCCL 2.29.7: P2P/CUMEM (2 channels), SHM/direct/direct (1 channels)",
        "NCCL uses NVLS, the multicast of NVSwitch",
    ]
