"""A fleet: what became of each node, which nodes are alike, and what was found on which of them."""

from __future__ import annotations

from enum import Enum

import msgspec

from doctor.model.document import FixDocument
from doctor.model.scales import Confidence, Severity


class NodeState(Enum):
    """What became of the check on a node.

    `silent`: nothing came within the time. `refused`: the engine or the node did not run it.
    `lost`: it began and ended without a report that can be read.
    """

    ANSWERED = "answered"
    SILENT = "silent"
    REFUSED = "refused"
    LOST = "lost"


class NodeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine heard of one node.

    `content` is the packed report (doctor.fleet.wire) or the report itself, empty where none came.
    `reason` says why none came, in one line. `exit_code` is that of `doctor check`, None where it
    is not known. `lag` is our time at arrival less the node's own time when it sent, in seconds.
    """

    name: str
    state: NodeState
    content: bytes = b""
    reason: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    lag: float | None = None


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the fleet: its state and its group, None where it has no report."""

    state: NodeState
    group: int | None = None
    exit_code: int | None = None
    reason: str = ""
    seconds: float = 0.0


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that differs between a group and the majority.

    `name` is the name of a fact, or `check:ID` with the device after a second colon. `here` and
    `majority` are values in words, `absent` or `not known`. `severity` is None where the
    difference does not matter; `why` says what comes of it. `follows` counts other facts that
    differ because this one does.
    """

    name: str
    here: str
    majority: str
    severity: Severity | None = None
    why: str = ""
    follows: int = 0


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike: `nodes` in folded form (`gpu[001-128,131]`), `size` how many.

    `digest` is one of what they have in common. `traits` are the facts that tell people most.
    `differences` are those from the majority; the majority itself has none.
    """

    number: int
    nodes: str
    size: int
    digest: str
    majority: bool = False
    exit_code: int = 0
    traits: dict[str, str] = msgspec.field(default_factory=dict)
    differences: tuple[Difference, ...] = ()


class FleetFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding and the nodes that have it, folded; `size` is how many they are.

    Ids that begin with `fleet/` come from the comparison of nodes, all others from `doctor check`.
    `fixes` are those of one of these nodes. `exclude` holds commands of the engine that take these
    nodes out of service; nobody runs them but the reader.
    """

    id: str
    title: str
    severity: Severity
    nodes: str
    size: int
    confidence: Confidence = Confidence.HIGH
    message: str = ""
    evidence: tuple[str, ...] = ()
    fixes: tuple[FixDocument, ...] = ()
    references: tuple[str, ...] = ()
    exclude: tuple[tuple[str, ...], ...] = ()


class FleetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts: nodes by state, groups, and findings by severity."""

    nodes: int
    answered: int
    silent: int
    refused: int
    lost: int
    groups: int
    error: int
    warning: int
    note: int


class NetworkPath(msgspec.Struct, frozen=True, kw_only=True):
    """How nodes reached each other in an all-reduce, as far as they say.

    `backend` is gloo or nccl, `transport` what it used (tcp, IB, Socket), `interface` and `mtu`
    those towards another node. `works` is false where these nodes took part in no sum that was
    right.
    """

    nodes: str
    size: int
    works: bool
    backend: str = ""
    transport: str = ""
    interface: str = ""
    mtu: int = 0


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report for all nodes: the largest group comes first, the worst finding too.

    `engine` is empty where reports were merged from files. `versions` counts the nodes of each
    version of doctor. `problems` are inputs that no node could be made of. `network` is what an
    all-reduce used, empty where none was tried.
    """

    schema_version: int
    doctor_version: str
    command: str
    exit_code: int
    summary: FleetSummary
    nodes: dict[str, NodeReport]
    groups: tuple[NodeGroup, ...]
    findings: tuple[FleetFinding, ...]
    engine: str = ""
    taken: str = ""
    seconds: float = 0.0
    interrupted: bool = False
    versions: dict[str, int] = msgspec.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    network: tuple[NetworkPath, ...] = ()
