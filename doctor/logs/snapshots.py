"""Read snapshots and JSON reports that doctor wrote, and recognize texts that only look so."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from doctor import __version__
from doctor.base.errors import InputError
from doctor.base.versions import parse
from doctor.model.observation import Deselected, Observation

FORM = 1
"""The `schema_version` of what this doctor writes, and the only one that it reads."""
_T = TypeVar("_T")


class _Head(msgspec.Struct, frozen=True):
    """What a snapshot and a report say of themselves; `doctor` is a report's."""

    schema_version: Any = msgspec.UNSET
    facts: msgspec.Raw = msgspec.Raw()
    findings: msgspec.Raw = msgspec.Raw()
    doctor_version: Any = msgspec.UNSET
    doctor: Any = None

    @property
    def is_snapshot(self) -> bool:
        """Whether there is any part of a snapshot; an empty object is a file of anybody's."""
        return (
            bool(bytes(self.facts))
            or self.schema_version is not msgspec.UNSET
            or self.doctor_version is not msgspec.UNSET
        )

    @property
    def is_report(self) -> bool:
        """Whether there is what a report has and a snapshot has not."""
        return bool(bytes(self.findings))

    @property
    def version(self) -> str:
        """The doctor that wrote it; empty where it names none."""
        told = self.doctor.get("version") if isinstance(self.doctor, dict) else self.doctor_version
        return told if isinstance(told, str) else ""


def decoded(
    content: bytes, kind: type[_T], name: str, *, what: str = "snapshot or JSON report"
) -> _T | None:
    """Return a document of doctor; None for a text that is none.

    Raises InputError for one of a form that this doctor does not know, or with a part that it does
    not understand.
    """
    head = _head(content)
    if head is None or not (head.is_snapshot or head.is_report):
        return None
    if head.schema_version is not msgspec.UNSET and (
        type(head.schema_version) is not int or head.schema_version != FORM
    ):
        told = repr(head.schema_version)[:40]
        raise InputError(
            f"{name}: its schema_version is {told}; this doctor, {__version__}, reads "
            f"{FORM}.{_advice(head)}"
        )
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}: no {what} that this doctor understands: {error}.{_advice(head)}"
        ) from None


class _LeftOut(msgspec.Struct, frozen=True):
    """What earlier doctors wrote of checks that did not run: one sentence for each."""

    left_out: tuple[str, ...] = ()
    deselected: msgspec.Raw = msgspec.Raw()


_TIER = re.compile(r"(?P<id>[^:]+): (?P<summary>.*) \(--tier deep, up to (?P<seconds>\d{1,9}) s\)")
_STATIC = ("the canaries (--no-canaries)",)


def observation(content: bytes, name: str) -> Observation | None:
    """Return the observation in a snapshot or a JSON report; None for a text that holds neither.

    Raises InputError as `decoded` does. Snapshots up to 2026-11-22 have `left_out` in words.
    """
    seen = decoded(content, Observation, name)
    if seen is None:
        return None
    earlier = msgspec.json.decode(content, type=_LeftOut)
    if bytes(earlier.deselected) or not earlier.left_out:
        return seen
    if earlier.left_out == _STATIC:
        return msgspec.structs.replace(seen, static=True)
    found = filter(None, map(_TIER.fullmatch, earlier.left_out))
    deselected = tuple(
        Deselected(id=one["id"], summary=one["summary"], seconds=float(one["seconds"]))
        for one in found
    )
    return msgspec.structs.replace(seen, deselected=deselected)


def is_report(content: bytes) -> bool:
    """Say whether a text is a JSON object with findings: a report has them, a snapshot not."""
    head = _head(content)
    return head is not None and head.is_report


def why_not(content: bytes) -> str:
    """Say why a text is no document of doctor; empty for one that is no JSON at all."""
    if content.lstrip()[:1] not in (b"{", b"["):
        return ""
    try:
        msgspec.json.decode(content, type=_Head)
    except (ValueError, RecursionError) as error:
        return f": {error}"
    return ": a JSON object of something else"


def _head(content: bytes) -> _Head | None:
    try:
        return msgspec.json.decode(content, type=_Head)
    except (ValueError, RecursionError):
        return None


def _advice(head: _Head) -> str:
    """Say what to do about it where a newer doctor wrote it."""
    wrote, here = parse(head.version), parse(__version__)
    newer = wrote is not None and here is not None and wrote > here
    if newer or (type(head.schema_version) is int and head.schema_version > FORM):
        return (
            f" A newer doctor wrote it{f' ({head.version[:40]})' if head.version else ''}: "
            f"upgrade this one."
        )
    return ""
