"""One plan for all findings of a target: pure, without network and processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from doctor.base.versions import public
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts
from doctor.model.findings import Detection
from doctor.model.plans import Change, Cost, Plan
from doctor.planning.anchors import ASKED, KEEP, NEWEST, anchors
from doctor.planning.search import Draft, Environment, Search
from doctor.planning.steps import steps_of

_MOST = 3
NOTHING = Plan(title="Nothing to do")


def plan(findings: Sequence[Detection], facts: Facts, catalog: Catalog) -> Plan:
    """Return the smallest set of changes after which no finding is left, alternatives in it.

    `findings` are those that count, notes among them are not acted on; `facts` are derived.
    """
    around = Environment(findings, facts, catalog)
    if not around.findings:
        return NOTHING
    drafts = sorted(_drafts(around), key=_cost)
    plans = [_written(draft, around) for draft in _distinct(drafts)]
    plans = [one for one in plans if one.steps]
    if not plans:
        left = tuple(one.id for one in around.findings)
        return Plan(title="No change that doctor knows ends these findings", leaves=left)
    first, *others = plans[:_MOST]
    return msgspec.structs.replace(first, alternatives=tuple(others))


def _drafts(around: Environment) -> Iterator[Draft]:
    found = list(anchors(around.facts, around.knowledge)) or [(KEEP, "")]
    for kind, release in found:
        draft = Search(around, kind, release).draft()
        if draft is not None:
            yield draft
        if kind == KEEP and "torch" in around.here:
            less = _without(around, kind, release)
            if less is not None:
                yield less


def _without(around: Environment, kind: str, release: str) -> Draft | None:
    """Return the draft that does without companions for which this torch has none."""
    needed = {need.name for needs in around.needs_of.values() for need in needs}
    companions = {
        name
        for name in around.compiled + tuple(around.needs_of)
        if name not in needed and around.knowledge.releases(name) and name != "torch"
    }
    return Search(around, kind, release, expendable=companions).draft()


def _cost(draft: Draft) -> tuple[int, int, int, int]:
    order = (KEEP, ASKED, NEWEST).index(draft.anchor)
    return len(draft.left), len(draft.changes.removed), len(draft.moves) + len(draft.wishes), order


def _distinct(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield drafts that differ in kind: another torch, or something goes."""
    seen: set[tuple[str, bool]] = set()
    fewest: int | None = None
    for draft in drafts:
        kind = (draft.changes.moved.get("torch", ""), bool(draft.changes.removed))
        fewest = len(draft.left) if fewest is None else fewest
        if kind not in seen and len(draft.left) <= fewest:
            seen.add(kind)
            yield draft


def _written(draft: Draft, around: Environment) -> Plan:
    steps = steps_of(draft, around)
    return Plan(
        title=_title(draft, around),
        steps=steps,
        changes=tuple(_changes(draft, around)),
        solves=draft.solved,
        leaves=draft.left,
        notes=tuple(_notes(draft)),
        cost=Cost(sudo=any(step.sudo for step in steps), reboot=any(step.reboot for step in steps)),
    )


def _changes(draft: Draft, around: Environment) -> Iterator[Change]:
    for name, pick in sorted(draft.picks.items()):
        before = around.here.get(name)
        after = None if pick.gone else pick.version or pick.ranges or "the newest that fits"
        yield Change(name=name, before=public(before) if before else None, after=after)
    for name in sorted(draft.changes.written - draft.picks.keys()):
        here = around.here.get(name)
        yield Change(name=name, before=here, after=here)


def _title(draft: Draft, around: Environment) -> str:
    torch = draft.changes.moved.get("torch")
    here = around.here.get("torch")
    others = [name for name in draft.picks if name != "torch"]
    beside = f", and move {_named(others)} to what goes with it" if others else ""
    if torch and draft.anchor == NEWEST:
        return f"Move torch to {torch}, the newest that every companion has a wheel for{beside}"
    if torch:
        return f"Move torch to {torch}, which the packages here ask for{beside}"
    if len(draft.wishes) == 1 and not others:
        return next(iter(draft.wishes.values())).fix.title
    if others and here:
        return f"Keep torch {public(here)}{beside}"
    titles = [wish.fix.title for wish in draft.wishes.values()]
    return titles[0] if titles else f"Move {_named(others)}"


def _named(names: Sequence[str]) -> str:
    shown = list(names[:3])
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown)} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _notes(draft: Draft) -> Iterator[str]:
    for name, wish in draft.wishes.items():
        for one in wish.fix.use_if:
            yield f"{name}: this holds if {one}."
    if draft.left:
        yield f"Not solved: {', '.join(draft.left)}."
