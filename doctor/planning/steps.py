"""Write a draft as ordered steps: remains, uninstall, install, variables, edits, restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.versions import public
from doctor.facts.devices import texts
from doctor.fixes import installer
from doctor.fixes.environments import above, closed
from doctor.fixes.wishes import Part
from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Command, Step
from doctor.model.issues import Option
from doctor.planning.askers import held_by
from doctor.planning.environment import Environment
from doctor.planning.goals import lines
from doctor.planning.indexes import index_of
from doctor.planning.knowledge import fits_any
from doctor.planning.resolver import Pick
from doctor.planning.search import Draft

_MOST_PINS = 20
"""Of more pins no reader could check the command."""
_OWN_COMMAND = (Option.NO_BUILD_ISOLATION, Option.NO_BINARY, Option.PRE, Option.NO_CACHE)


def steps_of(draft: Draft, around: Environment) -> tuple[Step, ...]:
    """Return the steps of a draft in the order in which they have to run."""
    if draft.steps:
        return draft.steps
    if closed(around.facts) and (draft.picks or draft.changes.written):
        return _above(draft, around)
    facts = around.facts
    own = [part for part in _parts(draft) if part.steps]
    system = [step for part in own for step in part.steps if step.sudo and not step.reboot]
    reboot = [step for part in own for step in part.steps if step.reboot]
    rest = [step for part in own for step in part.steps if not (step.sudo or step.reboot)]
    moves = bool(draft.picks or draft.changes.written)
    blocking, remains = _in_the_way(draft, facts), texts(facts, "python.left_behind")
    swept = {*blocking, *remains} if moves else set[str]()
    kept = [step for step in rest if not _removes(step, swept)]
    before = [step for step in kept if _is_removal(step)]
    after = [step for step in kept if not _is_removal(step)]
    return _each_once(
        (
            *system,
            *(_removal(blocking, facts) if moves else ()),
            *before,
            *_uninstall(draft, around),
            *_install(draft, around, facts),
            *(_removal(remains, facts) if moves else ()),
            *after,
            *reboot,
        )
    )


def _above(draft: Draft, around: Environment) -> tuple[Step, ...]:
    """Return the steps for an environment that this user cannot write to.

    What moves goes into a new one above it, whose packages come first.
    """
    there, make = above(around.facts)
    return (*make, *_each_once([*_install(draft, around, there)]))


def _parts(draft: Draft) -> list[Part]:
    return [part for wish in draft.wishes.values() for part in wish.parts]


def _each_once(steps: Sequence[Step]) -> tuple[Step, ...]:
    unique: list[Step] = []
    for step in steps:
        if step not in unique:
            unique.append(step)
    return tuple(unique)


def _in_the_way(draft: Draft, facts: Facts) -> Sequence[str]:
    """Return the remains that would mislead an installer: stale metadata, files without metadata.

    What pip renamed (`~orch`) misleads none, and is often the only whole copy. It goes last.
    """
    paths = [*texts(facts, "python.stale_metadata")]
    half = value_of(facts, "torch.without_metadata")
    if half and draft.changes.moved.get("torch"):
        paths.append(str(half))  # else files of two releases lie there
    return paths


def _removal(paths: Sequence[str], facts: Facts) -> Iterator[Step]:
    """Yield the removal of what interrupted installers left, by its exact paths."""
    if not paths:
        return
    if value_of(facts, "host.os") == "windows":
        quoted = ",".join("'" + path.replace("'", "''") + "'" for path in paths)
        remove = f"Remove-Item -Recurse -Force -LiteralPath {quoted}"
        argv: tuple[str, ...] = ("powershell", "-NoProfile", "-Command", remove)
    else:
        argv = ("rm", "-rf", *paths)
    yield Step(title="Remove what an interrupted installation left", command=Command(argv=argv))


def _is_removal(step: Step) -> bool:
    argv = step.command.argv if step.command is not None else ()
    return argv[:1] in (("rm",), ("powershell",)) or any("shutil.rmtree" in one for one in argv)


def _removes(step: Step, swept: set[str]) -> bool:
    """Say whether a step removes nothing but what the plan removes anyway."""
    if step.command is None or not _is_removal(step):
        return False
    argv = step.command.argv
    paths = argv[3:] if any("shutil.rmtree" in one for one in argv) else argv[1:]
    return all(one in swept or one.startswith("-") for one in paths)


def _uninstall(draft: Draft, around: Environment) -> Iterator[Step]:
    names = [*draft.changes.removed, *siblings(draft, around), *_of_shared_folders(draft)]
    here = [name for name in dict.fromkeys(sorted(names)) if name in around.here]
    for command in installer.uninstall(here, around.facts) if here else ():
        yield Step(command=command)


def _of_shared_folders(draft: Draft) -> list[str]:
    return [
        name for part in _parts(draft) for name in part.unwanted if name in draft.changes.written
    ]


def siblings(draft: Draft, around: Environment) -> tuple[str, ...]:
    """Return NVIDIA's packages whose folders the torch that comes needs for another generation.

    `nvidia-cudnn-cu12` and `nvidia-cudnn-cu13` unpack into one folder. An installer passes over the
    one that is installed, though the other lies in its place. So both are removed first.
    """
    torch = draft.changes.moved.get("torch")
    row = around.knowledge.torch_rows.get(public(torch)) if torch else None
    if row is None or "cuda" not in row:
        return ()
    wanted = str(row["cuda"]).partition(".")[0]
    families: dict[str, set[str]] = {}
    for name in around.here:
        stem, _, generation = name.rpartition("-cu")
        if stem.startswith("nvidia-") and generation in ("11", "12", "13"):
            families.setdefault(stem, set()).add(generation)
    away = {*texts(around.facts, "cuda_packages.leftover")}
    away |= {one.partition("==")[0] for one in texts(around.facts, "cuda_packages.overwritten")}
    mixed = [
        stem for stem, found in families.items() if len(found) > 1 and f"{stem}-cu{wanted}" in away
    ]
    return tuple(
        f"{stem}-cu{generation}" for stem in sorted(mixed) for generation in sorted(families[stem])
    )


def _install(draft: Draft, around: Environment, facts: Facts) -> Iterator[Step]:
    """Yield one command for all that moves, and one for each that needs an index of its own."""
    apart, extras = _apart(draft), _extras(draft)
    moved = [
        pick for name, pick in sorted(draft.picks.items()) if not pick.gone and name not in apart
    ]
    again = _again(draft, apart)
    held = [text for name, text in held_by(draft.wishes).items() if name not in draft.picks]
    words = [
        *(f"{one.name}{extras.get(one.name, '')}{_range(one)}" for one in moved),
        *(f"{name}{extras.get(name, '')}{text}" for name, text in again.items()),
        *held,
        *_with_more_parts(draft, around, {*again, *apart}),
    ]
    if words and "torch" in around.here and "torch" not in {*draft.picks, *again}:
        words.append(f"torch=={public(around.here['torch'])}")
    words += _pins(draft, around) if words else ()
    newer = [
        one.name
        for one in moved
        if not one.version and one.name in around.here
        if fits_any(public(around.here[one.name]), (one.ranges,))
    ]
    kept = set(again) - set(_of_shared_folders(draft))
    torch = draft.changes.moved.get("torch") or around.here.get("torch", "")
    beside = index_of(around.facts, around.catalog, public(torch)) if _of_torch(words) else None
    commands = installer.install_set(words, facts, newer=newer, again=sorted(kept), beside=beside)
    yield from (Step(command=command) for command in commands if words)
    for part in _parts(draft):
        if part.wanted and _stands_alone(part):
            for command in installer.install(
                part.wanted,
                part.options,
                part.index,
                facts,
                find_links=part.find_links,
                build=part.build,
            ):
                yield Step(command=msgspec.structs.replace(command, env=dict(part.env)))


def _pins(draft: Draft, around: Environment) -> list[str]:
    """Return what the project pins, for the installer: else it may move it for what moves."""
    pins = [
        f"{name}=={around.here[name]}"
        for name in sorted(around.pinned)
        if name not in draft.picks and name not in draft.changes.written and name != "torch"
    ]
    return pins if len(pins) <= _MOST_PINS else []


def _of_torch(words: Sequence[str]) -> bool:
    """Say whether something is installed that PyTorch's index serves."""
    return any(word.startswith(("torch==", "torchvision", "torchaudio")) for word in words)


def _range(pick: Pick) -> str:
    return pick.ranges or (f"=={pick.version}" if pick.version else "")


def _again(draft: Draft, apart: frozenset[str]) -> Mapping[str, str]:
    """Return what is written once more in the release that its wish names."""
    return {
        name: line.specifier
        for part in _parts(draft)
        for line, _ in lines(part)
        if (name := normalize_name(line.name)) in draft.changes.written
        and name not in draft.picks
        and name not in apart
    }


def _with_more_parts(draft: Draft, around: Environment, named: Set[str]) -> list[str]:
    """Return what stays in its release and gets another of its parts: `jax[cuda12]==0.8.0`."""
    return [
        f"{name}{extras}=={public(around.here[name])}"
        for name, extras in sorted(_extras(draft).items())
        if name in around.here and name not in draft.picks and name not in named
    ]


def _stands_alone(part: Part) -> bool:
    return bool(part.index or part.find_links or part.build) or any(
        option in _OWN_COMMAND for option in part.options
    )


def _apart(draft: Draft) -> frozenset[str]:
    return frozenset(
        normalize_name(line.name)
        for part in _parts(draft)
        if _stands_alone(part)
        for line, _ in lines(part)
    )


def _extras(draft: Draft) -> Mapping[str, str]:
    return {
        normalize_name(line.name): f"[{','.join(sorted(line.extras))}]"
        for part in _parts(draft)
        for line, _ in lines(part)
        if line.extras
    }
