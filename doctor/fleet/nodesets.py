"""Names of nodes in folded form, `gpu[001-128,131]`, as Slurm, pdsh and clush write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,253}")


def plain(name: str) -> str:
    """Return a name as one that can stand in a set of nodes; foreign characters become `_`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name.strip()[:253]).lstrip("-") or "_"


def is_plain(name: str) -> bool:
    """Return whether a name is one that a scheduler may give a node (RFC 1123, and `_`)."""
    return _PLAIN.fullmatch(name) is not None and not name.startswith("-")


def fold(names: Iterable[str]) -> str:
    """Return names in folded form; joined by commas where ClusterShell is not installed.

    See https://clustershell.readthedocs.io/en/latest/tools/nodeset.html.
    """
    listed = sorted(set(names))
    odd = [name for name in listed if not is_plain(name)]
    simple = [name for name in listed if is_plain(name)]
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
    except ImportError:
        return ",".join((*simple, *odd))
    folded = str(NodeSet.fromlist(simple, autostep=None, resolver=RESOLVER_NOGROUP))
    return ",".join(filter(None, (folded, *odd)))


def shorten(folded: str, most: int) -> str:
    """Return a folded set in at most `most` characters, cut at a comma."""
    if len(folded) <= most:
        return folded
    return folded[: max(folded.rfind(",", 0, most - 2), 1)] + ",…"


def unfold(text: str) -> Sequence[str]:
    """Return the names of a set in folded form; raise ValueError where it is none."""
    if "[" not in text:
        return [name.strip() for name in text.split(",") if name.strip()]
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    except ImportError:
        raise ValueError(f"{text}: install canary-doctor[fleet], or name each node") from None
    try:
        return list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise ValueError(str(error)) from None
