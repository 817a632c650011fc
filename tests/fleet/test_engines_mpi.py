"""A real Open MPI on one host."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from pathlib import Path

import pytest

from doctor.base.errors import UsageError
from doctor.fleet import archive
from doctor.fleet.engine import Job
from doctor.fleet.engines.mpi import Mpi
from doctor.host import Host
from doctor.model.fleet import NodeState
from tests.command import alive
from tests.hosts import script

real = [
    pytest.mark.patient,
    pytest.mark.skipif(
        shutil.which("mpirun") is None, reason="apt-get install openmpi-bin brings mpirun"
    ),
]
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def _job(python: Path | str, packed: Path | None, timeout: float = 30) -> Job:
    run = secrets.token_hex(8)
    options = ("--run", run, f"--timeout={timeout:g}", "--", "--no-canaries")
    return Job(
        run=run,
        arguments=("fleet", "node", *options),
        python=str(python),
        archive=packed,
        timeout=timeout,
    )


def _engine(nodes: str = "localhost") -> Mpi:
    return Mpi(Host(env={**os.environ, **ROOT_MAY}), nodes=nodes, grace=2)


class TestReal:
    """With the mpirun of this machine."""

    pytestmark = real

    def test_an_unknown_host_does_not_cost_the_others_their_reports(self, tmp_path: Path) -> None:
        packed = archive.build(tmp_path / "doctor.pyz")
        nodes = ("localhost", "no-such-host.invalid")
        answers = {a.name: a for a in _engine().place(_job(sys.executable, packed), nodes)}
        assert answers["localhost"].state is NodeState.ANSWERED
        assert answers["no-such-host.invalid"].state is NodeState.REFUSED
        assert answers["no-such-host.invalid"].reason.startswith("mpirun starts nothing there: ")
        assert not list(Path("/tmp").glob("ompi.*/**/doctor.pyz"))

    def test_a_rank_that_hangs_ends_in_time(self, tmp_path: Path) -> None:
        python = script(tmp_path / "python", f"echo $$ > {tmp_path}/pid; exec sleep 600")
        begun = time.monotonic()
        (answer,) = _engine().place(_job(python, None, timeout=2), ("localhost",))
        assert answer.state is NodeState.SILENT
        assert time.monotonic() - begun < 20
        time.sleep(0.5)
        assert not alive(int((tmp_path / "pid").read_text()))

    def test_a_python_that_is_not_there(self) -> None:
        (answer,) = _engine().place(_job("/no/python", None), ("localhost",))
        assert answer.state is NodeState.REFUSED
        assert answer.reason.endswith("(exit code 127)")


def test_hosts_of_a_hostfile(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n1 slots=8\n# n2\nn3:4\n\nn1 slots=2\n")
    host = Host(env={}, cwd=tmp_path)
    assert Mpi(host, hostfile="hosts").nodes() == ("n1", "n3")
    assert Mpi(host, hostfile="hosts", nodes="1").nodes() == ("n1",)
    (tmp_path / "hosts").write_text("n1;reboot\n")
    with pytest.raises(UsageError, match="no name of a node"):
        Mpi(host, hostfile="hosts").nodes()
    with pytest.raises(UsageError, match="must name the hosts"):
        Mpi(host).nodes()
