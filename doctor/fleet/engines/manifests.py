"""Parts of the manifests of a run on Kubernetes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.fleet.engine import Job

_PART_BYTES = 700 << 10
"""Bytes of the archive in a ConfigMap: with base64 below 1 MiB."""
_RIGHTS = (
    (("batch",), ("jobs",), ("create", "patch", "delete")),
    (("",), ("configmaps",), ("create",)),
    (("",), ("pods",), ("list",)),
    (("",), ("pods/log",), ("get",)),
)
_RIGHTS_OVER_NODES = (((("",), ("nodes",), ("list",))),)


def archive_parts(job: Job) -> list[bytes]:
    """Return the archive in parts that fit a ConfigMap each; none where it does not travel."""
    if job.archive is None:
        return []
    data = job.archive.read_bytes()
    return [data[start : start + _PART_BYTES] for start in range(0, len(data), _PART_BYTES)]


def config_map(job: Job, number: int, part: bytes, owner: str) -> dict[str, Any]:
    """Return the ConfigMap with a part of the archive; it is deleted with its Job."""
    title = f"doctor-{job.run}"
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": title, "uid": owner}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{title}-{number:03}", "ownerReferences": [reference]},
        "immutable": True,
        "binaryData": {f"part-{number:03}": b64encode(part).decode()},
    }


def one_on_each(nodes: Sequence[str], title: str) -> dict[str, Any]:
    """Return the affinity that puts at most one pod of this run on each of the nodes."""
    # By field, since the label kubernetes.io/hostname may differ from the name of the node.
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        for node in nodes
    ]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    selector: Mapping[str, Any] = {"matchLabels": {"doctor-run": title}}
    apart = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    return {
        "nodeAffinity": {required: {"nodeSelectorTerms": terms}},
        "podAntiAffinity": {required: [apart]},
    }


def rights(namespace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the Role and the ClusterRole that a run needs, and no more.

    See https://kubernetes.io/docs/reference/access-authn-authz/rbac/.
    """
    return (
        _role("Role", {"name": "doctor-fleet", "namespace": namespace}, _RIGHTS),
        _role("ClusterRole", {"name": "doctor-fleet-nodes"}, _RIGHTS_OVER_NODES),
    )


def _role(kind: str, metadata: dict[str, str], rules: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": [
            {"apiGroups": [*groups], "resources": [*resources], "verbs": [*verbs]}
            for groups, resources, verbs in rules
        ],
    }


def printed(job: dict[str, Any], parts: int, nodes: int) -> str:
    """Return the Job as YAML, with what else a run does as comments.

    The ConfigMaps with the archive are counted only: they are megabytes of base64.
    """
    title, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    if parts:
        how = [
            f"doctor also creates {parts} ConfigMaps ({title}-000 …) with the archive.",
            "They belong to the Job and go with it; the Job is suspended until they are there.",
            "With --installed, the image has doctor: no ConfigMap is needed, and kubectl can",
            "create the Job from this text.",
        ]
    else:
        logs = f"kubectl logs --namespace={namespace} --selector=doctor-run={title} --tail=-1"
        how = [
            "The image has doctor. A run creates this Job alone, and reads the logs of its pods:",
            f"  {logs} --max-log-requests={nodes} > out.txt",
            "  doctor fleet merge out.txt",
        ]
    needed = _yaml(*rights(namespace)).splitlines()
    lines = ("Nothing was created.", *how, "", "These are the rights that it needs:", "", *needed)
    comments = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return f"{comments}\n{_yaml(job)}"


def _yaml(*documents: dict[str, Any]) -> str:
    import yaml

    # Wide, for a folded line of a script reads badly.
    text: str = yaml.safe_dump_all(documents, sort_keys=False, width=4000)
    return text
