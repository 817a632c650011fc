"""What the system refused NCCL, and ranks that do not exist."""

from __future__ import annotations

from doctor.judge.match.asked_package import with_package
from doctor.model.observation import Log
from tests.analyzers.explained import case_of, explained

DENIED = """
gpu7:811:902 [1] misc/shmutils.cc:72 NCCL WARN Call to shm_open failed : Permission denied
gpu7:811:902 [1] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment nccl-xy (size 9637888)
RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:911, unhandled system error
"""  # noqa: E501
PORTS = """
gpu7:811:902 [1] misc/socket.cc:379 NCCL WARN Call to bind failed : Address already in use
Traceback (most recent call last):
  File "step.py", line 7, in <module>
    dist.all_reduce(x, group=group)
RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:911, unhandled system error
"""
RANKS = """
Traceback (most recent call last):
  File "/home/ada/train.py", line 9, in <module>
    dist.init_process_group("gloo", rank={rank}, world_size={size})
RuntimeError: connect() timed out.
"""


def test_a_right_that_is_missing_is_no_lack_of_room() -> None:
    """Both lines, and the closing one, are explained by the first."""
    found = [one for one in explained(DENIED) if one.detection.id.endswith("-denied")]
    assert {one.event.line for one in found} == {2, 3, 4}
    assert all("container/shared-memory-*" in one.contradicts for one in found)
    assert found[0].detection.recipes[0].steps[0].run == ("chmod", "1777", "/dev/shm")


def test_the_ports_are_used_up() -> None:
    found = [one for one in explained(PORTS) if one.detection.id.endswith("ports-used-up")]
    assert [one.event.line for one in found] == [2, 6]


def test_ranks_count_from_0() -> None:
    titles = [one.detection.title for one in explained(RANKS.format(rank=4, size=4))]
    assert "Rank 4 does not exist: world_size=4, and ranks count from 0" in titles
    fine = [one.detection.title for one in explained(RANKS.format(rank=3, size=4))]
    assert not any("does not exist" in title for title in fine)


def test_a_header_of_torch_by_its_bare_name() -> None:
    text = "src/op.cpp:3:10: fatal error: THCAtomics.h: No such file or directory"
    text = text.replace("THCAtomics", "THCBlas")
    assert any("was the last with THC/THCBlas.h" in one.detection.title for one in explained(text))


def test_the_statement_above_names_the_module() -> None:
    """Python 3.6 names only the name."""
    text = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.6/site-packages/some/a.py", '
        "line 3, in <module>\n    from transformers import AdamW, WarmupCosineSchedule\n"
        "ImportError: cannot import name 'WarmupCosineSchedule'"
    )
    titles = [one.detection.title for one in explained(text)]
    assert titles == [
        "transformers no longer has WarmupCosineSchedule: releases before 2.2 have it"
    ]


def test_the_path_in_the_message_names_the_package() -> None:
    text = (
        "OSError: /v/lib/python3.11/site-packages/torchaudio/lib/libtorchaudio.so: undefined "
        "symbol: _ZN2at6Tensor7is_cudaEv"
    )
    case = case_of(text)
    found = [one.detection for one in explained(text) if one.detection.recipes]
    filled = [with_package(one, Log(source="log", lines=case.log.lines)) for one in found]
    wanted = [step.install for one in filled for recipe in one.recipes for step in recipe.steps]
    assert not any("<package>" in part for install in wanted for part in install)


OUT_OF_STEP = """
[rank1]:[E1030 03:19:32.58 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=215121, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600080 milliseconds before timing out.
[rank0]:[E1030 03:19:32.59 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=215122, OpType=BROADCAST, NumelIn=2149508, NumelOut=2149508, Timeout(ms)=600000) ran for 600093 milliseconds before timing out.
"""  # noqa: E501


def test_ranks_that_wait_in_different_exchanges() -> None:
    titles = [one.detection.title for one in explained(OUT_OF_STEP)]
    assert any(
        "rank 0 waits in BROADCAST number 215122 of 2149508 values, rank 1 in ALLREDUCE" in one
        for one in titles
    )
    same = OUT_OF_STEP.replace("BROADCAST", "ALLREDUCE").replace("2149508", "1")
    titles = [one.detection.title for one in explained(same)]
    assert not any("do different things" in one for one in titles)
