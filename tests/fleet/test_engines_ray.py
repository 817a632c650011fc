"""A real Ray of four local nodes: differing, hanging, refusing and dying nodes."""

from __future__ import annotations

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

from doctor.base.errors import UsageError
from doctor.fleet import archive
from doctor.fleet.engine import Job
from doctor.fleet.engines.ray import Ray
from doctor.host import Host
from doctor.model.fleet import NodeState
from tests.command import alive
from tests.environments import UnavailableError, interpreter, make, patient, root
from tests.hosts import script

pytestmark = [
    pytest.mark.patient,
    pytest.mark.skipif(sys.platform != "linux", reason="the cluster of several nodes needs Linux"),
]
_RAY = "ray==2.60.0"


class Cluster:
    """Four nodes, and the Python that has Ray."""

    def __init__(self, python: Path, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.python, self.process = python, process
        self.address, *self.ids = process.stdout.readline().split()

    def lose(self, node: str) -> None:
        """Kill a node, by its short id."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"lose {node}\n")
        self.process.stdin.flush()


@pytest.fixture(scope="module")
def ray() -> Iterator[Cluster]:
    folder = root() / _RAY.replace("==", "-")
    try:
        if not interpreter(folder).exists():
            make(folder, (_RAY,))
    except UnavailableError as error:
        pytest.skip(str(error))
    process = subprocess.Popen(
        [str(interpreter(folder)), str(Path(__file__).with_name("ray_cluster.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield Cluster(interpreter(folder), process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archive.build(tmp_path_factory.mktemp("archive") / "doctor.pyz")


def _job(python: Path, packed: Path, *options: str, timeout: float) -> Job:
    run = secrets.token_hex(8)
    words = ("fleet", "node", "--run", run, f"--timeout={timeout:g}", "--", *options)
    return Job(run=run, arguments=words, python=str(python), archive=packed, timeout=timeout)


def _wrapper(folder: Path, cases: dict[str, str]) -> Path:
    arms = "\n".join(f"*-{node[:8]}) {body};;" for node, body in cases.items())
    return script(
        folder / "python", f'case $DOCTOR_FLEET_NODE in\n{arms}\nesac\nexec {sys.executable} "$@"'
    )


def _engine(ray: Cluster) -> Ray:
    return Ray(Host(), address=ray.address, python=str(ray.python), grace=6)


def test_the_command_on_four_nodes_of_which_three_are_not_well(
    ray: Cluster, tmp_path: Path
) -> None:
    usual, other = patient("torch"), patient("torch260")
    python = _wrapper(
        tmp_path,
        {
            ray.ids[0]: f"export VIRTUAL_ENV={usual.parents[1]}",
            ray.ids[1]: f"export VIRTUAL_ENV={other.parents[1]}",
            # It does not end by SIGTERM, and leaves a file, as a doctor does that is killed.
            ray.ids[2]: (
                f"echo $$ > {tmp_path}/pid; trap '' TERM; touch /tmp/$(basename \"$1\" .pyz)-left; "
                "while :; do sleep 1; done"
            ),
            ray.ids[3]: f'echo "$@" > {tmp_path}/words; exit 126',
        },
    )
    begun = time.monotonic()
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "doctor", "fleet", "--on", "ray", "--format", "json"),
            *("--set", f"address={ray.address}", "--set", f"python={ray.python}"),
            # Two cores that are busy elsewhere take half a minute to start four nodes.
            *("--timeout", "50", "--set", "grace=6", "--node-python", str(python)),
            *("--", "--no-canaries"),
        ],
        stdout=subprocess.PIPE,
        timeout=180,
        check=False,
    )
    seconds = time.monotonic() - begun
    report = msgspec.json.decode(ended.stdout, type=dict[str, Any])
    assert ended.returncode == report["exit_code"] == 1
    nodes = {name.rpartition("-")[2]: node for name, node in report["nodes"].items()}
    first, second, third, fourth = (nodes[node[:8]] for node in ray.ids)
    states = [node["state"] for node in (first, second, third, fourth)]
    assert states == ["answered", "answered", "silent", "refused"]
    assert first["exit_code"] == 0
    assert "126" in fourth["reason"]
    torches = {group["number"]: group["traits"]["torch.version"] for group in report["groups"]}
    assert torches[first["group"]].startswith("torch 2.13.0")
    assert torches[second["group"]].startswith("torch 2.6.0")
    found = {one["id"]: one for one in report["findings"]}
    assert found["fleet/differs/torch.version"]["size"] == 2
    assert found["fleet/silent"]["nodes"].endswith(ray.ids[2][:8])
    assert found["fleet/refused"]["nodes"].endswith(ray.ids[3][:8])
    assert seconds < 150
    words = (tmp_path / "words").read_text().split()
    assert list(Path("/tmp").glob(f"doctor-{words[words.index('--run') + 1]}*")) == []
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_node_that_dies_in_the_middle(ray: Cluster, packed: Path, tmp_path: Path) -> None:
    lost = ray.ids[3][:8]
    python = _wrapper(tmp_path, {lost: f"echo $$ > {tmp_path}/pid; exec sleep 600"})
    job = _job(python, packed, "--no-canaries", timeout=60)
    engine = _engine(ray)
    nodes = [name for name in engine.nodes() if name.endswith((lost, ray.ids[0][:8]))]

    def lose() -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.05)
        ray.lose(lost)

    thread = threading.Thread(target=lose)
    thread.start()
    begun = time.monotonic()
    answers = {a.name.rpartition("-")[2]: a for a in engine.place(job, nodes)}
    thread.join()
    assert answers[ray.ids[0][:8]].state is NodeState.ANSWERED
    assert answers[lost].state is NodeState.LOST
    assert time.monotonic() - begun < 60
    # What ran on the node ends with its worker.
    assert not alive(int((tmp_path / "pid").read_text()))
    for path in Path("/tmp").glob(f"doctor-{job.run}-*"):  # as the restart of a node does
        shutil.rmtree(path)


def test_an_unknown_node_is_an_error(ray: Cluster) -> None:
    with pytest.raises(UsageError, match="knows no such node"):
        Ray(Host(), address=ray.address, python=str(ray.python), nodes="n9").nodes()
