"""Parts of the manifests of a run on Kubernetes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.fleet.engine import Job

_PART_BYTES = 700 << 10
"""Bytes of the archive in a ConfigMap: with base64 below 1 MiB."""


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
