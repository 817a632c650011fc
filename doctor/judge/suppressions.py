"""Which findings count: ignores with a reason and a date, and a baseline of what was there before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from doctor.base.globs import matches_any
from doctor.model.findings import Finding, Place, Suppression
from doctor.model.fixes import Fix
from doctor.model.scales import Confidence, Severity

_MOST_UNUSED = 20
"""How many ignores that cover nothing are each told by a note of their own."""


class Ignore(msgspec.Struct, frozen=True, kw_only=True):
    """What a project has decided to live with: a glob of ids, why, until when, and a text that the finding must hold."""

    id: str
    reason: str
    until: date
    match: str = ""
    place: Place

    def covers(self, found: Finding) -> bool:
        """Say whether a finding is meant, be the ignore still in force or not."""
        return matches_any(found.id, (self.id,)) and (
            self.match in found.title or self.match in found.message
        )


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a baseline."""

    id: str
    target: str
    severity: Severity
    title: str = ""


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """What findings have to pass to count; no baseline is None, one that held nothing is empty."""

    ignores: tuple[Ignore, ...] = ()
    baseline: tuple[Known, ...] | None = None
    today: date = date.min


class Gated(NamedTuple):
    """Findings with what suppresses them; what is to be said of the ignores.

    Ids of the baseline that are gone.
    """

    findings: tuple[Finding, ...]
    remarks: tuple[Finding, ...] = ()
    gone: tuple[str, ...] = ()


def gate(
    findings: Sequence[Finding], gates: Gates, *, open_ids: Collection[str] | None = None
) -> Gated:
    """Suppress what is ignored, then what the baseline knows.

    `open_ids` are those that could not be told this time; None where so little was looked at that
    nothing is known to be gone or unused.
    """
    valid = [ignore for ignore in gates.ignores if gates.today <= ignore.until]
    judged = _baselined([_ignored(found, valid) for found in findings], gates.baseline or ())
    return Gated(
        findings=tuple(judged),
        remarks=tuple(_remarks(findings, gates, open_ids)),
        gone=() if open_ids is None else tuple(_gone(findings, gates.baseline or (), open_ids)),
    )


def _ignored(found: Finding, valid: Iterable[Ignore]) -> Finding:
    ignore = next((each for each in valid if each.covers(found)), None)
    if ignore is None:
        return found
    return msgspec.structs.replace(
        found,
        suppressed=Suppression(by="ignore", reason=ignore.reason, until=ignore.until.isoformat()),
    )


def _baselined(findings: Sequence[Finding], baseline: Sequence[Known]) -> list[Finding]:
    """Let each finding of a baseline stand for one of now, the one with the same title first: a check may fail on two devices."""
    left, kept = list(baseline), list(findings)
    for same_title in (True, False):
        for number, found in enumerate(kept):
            known = next(
                (
                    each
                    for each in left
                    if _stands_for(each, found) and (not same_title or each.title == found.title)
                ),
                None,
            )
            if found.suppressed is None and known is not None:
                left.remove(known)
                kept[number] = msgspec.structs.replace(found, suppressed=Suppression(by="baseline"))
    return kept


def _stands_for(known: Known, found: Finding) -> bool:
    no_worse = found.severity <= known.severity
    return (known.id, known.target) == (found.id, found.target) and no_worse


def _gone(
    findings: Sequence[Finding], baseline: Iterable[Known], open_ids: Collection[str]
) -> Iterable[str]:
    there = {(found.id, found.target) for found in findings}
    return dict.fromkeys(
        known.id
        for known in baseline
        if (known.id, known.target) not in there and known.id not in open_ids
    )


def _remarks(
    findings: Sequence[Finding], gates: Gates, open_ids: Collection[str] | None
) -> Iterable[Finding]:
    target = next((found.target for found in findings), "")
    unused: list[Ignore] = []
    for ignore in gates.ignores:
        back = [found for found in findings if ignore.covers(found)]
        if back and gates.today > ignore.until:
            yield _expired(ignore, back, target)
        elif (
            not back
            and open_ids is not None
            and not any(matches_any(name, (ignore.id,)) for name in open_ids)
        ):
            unused.append(ignore)
    yield from (_unused(ignore, target) for ignore in unused[:_MOST_UNUSED])
    if rest := unused[_MOST_UNUSED:]:
        yield _unused_as_well(rest, target)


def _expired(ignore: Ignore, back: Sequence[Finding], target: str) -> Finding:
    """A warning, or a note where what is back is no more than that itself."""
    severity = min(max(found.severity for found in back), Severity.WARNING)
    ids = ", ".join(dict.fromkeys(found.id for found in back))
    return _remark(
        "ignore/expired",
        ignore,
        target,
        severity,
        title=f"The ignore of {ignore.id} ended on {ignore.until}",
        message=f"What it covered counts again: {ids}. It was ignored because: {ignore.reason}",
        fix="Heal what it covered and remove the ignore, or look at it again and set another day",
    )


def _unused(ignore: Ignore, target: str) -> Finding:
    what = f"{ignore.id} with the text {ignore.match}" if ignore.match else ignore.id
    return _remark(
        "ignore/unused",
        ignore,
        target,
        Severity.NOTE,
        title=f"Nothing here is covered by the ignore of {ignore.id}",
        message=f"No finding of this run is {what}. Another machine, or another tier, may still need the ignore: {ignore.reason}",
        fix="Remove the ignore where nothing needs it any more",
    )


def _unused_as_well(rest: Sequence[Ignore], target: str) -> Finding:
    return _remark(
        "ignore/unused",
        rest[0],
        target,
        Severity.NOTE,
        title=f"Nothing here is covered by {len(rest)} further ignores",
        message=f"The first of them is {rest[0].id}. Another machine, or another tier, may still need them.",
        fix="Remove those that nothing needs any more, beginning with this one",
    )


def _remark(
    id_: str, ignore: Ignore, target: str, severity: Severity, *, title: str, message: str, fix: str
) -> Finding:
    return Finding(
        id=id_,
        target=target,
        title=title,
        severity=severity,
        confidence=Confidence.HIGH,
        message=message,
        fixes=(Fix(kind="configure", title=f"{fix} ({ignore.place.path}:{ignore.place.line})"),),
        place=ignore.place,
    )
