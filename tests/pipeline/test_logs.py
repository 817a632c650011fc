"""One opener reads every log: it refuses what has no end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import doctor
from doctor.pipeline.logs import read_logs
from tests import toy

_DEVICES = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")


@_DEVICES
def test_an_open_device_without_an_end_is_refused() -> None:
    with Path("/dev/zero").open("rb") as file, pytest.raises(doctor.UsageError, match="no end"):
        doctor.diagnose(file)


@_DEVICES
def test_the_null_device_is_an_empty_log() -> None:
    assert doctor.diagnose("/dev/null").exit_code == 4


def test_a_path_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("x", encoding="utf-8")
    with pytest.raises(doctor.UsageError, match="given twice"):
        doctor.diagnose(path, path)
    with pytest.raises(doctor.UsageError, match="given twice"):
        doctor.check(from_=path, log=[path, path])


def test_a_stream_without_a_descriptor_is_read() -> None:
    (log,) = read_logs((io.BytesIO(b"one\ntwo"),), toy.catalog())
    assert log.lines == ("one", "two")


def test_a_text_that_reports_only_that_torch_sees_no_gpu_is_judged_by_its_facts() -> None:
    """Without that answer, a list of releases is no report of a failure."""
    said = "torch={} | cuda_ok={} | cuda_available={}\nNVIDIA driver 535.104.05\nUbuntu 22.04\n"
    too_old, fits, seen = (
        {
            finding.id
            for finding in doctor.diagnose(
                io.BytesIO(said.format(release, answer, answer).encode())
            ).findings
        }
        for release, answer in (
            ("2.9.0+cu130", "False"),
            ("2.5.1+cu121", "False"),
            ("2.9.0+cu130", "True"),
        )
    )
    assert "torch/driver-too-old" in too_old
    assert "torch/driver-too-old" not in fits
    assert "torch/driver-too-old" not in seen
