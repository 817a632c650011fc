"""Manifests against the schemas of Kubernetes, and against a real API server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from doctor.base.errors import DoctorError, UsageError
from doctor.cli.app import app
from doctor.fleet.engine import Job
from doctor.fleet.engines.kubernetes import Kubernetes
from doctor.fleet.engines.manifests import archive_parts, config_map, rights
from doctor.host import Host
from doctor.model.fleet import NodeState

API_SERVER, ETCD = os.environ.get("DOCTOR_KUBE_APISERVER", ""), os.environ.get("DOCTOR_ETCD", "")

_FIRST_OF_RIGHTS = "apiVersion: rbac.authorization.k8s.io/v1"


def _engine(**settings: Any) -> Kubernetes:
    return Kubernetes(Host(env={}), image="example.org/stack:1", **settings)


def _job_without_archive() -> Job:
    return Job(run="0" * 16, arguments=(), python="python3")


def _job(folder: Path, size: int = 2_000_000) -> Job:
    run, path = secrets.token_hex(8), folder / "doctor.pyz"
    path.write_bytes(secrets.token_bytes(size))
    arguments = ("fleet", "node", "--run", run, "--", "--no-canaries")
    return Job(
        run=run, arguments=arguments, python="python3", archive=path, timeout=1, start_timeout=1
    )


@pytest.mark.parametrize("version", ["1.33", "1.35", "1.37"])
def test_manifests_fit_the_schemas(version: str, tmp_path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    job = _job(tmp_path)
    engine = _engine(gpus=8, tolerate=True, runtime_class="nvidia")
    validate.validate(engine.manifest(job, ("n1", "n2")), version, strict=True)
    for number, part in enumerate(archive_parts(job)):
        validate.validate(config_map(job, number, part, "uid"), version, strict=True)
    broken = engine.manifest(job, ("n1",))
    broken["spec"]["completions"] = "one"
    with pytest.raises(validate.ValidationError):
        validate.validate(broken, version, strict=True)


def test_the_command_prints_a_manifest_and_asks_nobody(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    monkeypatch.setattr(Kubernetes, "_clients", None)
    words = ["fleet", "--on", "k8s", "--dry-run", "--installed", "--nodes", "gpu[01-03],x"]
    more = ["--set", "image=a/b:1", "--set", "namespace=ml", "--", "--no-canaries"]
    assert app([*words, *more], standalone_mode=False) == 0
    text = capsys.readouterr().out
    (job,) = yaml.safe_load_all(text)
    validate.validate(job, "1.37", strict=True)
    assert job["spec"]["completions"] == 4
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "python3"
    assert container["args"][-1] == "--no-canaries"
    # The rights stand before it, commented out; without the signs they are manifests as well.
    comments = [line.removeprefix("#")[1:] for line in text.splitlines() if line[:1] == "#"]
    stated = yaml.safe_load_all("\n".join(comments[comments.index(_FIRST_OF_RIGHTS) :]))
    assert tuple(stated) == rights("ml")
    for one in rights("ml"):
        validate.validate(one, "1.37", strict=True)


def test_the_documentation_states_the_rights_of_the_manifests() -> None:
    assert tuple(yaml.safe_load_all(_documented_rights())) == rights("default")


def test_an_engine_without_manifests_prints_none() -> None:
    with pytest.raises(UsageError, match="--on mpi has none"):
        app(["fleet", "--on", "mpi", "--dry-run", "--installed"], standalone_mode=False)


@pytest.mark.parametrize("nodes", ["n[1-", "n[1-9999999999]", "n[1-1000]x[1-1000]", "@all", "n;x"])
def test_a_list_that_is_none_is_an_error(nodes: str) -> None:
    with pytest.raises(UsageError, match=r"no list of nodes|more than|no name of a node"):
        _engine(nodes=nodes).dry_run(_job_without_archive())


def test_one_pod_on_each_selected_node(tmp_path: Path) -> None:
    job = _job(tmp_path)
    made = _engine(gpus=2).manifest(job, ("n1", "n2"))
    pod = made["spec"]["template"]["spec"]
    assert made["spec"]["completions"] == made["spec"]["parallelism"] == 2
    assert made["spec"]["backoffLimitPerIndex"] == 0
    (container,) = pod["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2"}}
    assert pod["automountServiceAccountToken"] is False
    terms = next(iter(pod["affinity"]["nodeAffinity"].values()))["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in terms] == [["n1"], ["n2"]]
    # What the command has of foreign words stands in arguments, never in the script.
    assert container["args"] == ["python3", *job.arguments]


def test_each_part_of_the_archive_fits_a_config_map(tmp_path: Path) -> None:
    job = _job(tmp_path)
    maps = [config_map(job, number, part, "uid") for number, part in enumerate(archive_parts(job))]
    assert len(maps) == 3
    assert all(len(json.dumps(one)) < 1 << 20 for one in maps)


def test_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="image"):
        Kubernetes(Host(env={}), image="a b")
    with pytest.raises(UsageError, match="no name of a node"):
        _engine().manifest(_job(tmp_path), ("n1;x",))
    with pytest.raises(UsageError, match="no name of a node"):
        _engine().exclusion(("--all",), "why")


@pytest.fixture(scope="module")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run etcd and kube-apiserver, and yield a kubeconfig."""
    folder = tmp_path_factory.mktemp("kube")
    client, peer, secure = _free_ports(3)
    token = secrets.token_hex(16)
    limited = secrets.token_hex(16)
    (folder / "limited").write_text(limited)
    (folder / "tokens.csv").write_text(
        f"{token},admin,1,system:masters\n{limited},limited,2,nobody\n"
    )
    subprocess.run(
        ["openssl", "genrsa", "-out", str(folder / "key.pem"), "2048"],
        check=True,
        capture_output=True,
    )
    etcd = [
        *(ETCD, "--data-dir", str(folder / "etcd"), "--listen-peer-urls"),
        *(f"http://127.0.0.1:{peer}", "--listen-client-urls", f"http://127.0.0.1:{client}"),
        *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
    ]
    server = [
        *(API_SERVER, f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={secure}"),
        *(f"--cert-dir={folder}/certs", f"--token-auth-file={folder}/tokens.csv"),
        *("--service-account-issuer=https://localhost", "--authorization-mode=RBAC"),
        *(f"--service-account-key-file={folder}/key.pem", "--bind-address=127.0.0.1"),
        f"--service-account-signing-key-file={folder}/key.pem",
        "--disable-admission-plugins=ServiceAccount",
        *("--service-cluster-ip-range=10.0.0.0/24", "--advertise-address=127.0.0.1"),
    ]
    cluster = {"server": f"https://127.0.0.1:{secure}", "insecure-skip-tls-verify": True}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "own",
        "clusters": [{"name": "own", "cluster": cluster}],
        "users": [{"name": "own", "user": {"token": token}}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
    }
    (folder / "config").write_text(json.dumps(config))
    with contextlib.ExitStack() as stack:
        for name, argv in (("etcd", etcd), ("apiserver", server)):
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=folder)
            stack.callback(_end, process)
        yield folder / "config"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    not (API_SERVER and ETCD), reason="DOCTOR_KUBE_APISERVER and DOCTOR_ETCD name no programs"
)
def test_a_real_api_server_admits_the_job_and_nothing_is_left(
    api_server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes import client, config

    monkeypatch.setenv("KUBECONFIG", str(api_server))
    end = time.monotonic() + 90
    load: Any = config.load_kube_config
    load(str(api_server))
    core: Any = client.CoreV1Api()
    batch: Any = client.BatchV1Api()
    while True:
        try:
            core.read_namespace("default")
            break
        except Exception:  # noqa: BLE001 - a server that starts answers in many ways
            assert time.monotonic() < end, (api_server.parent / "apiserver.log").read_text()[-3000:]
            time.sleep(0.5)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for name in ("n1", "n2", "n3"):
        core.create_node({"metadata": {"name": name}, "spec": {"unschedulable": name == "n3"}})
        core.patch_node_status(name, ready)
        core.patch_node(name, {"spec": {"taints": None}})
    core.patch_node("n3", {"spec": {"unschedulable": True}})
    job = _job(tmp_path)
    engine = _engine(grace=2)
    _grant(client)
    limited = client.Configuration.get_default_copy()
    limited.api_key = {"authorization": f"Bearer {(api_server.parent / 'limited').read_text()}"}
    own = client.ApiClient(limited)
    few = _with(client.CoreV1Api(own), client.BatchV1Api(own))
    monkeypatch.setattr(Kubernetes, "_clients", few)
    assert engine.nodes() == ("n1", "n2", "n3")
    monkeypatch.setattr(Kubernetes, "_followed", _looking(core, batch, Kubernetes._followed))
    answers = {answer.name: answer for answer in engine.place(job, engine.nodes())}
    assert answers["n3"].state is NodeState.REFUSED
    assert answers["n3"].reason == "the node is cordoned"
    # No kubelet runs here: nothing starts.
    assert answers["n1"].state is answers["n2"].state is NodeState.SILENT
    assert _seen == [(3, False)]
    assert batch.list_namespaced_job("default").items == []
    with pytest.raises(DoctorError, match="Kubernetes answers 4"):
        _engine(namespace="nowhere")._create(job, ("n1",))


def _documented_rights() -> str:
    text = (Path(__file__).parents[2] / "docs/fleet-engines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    return str(block)


def _grant(client: Any) -> None:
    """Give the rights of the documentation, and no others, to a user."""
    role, cluster_role = yaml.safe_load_all(_documented_rights())
    rights = client.RbacAuthorizationV1Api()
    rights.create_namespaced_role("default", role)
    rights.create_cluster_role(cluster_role)
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "User", "name": "limited", "apiGroup": group}]
    binding = {"metadata": {"name": "own"}, "subjects": subjects}
    ours = {"apiGroup": group, "kind": "Role", "name": role["metadata"]["name"]}
    rights.create_namespaced_role_binding("default", {**binding, "roleRef": ours})
    nodes = {"apiGroup": group, "kind": "ClusterRole", "name": cluster_role["metadata"]["name"]}
    rights.create_cluster_role_binding({**binding, "roleRef": nodes})


_seen: list[tuple[int, bool]] = []


def _with(core: Any, batch: Any) -> Any:
    def clients(self: Kubernetes) -> tuple[Any, Any]:
        self._batch, self._core = batch, core
        return batch, core

    return clients


def _looking(core: Any, batch: Any, followed: Any) -> Any:
    def look(self: Kubernetes, job: Job, nodes: Any) -> Any:
        maps = core.list_namespaced_config_map("default").items
        ours = [one for one in maps if one.metadata.name.startswith(f"doctor-{job.run}")]
        made = batch.read_namespaced_job(f"doctor-{job.run}", "default")
        _seen.append((len(ours), bool(made.spec.suspend)))
        return followed(self, job, nodes)

    return look
