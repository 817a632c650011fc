"""Turn the recipes of each finding into fixes for this machine.

Placeholders filled, conditions decided, commands written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from doctor.facts.conditions import condition_holds, may_apply
from doctor.facts.placeholders import fill, fill_each, fill_known, placeholders
from doctor.fixes import installer
from doctor.fixes.choosing import applicable, is_blind, is_general, on_machine, open_sentence
from doctor.fixes.circumstances import unseen
from doctor.fixes.effect import changes, is_idle, joined, pinned_by, unlisted
from doctor.fixes.environments import above, above_note, closed
from doctor.fixes.project import kept_to_lock
from doctor.fixes.questions import asking
from doctor.fixes.whose import for_owner
from doctor.model.facts import Facts, present, value_of
from doctor.model.findings import Detection
from doctor.model.fixes import Command, Fix, Step
from doctor.model.issues import Action, Edit, Option, Recipe, Snippet

Captures = Mapping[str, str]


def fixes_for(found: Detection, facts: Facts) -> list[Fix]:
    """Return the fixes of one finding that apply here and change something.

    A fix that breaks the exact pin of another package comes last.
    """
    by_log = value_of(facts, "python.executable") is None
    if by_log:
        facts = {**facts, "python.executable": present(installer.python(facts), "default")}
    fitting = fitting_recipes(found, facts)
    fixes = [_for_environment(recipe, facts, found.captures) for recipe in fitting]
    if by_log and sum(fix is not None for fix in fixes) < _ENOUGH:
        fixes = [*_with_questions(fitting, fixes, facts, found.captures)]
    kept = kept_to_lock(found, _each_once(fix for fix in fixes if fix is not None), facts)
    workspace = value_of(facts, "cargo.workspace")
    return [in_workspace(fix, str(workspace)) if workspace else fix for fix in kept]


def _each_once(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes without those that install what one before them installs anyhow.

    Of other commands the same ones can be meant for another place, as the title says.
    """
    kept: list[Fix] = []
    for fix in fixes:
        if fix.kind not in _INSTALLING or not any(
            (one.steps, one.snippet) == (fix.steps, fix.snippet)
            and set(one.use_if) <= set(fix.use_if)
            for one in kept
        ):
            kept.append(fix)
    return kept


_INSTALLING = ("install", "pin", "reinstall", "upgrade")
_ENOUGH = 2
"""How many fixes of a finding a report of a log shows."""


def _with_questions(
    recipes: Sequence[Recipe], fixes: Sequence[Fix | None], facts: Facts, captures: Captures
) -> Iterator[Fix | None]:
    """Yield the fixes, and in their places those that ask the reader for a fact.

    None is asked where another recipe does the same without the fact.
    """
    there = [one for one, fix in zip(recipes, fixes, strict=True) if fix is not None]
    alike = any(is_general(one, facts) for one in there)
    free = {one.fact for recipe in there for one in recipe.conditions if one.absent}
    for recipe, fix in zip(recipes, fixes, strict=True):
        told = None if fix is not None or alike else asking(recipe, facts, free)
        written = write(*told, captures) if told else None
        if written is None:
            yield fix
            continue
        title, notes = _words(recipe, written.steps, facts, captures)
        use_if = _conditions(recipe, facts, captures)
        yield msgspec.structs.replace(written, title=title, use_if=use_if, note=_sentences(*notes))


def _words(
    recipe: Recipe, steps: Sequence[Step], facts: Facts, captures: Captures
) -> tuple[str, tuple[str, ...]]:
    """Return the title of a fix and the sentences of its note."""
    title = fill_known(recipe.title, facts, captures)
    return for_owner(title, _note(recipe, facts, captures), steps, facts)


def fitting_recipes(found: Detection, facts: Facts) -> list[Recipe]:
    """Return the recipes of a finding that may apply here, by preference."""
    return sorted(
        applicable(found.recipes, facts, found.captures),
        key=lambda one: (bool(pinned_by(one, facts, found.captures)), is_blind(one, facts)),
    )


def is_done(found: Detection, facts: Facts) -> bool:
    """Say whether the packages of a fix that applies here are installed already."""
    return any(
        may_apply(recipe, facts) and is_idle(recipe, facts, found.captures)
        for recipe in found.recipes
    )


def _for_environment(recipe: Recipe, facts: Facts, captures: Captures) -> Fix | None:
    """Write a fix.

    Where this user cannot write to the environment, it goes into a new one above it.
    """
    moves = [one for one in recipe.steps if one.install or one.uninstall]
    why = closed(facts) if moves else ""
    if not why or len(moves) < len(recipe.steps):
        return write(recipe, facts, captures)
    if not any(one.install for one in moves):
        return None  # nothing can be removed from it
    there, make = above(facts)
    installs = tuple(one for one in moves if one.install)
    fix = write(msgspec.structs.replace(recipe, steps=installs), there, captures)
    if fix is None:
        return None
    return msgspec.structs.replace(
        fix,
        steps=(*make, *fix.steps),
        note=_sentences(fix.note, above_note(why)),
    )


def in_workspace(fix: Fix, workspace: str) -> Fix:
    """Have the commands of cargo run in the workspace.

    Every other command names its target itself.
    """
    steps = tuple(standing(step, workspace) for step in fix.steps)
    return msgspec.structs.replace(fix, steps=steps, verify=_standing(fix.verify, workspace))


def standing(step: Step, workspace: str) -> Step:
    """Return a step whose command runs in the workspace where it is cargo's."""
    return msgspec.structs.replace(step, command=_standing(step.command, workspace))


def _standing(command: Command | None, workspace: str) -> Command | None:
    if command is None or command.argv[:1] != ("cargo",):
        return command
    return msgspec.structs.replace(command, cwd=workspace)


def _conditions(recipe: Recipe, facts: Facts, captures: Captures) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, _use_if(recipe, facts, captures))))


def _use_if(recipe: Recipe, facts: Facts, captures: Captures) -> Iterator[str]:
    """Yield what has to hold and nobody could decide from the facts."""
    by_system = any(one.system for one in recipe.steps)
    if by_system and value_of(facts, "host.package_manager") is None:
        packages = next(one.system for one in recipe.steps if one.system)
        yield f"the system has {installer.likely(packages)}"
    if _may_be_for_jetson(recipe, facts):
        yield "this is no Jetson"
    for one in recipe.use_if:
        if isinstance(one, str):
            yield fill_known(one, facts, captures)
        elif by_system and one.fact == "host.package_manager":
            pass  # said above
        elif condition_holds(one, facts).truth is None:
            yield open_sentence(one, recipe) or (unseen(one) if on_machine(recipe) else "")


def _note(recipe: Recipe, facts: Facts, captures: Captures) -> str:
    sentences = [fill_known(recipe.note, facts, captures)]
    if companions := unlisted(recipe, facts):
        names, they = " and ".join(companions), "it is" if len(companions) == 1 else "they are"
        sentences.append(f"Add {names} to the same command where {they} installed.")
    sentences += (f"{one}." for one in pinned_by(recipe, facts, captures))
    return _sentences(*sentences)


def _sentences(*parts: str) -> str:
    ended = (part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)
    return " ".join(ended)


def write(recipe: Recipe, facts: Facts, captures: Captures) -> Fix | None:
    """Return the fix.

    None where a placeholder of a step stays open, or no step changes anything.
    """
    steps = list[Step]()
    effective = recipe.snippet is not None
    for action in recipe.steps:
        these = steps_of(action, facts, captures)
        if these is None:
            return None
        # One step that changes something keeps them all: what an earlier one removes, a later one
        # brings back in the same release.
        effective = effective or (bool(these) and changes(action, facts, captures))
        steps += (one for one in these if one not in steps)
    snippet = _snippet(recipe.snippet, facts, captures) if recipe.snippet else None
    if not effective or (recipe.snippet and snippet is None):
        return None
    verify = fill_each(recipe.verify, facts, captures)
    asks = _asks(recipe, steps, verify or ())
    title, notes = _words(recipe, steps, facts, captures)
    return Fix(
        kind=kind_of(recipe),
        title=title,
        steps=tuple(steps),
        use_if=_conditions(recipe, facts, captures),
        note=_sentences(*notes),
        snippet=snippet,
        asks=asks,
        safe=recipe.safe and not asks,
        lasting=recipe.lasting,
        verify=Command(argv=verify) if verify else None,
    )


def steps_of(action: Action, facts: Facts, captures: Captures) -> list[Step] | None:
    """Return one action as steps, the preparation of an installer first.

    None where a placeholder stays open.
    """
    env = {name: fill(value, facts, captures) for name, value in action.env.items()}
    known = {name: value for name, value in env.items() if value is not None}
    if len(known) < len(env):
        return None
    if action.edit is not None:
        edit = _edit(action.edit, facts, captures)
        return None if edit is None else [_step(action, facts, captures, edit=edit)]
    commands = _commands(action, facts, captures)
    if commands is None or any(_is_driver_for_pc(one, facts) for one in commands):
        return None
    if not commands:
        return (
            [_step(action, facts, captures, command=Command(argv=(), env=known))] if known else []
        )
    *before, last = commands
    return [
        *(Step(command=one) for one in before),
        _step(action, facts, captures, command=msgspec.structs.replace(last, env=known)),
    ]


_DRIVER = re.compile(r"nvidia-driver-\d+(?:-open|-server)*")


def _is_driver_for_pc(command: Command, facts: Facts) -> bool:
    """Return whether a command installs a driver for PCs on what may be a Jetson.

    A Jetson has its driver from JetPack, Ubuntu offers both, and one breaks the other:
    https://docs.nvidia.com/jetson/archives/r36.4/DeveloperGuide/SD/SoftwarePackagesAndTheUpdateMechanism.html
    Where a log does not show the processor, that is asked.
    """
    if value_of(facts, "host.machine") in (None, "x86_64", "AMD64"):
        return False
    return _installs_driver(command.argv)


def _installs_driver(argv: Sequence[str]) -> bool:
    return "install" in argv and any(_DRIVER.fullmatch(one) for one in argv)


def _may_be_for_jetson(recipe: Recipe, facts: Facts) -> bool:
    if value_of(facts, "host.machine") is not None:
        return False
    packages = (name for one in recipe.steps for name in one.system.get("apt", ()))
    return any(_installs_driver(one.run) for one in recipe.steps) or any(
        _DRIVER.fullmatch(name) for name in packages
    )


def _commands(action: Action, facts: Facts, captures: Captures) -> tuple[Command, ...] | None:
    if action.system:
        command = installer.system(action.system, facts)
        return None if command is None else (command,)
    if action.run:
        argv = fill_each(action.run, facts, captures)
        return None if argv is None else (Command(argv=argv),)
    if action.uninstall:
        names = fill_each(action.uninstall, facts, captures)
        return None if names is None else installer.uninstall(names, facts)
    if action.install:
        wanted = joined(action, facts, captures)
        index = fill(action.index, facts, captures) if action.index else None
        if wanted is None or (action.index and not index):
            return None
        index = index or installer.index_of_build(wanted, facts)
        links = fill(action.find_links, facts, captures) if action.find_links else None
        if action.find_links and not links:
            return None
        return installer.install(
            wanted, action.options, index, facts, find_links=links, build=action.build
        )
    return ()


def _step(
    action: Action,
    facts: Facts,
    captures: Captures,
    *,
    command: Command | None = None,
    edit: Edit | None = None,
) -> Step:
    # Homebrew refuses to run as root: https://docs.brew.sh/FAQ
    by_system = bool(action.system) and (command is None or command.argv[:1] != ("brew",))
    return Step(
        title=fill_known(action.title, facts, captures),
        command=command,
        edit=edit,
        sudo=(action.sudo or by_system) and value_of(facts, "host.root") is not True,
        reboot=action.reboot,
        source=action.source,
    )


def _edit(edit: Edit, facts: Facts, captures: Captures) -> Edit | None:
    file, before, after = (
        fill(text, facts, captures) for text in (edit.file, edit.before, edit.after)
    )
    if file is None or before is None or after is None:
        return None
    return Edit(file=file, before=before, after=after)


def _snippet(snippet: Snippet, facts: Facts, captures: Captures) -> Snippet | None:
    before, after = (fill(text, facts, captures) for text in (snippet.before, snippet.after))
    if before is None or after is None:
        return None
    return Snippet(where=fill_known(snippet.where, facts, captures), before=before, after=after)


def _asks(recipe: Recipe, steps: Sequence[Step], verify: Sequence[str]) -> dict[str, str]:
    """Return each `<name>` of the commands and edits with what a reader has to put there."""
    words = [*verify]
    for step in steps:
        if step.command is not None:
            words += (*step.command.argv, *step.command.env.values())
    names = [one.strip("<>") for one in placeholders(words)]
    # Code of an edit holds such words of its own: `#include <cfloat>`.
    edits = [step.edit for step in steps if step.edit is not None]
    texts = " ".join(text for edit in edits for text in (edit.file, edit.after))
    names += [name for name in recipe.ask if f"<{name}>" in texts and name not in names]
    return {name: recipe.ask.get(name, name.replace("-", " ")) for name in names}


def kind_of(recipe: Recipe) -> str:
    """Return what a recipe does, in the words of the JSON report."""
    installs = [one for one in recipe.steps if one.install]
    options = {option for one in installs for option in one.options}
    if any(one.run or one.system for one in recipe.steps) and not installs:
        return "configure"
    if Option.REINSTALL in options:
        return "reinstall"
    if Option.UPGRADE in options:
        return "upgrade"
    if installs:
        return "pin" if all("==" in part for one in installs for part in one.install) else "install"
    if any(one.uninstall for one in recipe.steps):
        return "uninstall"
    if any(one.env for one in recipe.steps):
        return "set-env"
    return "edit"
