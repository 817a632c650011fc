"""Answer `doctor plan`: what to install here, confirmed by the installer's own resolver.

The tables exclude builds that the machine cannot run; the installer chooses among the rest, and the
command that is printed is asked once more, exactly as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from doctor.base.versions import major, minor
from doctor.catalog import loading
from doctor.environments.answers import Conflict
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Step
from doctor.model.observation import TargetKind
from doctor.model.plans import Plan
from doctor.model.requested import ConflictDocument, Requested
from doctor.model.watching import Watcher
from doctor.observe import observation as observation_stage
from doctor.observe import selection
from doctor.pipeline.assumptions import parse_assumptions
from doctor.planning.requests_commands import (
    install,
    make_environment,
    python_in_new,
)
from doctor.planning.requests_pairs import clashes
from doctor.planning.requests_place import Place, place_of
from doctor.planning.requests_solver import Allowed, Excluded, RequestedRelease, allowed
from doctor.planning.requests_ways import WayOut, ways_out
from doctor.repair.request_files import from_file, from_text, merged
from doctor.repair.request_resolving import LATER, Target, resolved

_BY_CHANCE = (" on PATH", "nothing else was found")
"""How doctor says that nobody named an interpreter: nothing is installed into that one."""
_BUILD_TOOLS = ("setuptools", "wheel", "packaging", "ninja", "psutil")
"""What setup.py of flash-attn imports."""

_FLASH = "flash-attn"
_NOT_LOOKED_UP = (
    "the commands leave out flash-attn: whether a wheel of it fits can be seen only without "
    "--offline"
)


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One `doctor plan`: requirements and where they stand, and the machine.

    `offline` judges by the tables alone, and starts no installer.
    """

    requirements: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    python: str | None = None
    python_version: str = ""
    project: Path = Path()
    assume: tuple[str, ...] = ()
    offline: bool = False


def plan(
    request: PlanRequest,
    watcher: Watcher | None = None,
    host: Host | None = None,
) -> Requested:
    """Answer a request.

    Raises UsageError for a mistake in it, another DoctorError where nothing can be examined.
    """
    (found,) = plan_each([request], watcher, host)
    return found


def plan_each(
    requests: Sequence[PlanRequest], watcher: Watcher | None = None, host: Host | None = None
) -> list[Requested]:
    """Answer requests that differ only in what is asked for; the machine is examined once."""
    host, watcher, first = host or Host(), watcher or Watcher(), requests[0]
    catalog = loading.load()
    asked = [_wishes(request, host) for request in requests]
    declared = parse_assumptions(first.assume, loading.load, elsewhere=True)
    seen = observation_stage.observe(
        observation_stage.Request(
            host=host,
            project=selection.folder(first.project),
            python=first.python,
            bounds=observation_stage.Bounds(canaries=False),
            assumed=declared,
        ),
        watcher,
    )
    by_chance = not any(one.kind is TargetKind.INTERPRETER for one in seen.targets) or any(
        one.chosen_by.endswith(_BY_CHANCE) for one in seen.targets
    )
    target = _target(first, seen.facts, catalog, host, set(declared), is_new=by_chance)
    return [
        _answer(wishes, target, catalog, request, watcher)
        for wishes, request in zip(asked, requests, strict=True)
    ]


def _wishes(request: PlanRequest, host: Host) -> tuple[RequestedRelease, ...]:
    wishes = [from_text(one) for one in request.requirements]
    wishes += [wish for file in request.files for wish in from_file(file, host)]
    return merged(wishes)


def _target(
    request: PlanRequest,
    facts: Facts,
    catalog: Catalog,
    host: Host,
    declared: set[str],
    *,
    is_new: bool,
) -> Target:
    place = place_of(facts, catalog, request.python_version)
    here = str(value_of(facts, "python.version") or "")
    is_elsewhere = bool(declared & {"host.os", "host.glibc", "host.machine", "python.version"})
    is_other = bool(request.python_version) and minor(here) != minor(place.python)
    closed = value_of(facts, "python.externally_managed") is True
    return Target(
        host=host,
        place=place,
        python=str(value_of(facts, "python.executable") or "python3"),
        is_new=is_new or is_elsewhere or is_other or closed,
        is_elsewhere=is_elsewhere,
        uv=host.which("uv") is not None,
    )


def _answer(
    wishes: tuple[RequestedRelease, ...],
    target: Target,
    catalog: Catalog,
    request: PlanRequest,
    watcher: Watcher,
) -> Requested:
    asked = Requested(requests=tuple(wish.text for wish in wishes), machine=target.place.words)
    is_open = request.offline and any(wish.name == _FLASH for wish in wishes)
    if is_open:
        # Whoever has no wheel of it compiles it: without the installer that is no conflict.
        wishes = tuple(wish for wish in wishes if wish.name != _FLASH)
        if not wishes:
            return msgspec.structs.replace(
                asked, plan=Plan(title="No answer without the installer", notes=(_NOT_LOOKED_UP,))
            )
    told = allowed(wishes, catalog, target.place)
    if not isinstance(told, Excluded):
        wishes = tuple(_renamed(wish, told, target.place) for wish in wishes)
        told = allowed(wishes, catalog, target.place)
    if isinstance(told, Excluded):
        conflict = ConflictDocument(rules=told.rules)
        ways = ways_out(told, wishes, catalog, target.place)
        return _with_ways(msgspec.structs.replace(asked, conflict=conflict), ways, target, catalog,
                          request, watcher)  # fmt: skip
    if request.offline and (clash := _clash(wishes, catalog)):
        return msgspec.structs.replace(asked, conflict=clash)
    watcher.running(("the installer",), 0.0)
    found = resolved(wishes, target, told, catalog, offline=request.offline)
    if isinstance(found, Conflict):
        conflict = ConflictDocument(rules=_explained(found, told), statement=found.text)
        excluded = Excluded(rules=("", ""), kind=_kind(found), name="")
        ways = ways_out(excluded, wishes, catalog, target.place)
        return _with_ways(msgspec.structs.replace(asked, conflict=conflict), ways, target, catalog,
                          request, watcher)  # fmt: skip
    made, fault, packages = found
    if is_open:
        made = msgspec.structs.replace(made, notes=(*made.notes, _NOT_LOOKED_UP))
    return msgspec.structs.replace(asked, plan=made, fault=fault, packages=packages)


def _clash(wishes: Sequence[RequestedRelease], catalog: Catalog) -> ConflictDocument | None:
    """Return two pins that a known issue says do not work together."""
    pins = {wish.name: wish.specifier[2:] for wish in wishes if wish.specifier.startswith("==")}
    for one in clashes(pins, catalog, pins):
        rules = tuple(wish.words for wish in wishes if wish.name in one.packages)
        return ConflictDocument(rules=rules, statement=f"{one.issue}: {one.title}")
    return None


def _renamed(wish: RequestedRelease, told: Allowed, place: Place) -> RequestedRelease:
    """Return cupy under the name of its wheel: cupy itself is its source alone."""
    if wish.name != "cupy" or wish.address:
        return wish
    build = next((one for one in told.builds if one.cuda), None)
    kind = str(major(build.cuda) if build else 13)
    del place
    name = f"cupy-cuda{kind}x"
    return msgspec.structs.replace(wish, name=name, text=f"{name}{wish.specifier}")


def _with_ways(
    asked: Requested,
    ways: Sequence[WayOut],
    target: Target,
    catalog: Catalog,
    request: PlanRequest,
    watcher: Watcher,
) -> Requested:
    """Add the ways out that the installer confirms."""
    plans: list[Plan] = []
    for way in ways:
        watcher.running(("the installer, for a way out",), 0.0)
        is_other = way.place.python_minor != target.place.python_minor
        there = msgspec.structs.replace(target, place=way.place, is_new=target.is_new or is_other)
        if way.backend:
            plans += _with_backend(way, there)
            continue
        wishes = tuple(wish for wish in way.wishes if wish.name != way.source)
        told = allowed(wishes, catalog, way.place)
        if isinstance(told, Excluded):
            continue
        offline = request.offline or not target.uv
        found = resolved(wishes, there, told, catalog, offline=offline)
        if isinstance(found, Conflict):
            continue
        notes = tuple(one for one in found[0].notes if not one.startswith(LATER))
        made = msgspec.structs.replace(found[0], title=way.title, notes=notes)
        if way.source:
            made = _with_source(made, way, there)
        if all(made.steps != one.steps for one in plans):
            plans.append(made)
    return msgspec.structs.replace(asked, ways_out=tuple(plans))


def _with_backend(way: WayOut, target: Target) -> list[Plan]:
    """Return the plan for another vendor's GPU: uv looks there which index is the right one."""
    if not target.uv:
        return []
    python = python_in_new(target.place) if target.is_new else target.python
    texts = [wish.text for wish in way.wishes]
    options = f"--torch-backend {way.backend}"
    steps = [make_environment(target.place, uv=True)] if target.is_new else []
    steps.append(Step(command=install(texts, python, uv=True, options=options)))
    return [Plan(title=way.title, steps=tuple(steps))]


def _with_source(made: Plan, way: WayOut, target: Target) -> Plan:
    """Add the step that compiles a package."""
    wish = next(one for one in way.wishes if one.name == way.source)
    python = python_in_new(target.place) if target.is_new else target.python
    command = install([wish.text], python, uv=target.uv, options="--no-build-isolation")
    tools = install(_BUILD_TOOLS, python, uv=target.uv)
    steps = (
        Step(command=tools),
        Step(command=msgspec.structs.replace(command, env={"MAX_JOBS": "4"})),
    )
    return msgspec.structs.replace(made, steps=(*made.steps, *steps), resolved=False)


def _kind(found: Conflict) -> str:
    told = any("this is Python" in one or "this is cp" in one for one in found.rules)
    return "python" if told else ""


def _explained(found: Conflict, told: Allowed) -> tuple[str, ...]:
    """Return the rules; those that the tables gave to the resolver in the words of the tables."""
    rules = []
    for rule in found.rules:
        is_ours = rule.startswith("you require torch") and told.excluded
        rules.append(_of_excluded(told) if is_ours else rule)
    return tuple(rules) or (found.text.splitlines()[0] if found.text else "",)


def _of_excluded(told: Allowed) -> str:
    rule = told.excluded[0][1]
    return f"{rule.asks}, and {rule.has}"
