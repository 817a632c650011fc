"""A check that dies is told as grave as it is, and by its own end."""

from __future__ import annotations

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.judge.match import diagnose
from doctor.model.findings import Detection
from doctor.model.scales import Severity
from tests import toy

_FACTS = {
    "host.os": "linux",
    "torch.version": "2.13.0+cu130",
    "torch.build": "cuda",
    "torch.cuda_available": True,
    "nvidia.driver_version": "580.95.05",
    "packages": {},
}


def found(reason: str, verdict: str, signal: str | None = None) -> tuple[Detection, ...]:
    """Judge a machine on which a canary of doctor's own ends so on the only GPU."""
    ended = toy.outcome(verdict, check="noncontiguous-matmul", device="cuda:0", layouts=verdict)
    cases = {name: msgspec.structs.replace(one, reason=reason) for name, one in ended.cases.items()}
    ended = msgspec.structs.replace(ended, reason=reason, log=reason, cases=cases, signal=signal)
    well = toy.outcome("passed", check="torch-runtime", device="cuda:0")
    return diagnose(toy.seen(_FACTS, well, ended), load()).findings


@pytest.mark.parametrize(
    "words",
    [
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: unspecified launch failure",
        "CUDA error: misaligned address",
    ],
)
def test_a_canary_that_ends_in_an_illegal_access_is_an_error(words: str) -> None:
    """An issue that explains a red check is never milder than the check."""
    first = found(f"AcceleratorError: {words}", "failed")[0]
    assert first.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("verdict", "title"),
    [("timed_out", "ran out of time"), ("crashed", "crashed by SIGKILL")],
)
def test_who_ran_out_of_time_is_not_said_to_be_killed_by_the_system(
    verdict: str, title: str
) -> None:
    (told,) = found("still running after 60 s", verdict, "SIGKILL")
    assert told.title.endswith(title)
