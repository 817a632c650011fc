"""Ask the installer for what the tables allow, and for the very command that is printed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.base.versions import parse, public
from doctor.environments.answers import Answer, Conflict, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import folder_for
from doctor.environments.installer import dry_run
from doctor.environments.inventory import installed_for
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Cost, Plan
from doctor.planning.requests_builds import Build, order
from doctor.planning.requests_commands import (
    flash_wheel,
    from_index,
    install,
    make_environment,
    pip_platforms,
    platform_of,
    python_in_new,
    torch_specifier,
)
from doctor.planning.requests_pairs import Clash, clashes
from doctor.planning.requests_place import Place
from doctor.planning.requests_solver import Allowed, RequestedRelease
from doctor.repair.request_files import from_text

_FLASH = "flash-attn"
_TRIES = 3
LATER = "not a later torch:"
"""What a note begins with that says why the newest torch was not chosen."""
_COMPILED = (
    "one of them has no wheel for this Python and system: the installer compiles it here, by a "
    "script of its source, which doctor does not run"
)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to install: an environment, or a new one of this machine or of another."""

    host: Host
    place: Place
    python: str
    is_new: bool
    is_elsewhere: bool
    uv: bool


def resolved(
    wishes: Sequence[RequestedRelease],
    target: Target,
    told: Allowed,
    catalog: Catalog,
    *,
    offline: bool,
) -> tuple[Plan, str, dict[str, str]] | Conflict:
    """Return the plan that the installer confirms, why it could not, and all releases."""
    own = [build for build in told.builds if not build.index]
    index = "" if own or not told.builds else told.builds[0].index
    flash = next((one for one in wishes if one.name == _FLASH and not one.address), None)
    builds = own or [one for one in told.builds if one.index == index]
    rest = [wish for wish in wishes if wish is not flash]
    texts = [wish.text for wish in rest]
    if flash and not any(wish.name == "torch" for wish in rest):
        texts.append("torch")
    limits = _limits(wishes, builds, catalog)
    if offline:
        return _by_tables(texts, target, builds, index), "", {}
    before = {} if target.is_new else installed_for(target.python, target.host) or {}
    first = _ask(texts, target, limits, index)
    if isinstance(first, Resolution) and _is_early(rest, _after(before, first.changes)):
        first = _ask(texts, target, limits, index, early=False)
    found: list[Clash] = []
    avoided: list[Clash] = []
    for _ in range(_TRIES):
        if not isinstance(first, Resolution):
            break
        found = list(clashes(_after(before, first.changes), catalog, _pinned(wishes)))
        more = [one.limit for one in found if one.limit and one.limit not in limits]
        other = _ask(texts, target, [*limits, *more], index) if more else None
        if not isinstance(other, Resolution):
            break
        limits, first = [*limits, *more], other
        avoided += [one for one in found if one.limit in more]
    if isinstance(first, Conflict):
        return first
    if isinstance(first, NoAnswer):
        return _unasked(first, texts, target, builds, index)
    after = _after(before, first.changes)
    named = {from_text(text).name for text in texts}
    held = [one.partition("<")[0].partition(">")[0] for one in limits]
    more = [name for name in ("torch", *held) if _moves(name, first) and name not in named]
    pins = [_pin(text, after) for text in (*texts, *dict.fromkeys(more))]
    # pip downloads whole wheels where an index does not serve their metadata alone (PEP 658).
    second = _ask(pins, target, [], index) if target.uv else first
    answer = second if isinstance(second, Resolution) else first
    made = _plan(pins, target, answer, index)
    if flash:
        made = _with_flash(made, flash, told, after, target, index)
    notes = (*_why_not_newest(told, after), *map(_clash_note, dict.fromkeys((*avoided, *found))))
    return msgspec.structs.replace(made, notes=(*made.notes, *notes)), "", after


def _is_early(wishes: Sequence[RequestedRelease], after: dict[str, str]) -> bool:
    """Say whether a pre-release was chosen that nobody asked for.

    An installer takes one where no release has a wheel, of any age.
    """
    chosen = (parse(after.get(wish.name, "")) for wish in wishes if not wish.specifier)
    return any(version is not None and version.is_prerelease for version in chosen)


def _pinned(wishes: Sequence[RequestedRelease]) -> frozenset[str]:
    return frozenset(wish.name for wish in wishes if wish.specifier)


def _limits(
    wishes: Sequence[RequestedRelease], builds: Sequence[Build], catalog: Catalog
) -> list[str]:
    """Return constraints: the torch that this machine runs, and nothing older than the tables.

    A resolver that may go back for ever ends at releases that nobody uses any more.
    """
    table = catalog.tables.get("torch")
    every = [str(row["torch"]) for row in table.rows] if table else []
    limits = [f"torch{torch_specifier(builds, every)}"] if builds else []
    for wish in wishes:
        oldest = _oldest(wish.name, catalog)
        if oldest and not wish.specifier and wish.name not in ("torch", _FLASH):
            limits.append(f"{wish.name}>={oldest}")
    return limits


def _oldest(name: str, catalog: Catalog) -> str:
    """Return the oldest release that the table of a package knows; empty without a table."""
    table = catalog.tables.get(name)
    key = next((one for one, column in table.columns.items() if column.key), "") if table else ""
    cells = [row.get(key) for row in table.rows] if table else []
    flat = [one for cell in cells for one in (cell if isinstance(cell, list | tuple) else [cell])]
    texts = [str(one.get("from") or "") if isinstance(one, dict) else str(one) for one in flat]
    known = [text for text in texts if parse(text)]
    return min(known, key=order) if known and key == name else ""


def _clash_note(one: Clash) -> str:
    if one.limit:
        return f"{one.limit}, because of the known issue {one.issue}: {one.title}"
    return f"known issue {one.issue}: {one.title}"


def _moves(name: str, answer: Resolution) -> bool:
    return any(change.name == name for change in answer.changes)


def _after(before: dict[str, str], changes: Sequence[Change]) -> dict[str, str]:
    after = dict(before)
    for change in changes:
        if change.after is None:
            after.pop(change.name, None)
        else:
            after[change.name] = change.after
    return dict(sorted(after.items()))


def _pin(text: str, after: dict[str, str]) -> str:
    wish = from_text(text)
    if wish.address or wish.name not in after:
        return text
    extras = f"[{','.join(wish.extras)}]" if wish.extras else ""
    return f"{wish.name}{extras}=={after[wish.name]}"


def _plan(pins: Sequence[str], target: Target, answer: Resolution, index: str) -> Plan:
    python = python_in_new(target.place) if target.is_new else target.python
    first = (make_environment(target.place, uv=target.uv),) if target.is_new else ()
    command = install(pins, python, uv=target.uv, index=index)
    steps = () if answer.is_no_op else (*first, Step(command=command))
    return Plan(
        title="Nothing to do: all of it is installed" if answer.is_no_op else "Install",
        steps=steps,
        changes=answer.changes,
        cost=Cost(download_bytes=answer.download_bytes),
        resolved=True,
    )


def _with_flash(
    made: Plan,
    flash: RequestedRelease,
    told: Allowed,
    after: dict[str, str],
    target: Target,
    index: str,
) -> Plan:
    """Add the published wheel of flash-attn for the torch that was chosen."""
    torch = public(after.get("torch", ""))
    pair = next(
        ((build, beside) for build, beside in zip(told.builds, told.beside, strict=True)
         if build.release == torch and build.index == index),
        None,
    )  # fmt: skip
    if pair is None or _FLASH not in pair[1]:
        return made
    build, version = pair[0], pair[1][_FLASH]
    wheel = flash_wheel(version, build, target.place)
    python = python_in_new(target.place) if target.is_new else target.python
    command = install([wheel], python, uv=target.uv)
    answer = _ask([wheel, f"torch=={after['torch']}"], target, [], index)
    note = (
        ""
        if isinstance(answer, Resolution)
        else f"the wheel of flash-attn {version} comes from the list of its releases: GitHub was "
        "not asked, or does not answer from here"
    )
    changes = answer.changes if isinstance(answer, Resolution) else (
        *made.changes, Change(name=_FLASH, after=version))  # fmt: skip
    return msgspec.structs.replace(
        made,
        steps=(*made.steps, Step(title=f"flash-attn {flash.specifier}".strip(), command=command)),
        changes=changes,
        notes=(*made.notes, *([note] if note else [])),
    )


def _why_not_newest(told: Allowed, after: dict[str, str]) -> tuple[str, ...]:
    """Say why the newest torch is not the one that was chosen."""
    if "torch" not in after:
        return ()
    newer = [(build, rule) for build, rule in told.excluded if not build.index]
    if newer and order(newer[0][0].release) > order(public(after["torch"])):
        rule = newer[0][1]
        return (f"{LATER} {rule.asks}, and {rule.has}",)
    return ()


def _by_tables(texts: Sequence[str], target: Target, builds: Sequence[Build], index: str) -> Plan:
    """Return a plan that no installer confirmed: the requests, and the newest torch that fits."""
    pins = [f"torch=={builds[0].release}" if text == "torch" and builds else text for text in texts]
    made = _plan(pins, target, Resolution(changes=(Change(name="torch"),)), index)
    return msgspec.structs.replace(made, changes=(), resolved=False)


def _unasked(
    said: NoAnswer, texts: Sequence[str], target: Target, builds: Sequence[Build], index: str
) -> tuple[Plan, str, dict[str, str]]:
    made = _by_tables(texts, target, builds, index)
    last = (said.text.splitlines() or [""])[-1].strip()
    if said.why is NoAnswerReason.NEEDS_BUILD:
        note = _COMPILED
        return msgspec.structs.replace(made, notes=(*made.notes, note)), "", {}
    who = "the index" if said.why is NoAnswerReason.NETWORK else "the installer"
    return made, f"{who} could not be asked ({said.why.value}): {last}", {}


def _ask(
    requirements: Sequence[str],
    target: Target,
    limits: Sequence[str],
    index: str,
    *,
    early: bool = True,
) -> Answer:
    """Ask the installer of the target, for this machine or another."""
    with folder_for(target.host.env) as folder:
        options: list[str] = []
        if limits:
            (folder / "limits.txt").write_text("\n".join(limits) + "\n", encoding="utf-8")
            options += ["-c", str(folder / "limits.txt")]
        env: dict[str, str] = {}
        if target.is_new:
            options += ["--target", str(folder / "new"), "--python-version", target.place.python]
            options += _of_platform(target)
            if target.place.os == "macos":
                env["MACOSX_DEPLOYMENT_TARGET"] = target.place.macos or "14.0"
        if not early:
            options += ["--prerelease", "disallow"] if target.uv else []
        options += from_index(index, uv=target.uv)
        start = ("uv", "pip", "install") if target.uv else (target.python, "-m", "pip", "install")
        where = ("--python", target.python) if target.uv else ()
        command = Command(argv=(*start, *where, *options, *requirements), env=env)
        return dry_run(command, target.host)


def _of_platform(target: Target) -> list[str]:
    if target.uv:
        return ["--python-platform", platform_of(target.place)] if target.is_elsewhere else []
    tags = pip_platforms(target.place) if target.is_elsewhere else ()
    return ["--only-binary", ":all:", *(part for tag in tags for part in ("--platform", tag))]
