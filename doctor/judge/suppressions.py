"""Suppress findings: by ignores with a reason and a date, and by a baseline of earlier findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import Protocol

import msgspec

from doctor.base.globs import matches_any
from doctor.model.findings import Finding, Place, Suppression
from doctor.model.fixes import Fix
from doctor.model.scales import Confidence, Severity

_MOST_UNUSED = 20
"""Ignores without a finding that get a note of their own."""


class Suppressible(Protocol):
    """What a suppression looks at: a match, a finding, or a finding of a JSON report."""

    @property
    def id(self) -> str:
        """The id of the finding."""

    @property
    def target(self) -> str:
        """The name of its target."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def message(self) -> str:
        """Its message."""

    @property
    def severity(self) -> Severity:
        """Its severity."""


class Ignore(msgspec.Struct, frozen=True, kw_only=True):
    """Accept findings until a day: a glob of ids, a reason, and perhaps a text in them."""

    id: str
    reason: str
    until: date
    match: str = ""
    place: Place

    def covers(self, found: Suppressible) -> bool:
        """Say whether it names a finding; an expired ignore does as well."""
        return matches_any(found.id, (self.id,)) and (
            self.match in found.title or self.match in found.message
        )


class BaselineFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a baseline."""

    id: str
    target: str
    severity: Severity
    title: str = ""


class Suppressions(msgspec.Struct, frozen=True, kw_only=True):
    """Ignores and a baseline on a day.

    Without a baseline it is None; a baseline without findings is empty.
    """

    ignores: tuple[Ignore, ...] = ()
    baseline: tuple[BaselineFinding, ...] | None = None
    today: date = date.min

    def __bool__(self) -> bool:
        return bool(self.ignores) or self.baseline is not None


class Suppressed(msgspec.Struct, frozen=True):
    """One decision for each finding: None where it counts.

    `remarks` are findings about the ignores themselves; `fixed` are ids of the baseline that were
    not found again.
    """

    decisions: tuple[Suppression | None, ...]
    remarks: tuple[Finding, ...] = ()
    fixed: tuple[str, ...] = ()


def suppress(
    findings: Sequence[Suppressible],
    suppressions: Suppressions,
    *,
    open_ids: Collection[str] | None = None,
) -> Suppressed:
    """Decide for each finding: ignores come first, then the baseline.

    `open_ids` are findings that this run could not decide. None means that the run looked at too
    little to call anything fixed, or an ignore unused.
    """
    valid = [ignore for ignore in suppressions.ignores if suppressions.today <= ignore.until]
    ignored = [_by_ignore(found, valid) for found in findings]
    baseline = suppressions.baseline or ()
    return Suppressed(
        decisions=tuple(_by_baseline(findings, ignored, baseline)),
        remarks=tuple(_remarks(findings, suppressions, open_ids)),
        fixed=() if open_ids is None else tuple(_fixed(findings, baseline, open_ids)),
    )


def _by_ignore(found: Suppressible, valid: Iterable[Ignore]) -> Suppression | None:
    ignore = next((each for each in valid if each.covers(found)), None)
    if ignore is None:
        return None
    return Suppression(by="ignore", reason=ignore.reason, until=ignore.until.isoformat())


def _by_baseline(
    findings: Sequence[Suppressible],
    ignored: Sequence[Suppression | None],
    baseline: Sequence[BaselineFinding],
) -> list[Suppression | None]:
    """Let each finding of a baseline stand for one finding of this run.

    One with the same title comes first: a check may fail on two devices.
    """
    left, decisions = list(baseline), list(ignored)
    for same_title in (True, False):
        for number, found in enumerate(findings):
            known = next(
                (
                    each
                    for each in left
                    if _stands_for(each, found) and (not same_title or each.title == found.title)
                ),
                None,
            )
            if decisions[number] is None and known is not None:
                left.remove(known)
                decisions[number] = Suppression(by="baseline")
    return decisions


def _stands_for(known: BaselineFinding, found: Suppressible) -> bool:
    no_worse = found.severity <= known.severity
    return (known.id, known.target) == (found.id, found.target) and no_worse


def _fixed(
    findings: Sequence[Suppressible],
    baseline: Iterable[BaselineFinding],
    open_ids: Collection[str],
) -> Iterable[str]:
    there = {(found.id, found.target) for found in findings}
    return dict.fromkeys(
        known.id
        for known in baseline
        if (known.id, known.target) not in there and known.id not in open_ids
    )


def _remarks(
    findings: Sequence[Suppressible],
    suppressions: Suppressions,
    open_ids: Collection[str] | None,
) -> Iterator[Finding]:
    target = next((found.target for found in findings), "")
    unused: list[Ignore] = []
    for ignore in suppressions.ignores:
        back = [found for found in findings if ignore.covers(found)]
        if back and suppressions.today > ignore.until:
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


def _expired(ignore: Ignore, back: Sequence[Suppressible], target: str) -> Finding:
    """Return a warning, or a note where the findings that are back are notes themselves."""
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
        message=f"No finding of this run is {what}. Another machine, or another tier, may still "
        f"need the ignore: {ignore.reason}",
        fix="Remove the ignore where nothing needs it any more",
    )


def _unused_as_well(rest: Sequence[Ignore], target: str) -> Finding:
    return _remark(
        "ignore/unused",
        rest[0],
        target,
        Severity.NOTE,
        title=f"Nothing here is covered by {len(rest)} further ignores",
        message=f"The first of them is {rest[0].id}. Another machine, or another tier, may still "
        "need them.",
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
        fixes=(Fix(kind="edit", title=f"{fix} ({ignore.place.path}:{ignore.place.line})"),),
        place=ignore.place,
    )
