"""A real Slurm of four nodes: differing, hanging, refusing and dying nodes."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.base.errors import DoctorError, UsageError
from doctor.fleet import archive
from doctor.fleet.engine import Job
from doctor.fleet.engines.slurm import Slurm
from doctor.host import Host
from doctor.model.fleet import NodeState
from tests.environments import patient
from tests.fleet import cluster
from tests.hosts import script

pytestmark = [
    pytest.mark.patient,
    pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing() or "Slurm is here"),
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[cluster.Slurm]:
    with cluster.slurm() as running:
        yield running
    assert running.processes() == ()
    assert not running.folder.exists()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archive.build(tmp_path_factory.mktemp("archive") / "doctor.pyz")


def _job(python: Path | str, packed: Path | None, *options: str, timeout: float = 60) -> Job:
    run = secrets.token_hex(8)
    return Job(
        run=run,
        arguments=("fleet", "node", "--run", run, f"--timeout={timeout:g}", "--", *options),
        python=str(python),
        archive=packed,
        timeout=timeout,
        start_timeout=20,
    )


def _engine(slurm: cluster.Slurm, *, nodes: str = "", **more: str) -> Slurm:
    return Slurm(Host(env={**slurm.env, **more}), nodes=nodes, grace=4)


def _wrapper(folder: Path, cases: dict[str, str]) -> Path:
    """Write a Python that is another one on some nodes."""
    arms = "\n".join(f"{node}) {body};;" for node, body in cases.items())
    return script(
        folder / "python", f'case $SLURMD_NODENAME in\n{arms}\nesac\nexec {sys.executable} "$@"'
    )


def _leftovers(run: str) -> list[str]:
    return [str(path) for path in Path("/tmp").glob(f"doctor-{run}*")]


def _assert_clean(slurm: cluster.Slurm, run: str, temporary: Path) -> None:
    end = time.monotonic() + 5
    while slurm.run("squeue", "--noheader").strip() and time.monotonic() < end:
        time.sleep(0.1)
    assert slurm.run("squeue", "--noheader").strip() == ""
    assert _leftovers(run) == []
    assert list(temporary.iterdir()) == []
    daemons = {slurm.pid(node) for node in slurm.nodes}
    running = {int(path.read_text()) for path in slurm.folder.glob("*.pid")} | daemons
    tasks = set(slurm.processes()) - running - _daemons(slurm)
    assert tasks == set()


def _daemons(slurm: cluster.Slurm) -> set[int]:
    """Return slurmctld, its script server and the like: what is left where no job runs."""
    names = ("slurmctld", "slurmscriptd", "slurmd", "munged")
    found = set()
    for pid in slurm.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() in names:
                found.add(pid)
    return found


def test_the_command_on_four_nodes_of_which_three_are_not_well(
    slurm: cluster.Slurm, tmp_path: Path
) -> None:
    usual, other = patient("torch"), patient("torch260")
    python = _wrapper(
        tmp_path,
        {
            "n1": f"export VIRTUAL_ENV={usual.parents[1]}",
            "n2": f"export VIRTUAL_ENV={other.parents[1]}",
            "n3": "exec sleep 600",
            "n4": f'env > {tmp_path}/env; echo "$@" > {tmp_path}/words; exit 126',
        },
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    more = {"HF_TOKEN": "hf_" + "a1B2c3D4" * 4, "NCCL_DEBUG": "INFO", "ANY_OTHER": "1"}
    begun = time.monotonic()
    code, report = _whole_command(slurm, python, {**more, "TMPDIR": str(temporary)})
    seconds = time.monotonic() - begun
    assert code == report["exit_code"] == 1
    nodes = report["nodes"]
    assert {name: node["state"] for name, node in nodes.items()} == {
        "n1": "answered",
        "n2": "answered",
        "n3": "silent",
        "n4": "refused",
    }
    assert nodes["n1"]["exit_code"] == 0
    assert nodes["n3"]["reason"] == "doctor did not start there within 15 s"
    assert "exit code 126" in nodes["n4"]["reason"]
    torches = {group["nodes"]: group["traits"]["torch.version"] for group in report["groups"]}
    assert torches["n1"].startswith("torch 2.13.0")
    assert torches["n2"].startswith("torch 2.6.0")
    # Two values have no majority: the finding names both nodes, and which has which.
    found = {one["id"]: one for one in report["findings"]}
    odd = found["fleet/differs/torch.version"]
    assert (odd["nodes"], odd["title"].endswith("(n2 and n1)")) == ("n[1-2]", True)
    assert (found["fleet/silent"]["nodes"], found["fleet/refused"]["nodes"]) == ("n3", "n4")
    assert found["fleet/silent"]["exclude"][0][:3] == ["scontrol", "update", "NodeName=n3"]
    assert seconds < 15 + 4 + 30
    words = (tmp_path / "words").read_text().split()
    _assert_clean(slurm, words[words.index("--run") + 1], temporary)
    _assert_no_secret(tmp_path / "env")


def _whole_command(
    slurm: cluster.Slurm, python: Path, more: dict[str, str], *options: str
) -> tuple[int, dict[str, Any]]:
    """Run `doctor fleet --on slurm` as a user does; return its exit code and its report."""
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "doctor", "fleet", "--on", "slurm", "--format", "json"),
            *("--timeout", "15", "--wait", "20", "--set", "grace=4"),
            *("--node-python", str(python), *options, "--", "--no-canaries"),
        ],
        env={**slurm.env, **more},
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    return ended.returncode, msgspec.json.decode(ended.stdout, type=dict[str, Any])


def test_a_coordinator_that_is_killed_resumes_from_what_arrived(
    slurm: cluster.Slurm, tmp_path: Path
) -> None:
    python = _wrapper(
        tmp_path,
        {"n1": f'echo "$@" >> {tmp_path}/n1', "n2": f"[ -e {tmp_path}/second ] || exec sleep 600"},
    )
    spool = tmp_path / "spool"
    chosen = ("--nodes", "n[1-2]", "--resume", str(spool))
    first = subprocess.Popen(
        [
            *(sys.executable, "-m", "doctor", "fleet", "--on", "slurm", *chosen),
            *("--timeout", "90", "--node-python", str(python), "--", "--no-canaries"),
        ],
        env={**slurm.env, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not (spool / "n1.packet").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    first.kill()
    first.wait(20)
    (tmp_path / "second").touch()
    begun = time.monotonic()
    try:
        code, report = _whole_command(slurm, python, {"TMPDIR": str(tmp_path)}, *chosen)
    finally:
        # What a killed coordinator left runs until Slurm ends it.
        slurm.run("scancel", "--user=root")
        slurm.wait_for()
        (asked,) = (tmp_path / "n1").read_text().splitlines()  # n1 was asked once
        words = asked.split()
        for path in _leftovers(words[words.index("--run") + 1]):
            Path(path).unlink() if Path(path).is_file() else shutil.rmtree(path)
    assert {name: node["state"] for name, node in report["nodes"].items()} == {
        "n1": "answered",
        "n2": "answered",
    }
    assert (code in (0, 4), report["summary"]["groups"]) == (True, 1)
    assert time.monotonic() - begun < 60


def _assert_no_secret(path: Path) -> None:
    """Compare what a node was given with what its engine had."""
    given = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    assert given["NCCL_DEBUG"] == "INFO"
    assert given["DOCTOR_FLEET_NODE"] == "n4"
    assert not {"HF_TOKEN", "ANY_OTHER"} & {*given}


def test_a_node_that_dies_in_the_middle(slurm: cluster.Slurm, packed: Path, tmp_path: Path) -> None:
    # The check begins, asks this interpreter, and waits.
    script(tmp_path / "slow/bin/python", f"touch {tmp_path}/$SLURMD_NODENAME; exec sleep 600")
    (tmp_path / "slow/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    python = _wrapper(tmp_path, {"n2": f"export VIRTUAL_ENV={tmp_path}/slow"})
    job = _job(python, packed, "--timeout=60", timeout=60)

    def lose() -> None:
        while not (tmp_path / "n2").exists():
            time.sleep(0.05)
        slurm.lose("n2")

    thread = threading.Thread(target=lose)
    thread.start()
    begun = time.monotonic()
    try:
        engine = _engine(slurm)
        answers = {a.name: a for a in engine.place(job, ("n1", "n2"))}
    finally:
        thread.join()
        for path in Path("/tmp").glob(f"doctor-{job.run}*"):  # as the restart of a node does
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        slurm.start("n2")
        slurm.wait_for()
    assert answers["n1"].state is NodeState.ANSWERED
    assert answers["n2"].state is NodeState.LOST
    assert answers["n2"].reason.startswith("Node failure on n2")
    assert time.monotonic() - begun < 60


def test_a_drained_node_and_one_that_is_down_refuse(slurm: cluster.Slurm, packed: Path) -> None:
    slurm.run("scontrol", "update", "nodename=n3", "state=drain", "reason=fan | is slow")
    slurm.run("scontrol", "update", "nodename=n4", "state=down", "reason=gone")
    slurm.run("scontrol", "reconfigure")  # nodes report themselves anew; n4 has to stay down
    try:
        engine = _engine(slurm)
        job = _job(sys.executable, packed, "--no-canaries")
        answers = {a.name: a for a in engine.place(job, engine.nodes())}
    finally:
        for node in ("n3", "n4"):
            # Slurm refuses where a node is up already.
            with contextlib.suppress(subprocess.CalledProcessError):
                slurm.run("scontrol", "update", f"nodename={node}", "state=resume")
        slurm.wait_for()
    assert answers["n3"].state is answers["n4"].state is NodeState.REFUSED
    assert answers["n3"].reason == "Slurm says drained: fan | is slow"
    assert answers["n4"].reason == "Slurm says down: gone"
    assert answers["n1"].state is answers["n2"].state is NodeState.ANSWERED


def test_inside_an_allocation_only_our_own_step_ends(
    slurm: cluster.Slurm, packed: Path, tmp_path: Path
) -> None:
    granted = subprocess.run(
        ["salloc", "--no-shell", "--nodes=2", "--nodelist=n1,n2"],
        env=slurm.env,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stderr
    number = granted.split("allocation ")[-1].split()[0]
    theirs = subprocess.Popen(
        ["srun", f"--jobid={number}", "--overlap", "-N1", "-wn1", "sleep", "600"], env=slurm.env
    )
    try:
        python = _wrapper(tmp_path, {"n2": "exec sleep 600"})
        job = _job(python, packed, "--no-canaries", timeout=30)
        engine = _engine(slurm, SLURM_JOB_ID=number, SLURM_JOB_NODELIST="n[1-2]")
        assert engine.nodes() == ("n1", "n2")
        answers = {a.name: a for a in engine.place(job, engine.nodes())}
        steps = slurm.run("squeue", "--steps", "--noheader", "--format=%i %j").split()
        assert theirs.poll() is None
    finally:
        theirs.terminate()
        slurm.run("scancel", number)
        theirs.wait(20)
        slurm.wait_for()
    assert answers["n1"].state is NodeState.ANSWERED
    assert answers["n2"].state is NodeState.SILENT
    assert f"{number}.0" in steps
    assert f"doctor-{job.run}" not in steps
    assert _leftovers(job.run) == []


def test_a_run_that_is_closed_leaves_nothing(
    slurm: cluster.Slurm, packed: Path, tmp_path: Path
) -> None:
    python = _wrapper(tmp_path, {"n2": "exec sleep 600", "n3": "exec sleep 600"})
    job = _job(python, packed, "--no-canaries")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    answers = _engine(slurm, TMPDIR=str(temporary)).place(job, slurm.nodes)
    assert next(answers).state is NodeState.ANSWERED
    answers.close()  # type: ignore[attr-defined]
    _assert_clean(slurm, job.run, temporary)


def test_a_list_of_nodes_and_a_number(slurm: cluster.Slurm) -> None:
    assert _engine(slurm, nodes="n[2-3]").nodes() == ("n2", "n3")
    assert _engine(slurm, nodes="2").nodes() == ("n1", "n2")
    with pytest.raises(DoctorError, match="n9"):
        _engine(slurm, nodes="n[1-9]").nodes()
    with pytest.raises(UsageError, match="5 nodes are wanted"):
        _engine(slurm, nodes="5").nodes()


def test_a_partition_that_ends_the_job_too_soon_is_named(slurm: cluster.Slurm) -> None:
    """Slurm itself says "Connection timed out", after the whole wait."""
    engine = Slurm(Host(env=slurm.env), partition="short", grace=4)
    why = "partition short ends a job after 3 min, and this check may take 7 min: give --timeout 76"
    with pytest.raises(DoctorError, match=why):
        next(engine.place(_job(sys.executable, None, timeout=300), ("n1",)))


def test_the_environment_of_the_tests_is_private(slurm: cluster.Slurm) -> None:
    assert (slurm.folder / "munge.key").stat().st_mode & 0o777 == 0o600
