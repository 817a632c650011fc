"""Answer `doctor plan`: what to install here, confirmed by the installer's own resolver.

The tables exclude builds that the machine cannot run; the installer chooses among the rest, and the
command that is printed is asked once more, exactly as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from doctor.base.versions import minor, public
from doctor.catalog import loading
from doctor.environments.answers import Answer, Conflict, NoAnswer, Resolution, Silence
from doctor.environments.asking import folder_for
from doctor.environments.installer import dry_run
from doctor.environments.inventory import installed_for
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Cost, Plan
from doctor.model.requested import ConflictDocument, Requested
from doctor.model.watching import Watcher
from doctor.observe import observation as observation_stage
from doctor.observe import selection
from doctor.pipeline.assumptions import parse_assumptions
from doctor.planning.requests_builds import Build
from doctor.planning.requests_commands import (
    flash_wheel,
    install,
    make_environment,
    platform_of,
    python_in_new,
    torch_specifier,
)
from doctor.planning.requests_place import Place, place_of
from doctor.planning.requests_solver import Allowed, Excluded, Wish, allowed
from doctor.planning.requests_ways import Way, ways_out
from doctor.repair.request_files import from_file, from_text, merged

_FLASH = "flash-attn"
_FAMILY = frozenset({"torch", "torchvision", "torchaudio"})
_NETWORK = frozenset({Silence.NETWORK, Silence.TIMEOUT, Silence.NO_INSTALLER})

_BUILD_TOOLS = ("setuptools", "wheel", "packaging", "ninja", "psutil")
"""What setup.py of flash-attn imports."""
_COMPILED = (
    "one of them has no wheel for this Python and system: the installer compiles it here, by a "
    "script of its source, which doctor does not run"
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


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to install: an environment, or a new one of this machine or of another."""

    host: Host
    place: Place
    python: str
    is_new: bool
    is_elsewhere: bool
    uv: bool


def plan(
    request: PlanRequest,
    watcher: Watcher | None = None,
    host: Host | None = None,
) -> Requested:
    """Answer a request.

    Raises UsageError for a mistake in it, another DoctorError where nothing can be examined.
    """
    host, watcher = host or Host(), watcher or Watcher()
    catalog = loading.load()
    wishes = _wishes(request, host)
    declared = parse_assumptions(request.assume, loading.load, elsewhere=True)
    seen = observation_stage.observe(
        observation_stage.Request(
            host=host,
            project=selection.folder(request.project),
            python=request.python,
            bounds=observation_stage.Bounds(canaries=False),
            assumed=declared,
        ),
        watcher,
    )
    target = _target(request, seen.facts, catalog, host, set(declared))
    return _answer(wishes, target, catalog, request, watcher)


def _wishes(request: PlanRequest, host: Host) -> tuple[Wish, ...]:
    wishes = [from_text(one) for one in request.requirements]
    wishes += [wish for file in request.files for wish in from_file(file, host)]
    # The name cupy is for a build from source; its wheels have the CUDA in the name.
    return merged(wishes)


def _target(
    request: PlanRequest, facts: Facts, catalog: Catalog, host: Host, declared: set[str]
) -> _Target:
    place = place_of(facts, catalog, request.python_version)
    here = str(value_of(facts, "python.version") or "")
    is_elsewhere = bool(declared & {"host.os", "host.glibc", "python.version", "metal.macos"})
    is_other = bool(request.python_version) and minor(here) != minor(place.python)
    closed = value_of(facts, "python.externally_managed") is True
    return _Target(
        host=host,
        place=place,
        python=str(value_of(facts, "python.executable") or "python3"),
        is_new=is_elsewhere or is_other or closed,
        is_elsewhere=is_elsewhere,
        uv=host.which("uv") is not None,
    )


def _answer(
    wishes: tuple[Wish, ...],
    target: _Target,
    catalog: Catalog,
    request: PlanRequest,
    watcher: Watcher,
) -> Requested:
    asked = Requested(requests=tuple(wish.text for wish in wishes), machine=target.place.words)
    told = allowed(wishes, catalog, target.place)
    if isinstance(told, Excluded):
        conflict = ConflictDocument(rules=told.rules)
        ways = ways_out(told, wishes, catalog, target.place)
        return _with_ways(msgspec.structs.replace(asked, conflict=conflict), ways, target, catalog,
                          request, watcher)  # fmt: skip
    watcher.running(("the installer",), 0.0)
    found = _resolved(wishes, target, told, catalog, offline=request.offline)
    if isinstance(found, Conflict):
        conflict = ConflictDocument(rules=_explained(found, told), statement=found.text)
        excluded = Excluded(rules=("", ""), kind=_kind(found), name="")
        ways = ways_out(excluded, wishes, catalog, target.place)
        return _with_ways(msgspec.structs.replace(asked, conflict=conflict), ways, target, catalog,
                          request, watcher)  # fmt: skip
    made, fault, packages = found
    return msgspec.structs.replace(asked, plan=made, fault=fault, packages=packages)


def _with_ways(
    asked: Requested,
    ways: Sequence[Way],
    target: _Target,
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
        wishes = tuple(wish for wish in way.wishes if wish.name != way.source)
        told = allowed(wishes, catalog, way.place)
        if isinstance(told, Excluded):
            continue
        found = _resolved(wishes, there, told, catalog, offline=request.offline)
        if isinstance(found, Conflict):
            continue
        made = msgspec.structs.replace(found[0], title=way.title, alternatives=())
        if way.source:
            made = _with_source(made, way, there)
        plans.append(made)
    return msgspec.structs.replace(asked, ways_out=tuple(plans))


def _with_source(made: Plan, way: Way, target: _Target) -> Plan:
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


def _resolved(
    wishes: Sequence[Wish], target: _Target, told: Allowed, catalog: Catalog, *, offline: bool
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
    every = [str(row["torch"]) for row in catalog.tables["torch"].rows]
    limit = f"torch{torch_specifier(builds, every)}" if builds else ""
    if offline:
        return _by_tables(texts, target, builds, index), "", {}
    first = _ask(texts, target, limit, index)
    if isinstance(first, Conflict):
        return first
    if isinstance(first, NoAnswer):
        return _unasked(first, texts, target, builds, index)
    before = {} if target.is_new else installed_for(target.python, target.host) or {}
    after = _after(before, first.changes)
    pins = [_pin(text, after) for text in texts]
    pins += [f"torch=={after['torch']}" for _ in [0] if _moves("torch", first) and "torch" not in
             {text.split("=")[0] for text in pins}]  # fmt: skip
    second = _ask(pins, target, "", index)
    answer = second if isinstance(second, Resolution) else first
    made = _plan(pins, target, answer, index)
    if flash:
        made = _with_flash(made, flash, told, after, target, index)
    notes = (*made.notes, *_why_not_newest(told, after))
    return msgspec.structs.replace(made, notes=notes), "", after


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


def _plan(pins: Sequence[str], target: _Target, answer: Resolution, index: str) -> Plan:
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
    made: Plan, flash: Wish, told: Allowed, after: dict[str, str], target: _Target, index: str
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
    answer = _ask([wheel, f"torch=={after['torch']}"], target, "", index)
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
    if newer and newer[0][0].release > public(after["torch"]):
        rule = newer[0][1]
        return (f"not a later torch: {rule.asks}, and {rule.has}",)
    return ()


def _by_tables(texts: Sequence[str], target: _Target, builds: Sequence[Build], index: str) -> Plan:
    """Return a plan that no installer confirmed: the requests, and the newest torch that fits."""
    pins = [f"torch=={builds[0].release}" if text == "torch" and builds else text for text in texts]
    made = _plan(pins, target, Resolution(changes=(Change(name="torch"),)), index)
    return msgspec.structs.replace(made, changes=(), resolved=False)


def _unasked(
    said: NoAnswer, texts: Sequence[str], target: _Target, builds: Sequence[Build], index: str
) -> tuple[Plan, str, dict[str, str]]:
    made = _by_tables(texts, target, builds, index)
    last = (said.text.splitlines() or [""])[-1].strip()
    if said.why is Silence.NEEDS_BUILD:
        note = _COMPILED
        return msgspec.structs.replace(made, notes=(*made.notes, note)), "", {}
    who = "the index" if said.why is Silence.NETWORK else "the installer"
    return made, f"{who} could not be asked ({said.why.value}): {last}", {}


def _ask(requirements: Sequence[str], target: _Target, limit: str, index: str) -> Answer:
    """Ask the installer of the target, for this machine or another."""
    with folder_for(target.host.env) as folder:
        options: list[str] = []
        if limit:
            (folder / "limits.txt").write_text(limit + "\n", encoding="utf-8")
            options += ["-c", str(folder / "limits.txt")]
        env: dict[str, str] = {}
        if target.is_new:
            options += ["--target", str(folder / "new"), "--python-version", target.place.python]
            options += _of_platform(target)
            if target.place.os == "macos":
                env["MACOSX_DEPLOYMENT_TARGET"] = target.place.macos or "14.0"
        options += ["--index-url", index] if index else []
        start = ("uv", "pip", "install") if target.uv else (target.python, "-m", "pip", "install")
        where = ("--python", target.python) if target.uv else ()
        command = Command(argv=(*start, *where, *options, *requirements), env=env)
        return dry_run(command, target.host)


def _of_platform(target: _Target) -> list[str]:
    if not target.uv:
        return ["--only-binary", ":all:"]
    return ["--python-platform", platform_of(target.place)] if target.is_elsewhere else []
