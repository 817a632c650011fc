"""Kubernetes: an indexed Job with one pod on each node.

A ConfigMap holds at most 1 MiB, so the archive goes in as many as it needs; they belong to the Job
and are deleted with it. Which pod ran where, and what it printed, is what the API server says. See
https://kubernetes.io/docs/concepts/workloads/controllers/job/.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from doctor.base.errors import DoctorError, UsageError
from doctor.base.text import one_line
from doctor.fleet import wire
from doctor.fleet.engine import NODE_VARIABLE, Job
from doctor.fleet.engines.manifests import archive_parts, config_map, one_on_each, printed
from doctor.fleet.package import checked_name, checked_names, listed_names
from doctor.host import Host
from doctor.model.fleet import NodeAnswer, NodeState

_MOST_LOG_BYTES = 32 << 20
_POLL_SECONDS = 1.0
_REQUEST_SECONDS = 30
_CANNOT_START = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"),
        *("CreateContainerError", "RunContainerError", "ErrImageNeverPull"),
    }
)
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,500}")
_SELECTOR = re.compile(r"[A-Za-z0-9._/=!,() -]{1,500}")
_START = (
    'python=$1; shift; cat /doctor/part-* > "$TMPDIR/doctor.pyz" && '
    'exec "$python" "$TMPDIR/doctor.pyz" "$@" 2>&1'
)
_START_INSTALLED = 'python=$1; shift; exec "$python" -m doctor "$@" 2>&1'


class Kubernetes:
    """A Kubernetes cluster, reached as `kubectl` reaches it (or from within a pod).

    `image` has the stack to examine. `nodes` is a list of names, a number, or empty: all that match
    `selector`. `gpus` asks for so many of `gpu_resource` on each node; without, the pods see GPUs
    only where the image and the runtime show them anyway. `tolerate` also uses tainted nodes.
    """

    name = "k8s"

    def __init__(
        self,
        host: Host,
        *,
        image: str = "",
        nodes: str = "",
        namespace: str = "default",
        selector: str = "",
        context: str = "",
        gpus: int = 0,
        gpu_resource: str = "nvidia.com/gpu",
        runtime_class: str = "",
        tolerate: bool = False,
        grace: float = 30.0,
    ) -> None:
        del host
        if _IMAGE.fullmatch(image) is None:
            raise UsageError(f"--set image=NAME must name an image; {image[:80]!r} is none")
        if selector and _SELECTOR.fullmatch(selector) is None:
            raise UsageError(f"{selector[:80]!r} is no label selector")
        self._image, self._nodes, self._selector = image, nodes, selector
        self._namespace, self._context = checked_name(namespace), context
        self._gpus, self._gpu_resource = gpus, gpu_resource
        self._runtime_class = runtime_class
        self._tolerate, self._grace = tolerate, grace
        self._cancelled = threading.Event()
        self._batch: Any = None
        self._core: Any = None

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the selected nodes."""
        known = self._ready()
        if self._nodes and not self._nodes.isdigit():
            wanted = checked_names(listed_names(self._nodes))
            if foreign := [name for name in wanted if name not in known]:
                raise UsageError(f"Kubernetes knows no such node: {', '.join(foreign[:5])}")
            return wanted
        if not self._nodes:
            return checked_names(known)
        ready = [name for name, why in known.items() if not why]
        if not 1 <= int(self._nodes) <= len(ready):
            raise UsageError(f"{self._nodes} nodes are wanted, and {len(ready)} are ready")
        return checked_names(ready[: int(self._nodes)])

    def place(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        """Run the job once on each node; see doctor.fleet.engine.Engine."""
        self._cancelled.clear()
        known, usable = self._ready(), []
        for name in checked_names(nodes):
            if why := known.get(name, "Kubernetes knows no such node"):
                yield NodeAnswer(name=name, state=NodeState.REFUSED, reason=why)
            else:
                usable.append(name)
        if not usable:
            return
        title = f"doctor-{job.run}"
        try:
            self._create(job, usable)
            yield from self._followed(job, usable)
        finally:
            with contextlib.suppress(Exception):
                self._batch.delete_namespaced_job(
                    title,
                    self._namespace,
                    propagation_policy="Background",
                    grace_period_seconds=5,
                    _request_timeout=_REQUEST_SECONDS,
                )

    def cancel(self) -> None:
        """End the run: its Job is deleted with its pods and ConfigMaps."""
        self._cancelled.set()

    def exclusion(self, nodes: Sequence[str], reason: str) -> tuple[tuple[str, ...], ...]:
        """Return the command that keeps new pods off nodes; those that run stay."""
        del reason
        return (("kubectl", "cordon", *checked_names(nodes)),)

    def dry_run(self, job: Job) -> str:
        """Return what a run would create, as YAML; the cluster is asked only for unnamed nodes."""
        is_list = bool(self._nodes) and not self._nodes.isdigit()
        nodes = checked_names(listed_names(self._nodes)) if is_list else self.nodes()
        return printed(self.manifest(job, nodes), len(archive_parts(job)), len(nodes))

    def manifest(self, job: Job, nodes: Sequence[str]) -> dict[str, Any]:
        """Return the Job for nodes, as `kubectl create --filename=-` takes it.

        It starts suspended where an archive has to be there first.
        """
        parts = len(archive_parts(job))
        spec: dict[str, Any] = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 10,
            "affinity": one_on_each(checked_names(nodes), f"doctor-{job.run}"),
            "containers": [self._container(job, parts)],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        }
        if parts:
            sources = [
                {"configMap": {"name": f"doctor-{job.run}-{number:03}"}} for number in range(parts)
            ]
            spec["volumes"].append({"name": "doctor", "projected": {"sources": sources}})
        if self._tolerate:
            spec["tolerations"] = [{"operator": "Exists"}]
        if self._runtime_class:
            spec["runtimeClassName"] = self._runtime_class
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"doctor-{job.run}",
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/name": "canary-doctor"},
            },
            "spec": {
                "completionMode": "Indexed",
                "completions": len(nodes),
                "parallelism": len(nodes),
                # A node that fails must not end the pods of the others, nor run twice.
                "backoffLimitPerIndex": 0,
                "maxFailedIndexes": len(nodes),
                "activeDeadlineSeconds": int(job.start_timeout + job.timeout + self._grace),
                "ttlSecondsAfterFinished": 600,
                "suspend": bool(parts),
                "template": {
                    "metadata": {"labels": {"doctor-run": f"doctor-{job.run}"}},
                    "spec": spec,
                },
            },
        }

    def _container(self, job: Job, parts: int) -> dict[str, Any]:
        environment: list[dict[str, Any]] = [
            {"name": NODE_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "TMPDIR", "value": "/doctor-scratch"},
            *({"name": name, "value": value} for name, value in job.environment.items()),
        ]
        mounts = [{"name": "scratch", "mountPath": "/doctor-scratch"}]
        if parts:
            mounts.append({"name": "doctor", "mountPath": "/doctor"})
        container: dict[str, Any] = {
            "name": "doctor",
            "image": self._image,
            "command": ["sh", "-c", _START if parts else _START_INSTALLED, "doctor"],
            "args": [job.python, *job.arguments],
            "env": environment,
            "volumeMounts": mounts,
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        if self._gpus:
            container["resources"] = {"limits": {self._gpu_resource: str(self._gpus)}}
        return container

    # What the API server says.

    def _clients(self) -> tuple[Any, Any]:
        if self._batch is None:
            try:
                from kubernetes import client, config
            except ImportError:
                raise DoctorError(
                    "--on k8s needs the Kubernetes client: pip install 'canary-doctor[fleet-k8s]'"
                ) from None
            try:
                load: Any = config.load_config
                with contextlib.redirect_stdout(io.StringIO()):  # it prints where it looks
                    load(**({"context": self._context} if self._context else {}))
            except config.ConfigException as error:
                raise DoctorError(f"no Kubernetes cluster is configured: {error}") from None
            self._batch, self._core = client.BatchV1Api(), client.CoreV1Api()
        return self._batch, self._core

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            yield
        except ApiException as error:
            words = error.body if isinstance(error.body, str) and error.body else error.reason
            raise DoctorError(
                f"Kubernetes answers {error.status}: {one_line(words, 400)}"
            ) from None
        except HTTPError as error:
            raise DoctorError(f"Kubernetes does not answer: {one_line(str(error), 300)}") from None

    def _ready(self) -> dict[str, str]:
        """Return each selected node with the reason why no pod may start there, else empty."""
        _, core = self._clients()
        with self._errors():
            listed = core.list_node(
                label_selector=self._selector or None, _request_timeout=_REQUEST_SECONDS
            )
        return {node.metadata.name: self._why_not(node) for node in listed.items}

    def _why_not(self, node: Any) -> str:
        ready = [one for one in node.status.conditions or () if one.type == "Ready"]
        if not ready or ready[0].status != "True":
            words = ready[0].message or ready[0].reason or "" if ready else "no condition Ready"
            return one_line(f"the node is not ready: {words}", 300)
        if node.spec.unschedulable and not self._tolerate:
            return "the node is cordoned"
        taints = [
            one for one in node.spec.taints or () if one.effect in ("NoSchedule", "NoExecute")
        ]
        if taints and not self._tolerate:
            return f"the node has the taint {one_line(taints[0].key, 100)}; see --set tolerate=true"
        return ""

    def _create(self, job: Job, nodes: Sequence[str]) -> None:
        batch, core = self._clients()
        parts = archive_parts(job)
        with self._errors():
            made = batch.create_namespaced_job(
                self._namespace, self.manifest(job, nodes), _request_timeout=_REQUEST_SECONDS
            )
            for number, part in enumerate(parts):
                core.create_namespaced_config_map(
                    self._namespace,
                    config_map(job, number, part, made.metadata.uid),
                    _request_timeout=_REQUEST_SECONDS,
                )
            if parts:
                batch.patch_namespaced_job(
                    made.metadata.name,
                    self._namespace,
                    {"spec": {"suspend": False}},
                    _request_timeout=_REQUEST_SECONDS,
                )

    def _followed(self, job: Job, nodes: Sequence[str]) -> Iterator[NodeAnswer]:
        awaited = dict.fromkeys(nodes, "no pod was started there")
        words = ""
        deadline = time.monotonic() + job.start_timeout + job.timeout + self._grace
        while awaited and time.monotonic() < deadline and not self._cancelled.wait(_POLL_SECONDS):
            for pod in self._pods(job):
                node, phase = pod.spec.node_name, pod.status.phase
                if node is None:
                    words = _scheduler_words(pod) or words
                elif node in awaited:
                    awaited[node] = f"its pod is {phase}"
                    if (answer := self._answer(job, pod, node, phase)) is not None:
                        del awaited[node]
                        yield answer
        for node, why in awaited.items():
            reason = f"{why} ({words})" if words else why
            yield NodeAnswer(name=node, state=NodeState.SILENT, reason=one_line(reason, 400))

    def _pods(self, job: Job) -> Sequence[Any]:
        with self._errors():
            listed = self._core.list_namespaced_pod(
                self._namespace,
                label_selector=f"doctor-run=doctor-{job.run}",
                _request_timeout=_REQUEST_SECONDS,
            )
        found: Sequence[Any] = listed.items
        return found

    def _answer(self, job: Job, pod: Any, node: str, phase: str) -> NodeAnswer | None:
        """Return the answer of a pod that came to its end, or cannot begin."""
        for status in pod.status.container_statuses or ():
            waiting = status.state.waiting
            if waiting is not None and waiting.reason in _CANNOT_START:
                why = one_line(f"{waiting.reason}: {waiting.message or ''}", 400)
                return NodeAnswer(name=node, state=NodeState.REFUSED, reason=why)
        if phase not in ("Succeeded", "Failed", "Unknown"):
            return None
        last = ""
        reader = wire.PacketReader(job.run)
        for line in self._log(pod).splitlines():
            packet = reader.feed_line(line)
            if packet is not None and packet.state is not None:
                return wire.answer(packet, node)
            if b"doctor-packet-" not in line and line.strip():
                last = line[:300].decode("utf-8", "replace")
        code = _exit_code(pod)
        why = pod.status.message or pod.status.reason or f"exit code {code}; {last}"
        state = NodeState.REFUSED if code in (126, 127) else NodeState.LOST
        return NodeAnswer(name=node, state=state, reason=one_line(why, 400), exit_code=code)

    def _log(self, pod: Any) -> bytes:
        from kubernetes.client import ApiException

        try:
            answer = self._core.read_namespaced_pod_log(
                pod.metadata.name,
                self._namespace,
                limit_bytes=_MOST_LOG_BYTES,
                _preload_content=False,
                _request_timeout=_REQUEST_SECONDS,
            )
        except ApiException:  # the node is gone, and its logs with it
            return b""
        log: bytes = answer.data
        return log


def _scheduler_words(pod: Any) -> str:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return one_line(condition.message or condition.reason or "", 300)
    return ""


def _exit_code(pod: Any) -> int | None:
    for status in pod.status.container_statuses or ():
        if status.state.terminated is not None:
            return int(status.state.terminated.exit_code)
    return None
