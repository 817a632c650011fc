"""One plan for all findings of a target: pure, without network and processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from doctor.base.text import enumerate_words
from doctor.base.versions import public
from doctor.fixes.environments import above_note, closed
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Cost, Plan
from doctor.planning.anchors import ASKED, KEEP, NEWEST, anchors
from doctor.planning.askers import Way
from doctor.planning.environment import Environment, is_same
from doctor.planning.goals import is_opaque
from doctor.planning.indexes import leaves_cuda
from doctor.planning.resolver import Pick
from doctor.planning.search import Draft, Search
from doctor.planning.steps import steps_of

_OF = {"torch", "torchvision", "torchaudio"}
"""What a fix for torch may move."""
SYNC = "sync"
"""The anchor of a plan that puts back what a lock file says."""
_MOST = 3
_LIBRARIES = 15
NOTHING = Plan(title="Nothing to do")


def plan(findings: Sequence[Detection], facts: Facts, catalog: Catalog) -> Plan:
    """Return the smallest set of changes after which no finding is left, alternatives in it.

    `findings` are those that count, notes among them are not acted on; `facts` are derived.
    """
    around = Environment(findings, facts, catalog)
    if not around.findings:
        return NOTHING
    drafts = sorted(_drafts(around), key=lambda draft: _cost(draft, around))
    drafts = [one for one in drafts if not is_loss(one)]
    plans = [_written(draft, around) for draft in _distinct(drafts) if not _leaves(draft, around)]
    plans = [one for one in plans if one.steps]
    if not plans:
        left = tuple(one.id for one in around.findings)
        return Plan(title="No change that doctor knows ends these findings", leaves=left)
    first, *others = plans[:_MOST]
    return msgspec.structs.replace(first, alternatives=tuple(others))


def _drafts(around: Environment) -> Iterator[Draft]:
    wanted = around.is_torch_wanted
    found = list(anchors(around.facts, around.knowledge, wanted=wanted))
    if all(kind != KEEP for kind, _ in found):
        found.insert(0, (KEEP, ""))  # no torch of the plan's own, only what a fix asks for
    if not around.is_torch_in_question:
        found = found[:1]
    if (synced := _synced(around) or _as_locked(around)) is not None:
        yield synced
    stays = False
    for kind, release in found:
        if kind == NEWEST and stays:
            continue
        draft = Search(around, kind, release).draft()
        if around.pinned and (draft is None or draft.left):
            freed = Search(around, kind, release, free=True).draft()
            if freed is not None and (draft is None or len(freed.left) < len(draft.left)):
                draft = freed
        if draft is not None:
            yield draft
            stays = stays or (kind == KEEP and not draft.left)
        if kind == KEEP:
            yield from _otherwise(around, kind, release)


def _otherwise(around: Environment, kind: str, release: str) -> Iterator[Draft]:
    """Yield drafts with the same torch: the other way to a requirement, or without companions."""
    others = []
    if around.ways:
        others.append(Search(around, kind, release, less_likely=True).draft())
    if "torch" in around.here:
        others.append(_without(around, kind, release))
    yield from (other for other in others if other is not None)


def _synced(around: Environment) -> Draft | None:
    """Return the draft that puts back what uv.lock says, where the environment departed from it."""
    lock = str(value_of(around.facts, "python.lock") or "")
    differs = value_of(around.facts, "python.lock_differs")
    if not lock.endswith("uv.lock") or not isinstance(differs, dict):
        return None
    folder = lock.removesuffix("uv.lock").rstrip("/\\") or None
    step = Step(command=Command(argv=("uv", "sync", "--inexact"), cwd=folder))
    picks = {
        str(name): Pick(str(name), public(str(version)))
        for name, version in differs.items()
        if version
    }
    return Search(around, SYNC, "").of(picks, (step,)) if picks else None


def _as_locked(around: Environment) -> Draft | None:
    """Return the draft that installs what uv.lock says, where `uv sync` does not reach.

    That is an environment of the project outside of its folder. `uv sync` makes an environment
    anew whose Python it does not like, so that it is not let loose on another one than `.venv`.
    """
    if value_of(around.facts, "python.lock"):
        return None
    listed = value_of(around.facts, "project.locked")
    releases = {**listed} if isinstance(listed, dict) else {}
    picks = {
        name: Pick(name, release)
        for name, release in releases.items()
        if name in around.here
        and not is_same(around.here[name], release)
        and is_same(around.asked_release[name], release)
    }
    # A local part names an index that only the project knows.
    is_plain = not any("+" in pick.version for pick in picks.values())
    return Search(around, SYNC, "").of(picks, ()) if picks and is_plain else None


def _departures(draft: Draft, around: Environment) -> list[str]:
    """Return the packages that a draft moves away from the release that the project pins."""
    return sorted(
        name
        for name, release in around.pinned.items()
        if name in draft.changes.removed
        or (name in draft.picks and not is_same(draft.changes.moved.get(name, ""), release))
    )


def _holds_a_stray(way: Way, around: Environment) -> bool:
    """Say whether a way holds a package that has left the release that the project pins."""
    return any(text.partition("==")[0] in around.strays for text in way.held)


def _without(around: Environment, kind: str, release: str) -> Draft | None:
    """Return the draft that does without companions for which this torch has none."""
    needed = {need.name for needs in around.needs_of.values() for need in needs}
    companions = {
        name
        for name in around.compiled + tuple(around.needs_of)
        if name not in needed and around.knowledge.releases(name) and name != "torch"
    }
    return Search(around, kind, release, expendable=companions).draft()


def _cost(draft: Draft, around: Environment) -> tuple[int, int, bool, int, int, int, int]:
    order = (SYNC, KEEP, ASKED, NEWEST).index(draft.anchor)
    # torch brings some fifteen libraries along.
    libraries = _LIBRARIES if "torch" in draft.moves and draft.anchor != KEEP else 0
    moves = len(draft.moves) + libraries
    own = draft.anchor != SYNC
    cost = moves + len(draft.wishes) - len(draft.ways)
    away = len(_departures(draft, around)) + sum(_holds_a_stray(way, around) for way in draft.ways)
    removed = len(draft.changes.removed)
    return len(draft.left), away, own, removed, cost, draft.against, order


def is_loss(draft: Draft) -> bool:
    """Say whether a draft takes packages away and ends no finding with it."""
    return bool(draft.changes.removed) and not draft.solved and bool(draft.left)


def _leaves(draft: Draft, around: Environment) -> bool:
    """Say whether a draft moves torch to a release that has no build for the CUDA of an image."""
    torch = draft.changes.moved.get("torch", "")
    return bool(torch) and leaves_cuda(around.facts, around.catalog, public(torch))


def _distinct(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield drafts that differ in kind: another torch, something goes, or who asks moves."""
    seen: set[tuple[str, bool, frozenset[str]]] = set()
    fewest: int | None = None
    for draft in drafts:
        kind = (
            draft.changes.moved.get("torch", ""),
            bool(draft.changes.removed),
            frozenset(way.asker for way in draft.ways),
        )
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
        notes=tuple(_notes(draft, around)),
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
    if draft.anchor == SYNC:
        return f"Put back what uv.lock says: {_named(sorted(draft.changes.moved))}"
    torch, here = draft.changes.moved.get("torch"), around.here.get("torch")
    gone = sorted(draft.changes.removed - {"torch"})
    others = [name for name in sorted(draft.changes.moved) if name != "torch"]
    askers = {way.asker for way in draft.ways}
    moved = [name for name in others if name in around.here and name not in askers]
    again = [_release(name, draft, around) for name in sorted(_again(draft, around))]
    new = [_release(name, draft, around) for name in others if not _was(name, around)]
    only = next(iter(draft.wishes.values())) if len(draft.wishes) == 1 else None
    # What is done besides packages stands in the title of the fix alone.
    if only and not again and (not draft.picks or (is_opaque(only) and draft.picks.keys() <= _OF)):
        return only.fix.title
    parts = [f"remove {_named(gone)}"] if gone else []
    parts += [f"install {_named(again)} again"] if again else []
    parts += [f"install {_named(new)}"] if new else []
    parts += [f"move {_named(moved)} to what goes together"] if moved else []
    parts += [way.fix.title[:1].lower() + way.fix.title[1:] for way in draft.ways]
    was = here or value_of(around.facts, "torch.release") or _was("torch", around)
    if torch and "+" in torch and here and public(torch) == public(here):
        parts.insert(0, f"take the build {torch.partition('+')[2]} of torch {public(torch)}")
    elif torch and draft.anchor == KEEP and was:
        parts.insert(0, f"install torch {torch} again")
    elif torch and not here and draft.anchor != ASKED:
        parts.insert(0, f"install torch {torch}")
    elif torch:
        why = (
            "the newest that every companion has a wheel for"
            if draft.anchor == NEWEST
            else "which the packages here ask for"
        )
        verb = f"move torch to {torch}" if here else f"install torch {torch}"
        parts.insert(0, f"{verb}, {why}")
    elif here and (gone or new or others):
        parts.insert(0, f"keep torch {public(here)}")
    parts = parts or [wish.fix.title for wish in draft.wishes.values()][:2] or ["nothing to do"]
    text = ", and ".join((", ".join(parts[:-1]), parts[-1]) if parts[1:] else parts)
    return text[:1].upper() + text[1:]


def _again(draft: Draft, around: Environment) -> frozenset[str]:
    """Return what is installed once more: its files are written again, or were taken away."""
    back = {name for name in draft.changes.moved if name not in around.here and _was(name, around)}
    return frozenset((draft.changes.written - draft.picks.keys()) | (back - {"torch"}))


def _was(name: str, around: Environment) -> bool:
    """Say whether a package is here, or was until an installer was interrupted."""
    return name in around.here or name in around.damaged


def _release(name: str, draft: Draft, around: Environment) -> str:
    release = draft.changes.moved.get(name) or around.here.get(name, "")
    return f"{name} {public(release)}".strip()


def _named(names: Sequence[str]) -> str:
    shown = list(names[:3])
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown)} more"
    return enumerate_words(shown)


def _notes(draft: Draft, around: Environment) -> Iterator[str]:
    for wish in draft.wishes.values():
        if wish.fix.use_if:
            yield f"{wish.fix.title}: only if {' and '.join(wish.fix.use_if)}."
    if away := _departures(draft, around):
        verb = "is" if len(away) == 1 else "are"
        pins = ", ".join(f"{name}=={around.pinned[name]}" for name in away)
        yield f"The project pins {pins}, which {verb} given up: no other plan is known."
    if draft.anchor == SYNC:
        return
    facts = around.facts
    if why := closed(facts):
        yield above_note(why)
    if str(value_of(facts, "python.lock") or "").endswith("uv.lock") and draft.changes.moved:
        yield (
            "Give the releases to `uv add` as well: else the next `uv run` or `uv sync` puts "
            "the locked ones back."
        )
