"""Fill the recipes of each finding with what was seen, and keep those that this machine can follow."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.facts.conditions import all_hold, condition_holds
from doctor.facts.placeholders import fill, fill_each, fill_sentence, placeholders
from doctor.fixes import installer
from doctor.fixes.circumstances import circumstance
from doctor.fixes.effect import changes, is_idle, joined, pinned_by, unlisted
from doctor.fixes.environments import above, closed
from doctor.fixes.project import kept_to_lock
from doctor.fixes.shell import quoted
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Command, Fix
from doctor.model.issues import Recipe
from doctor.model.report import Diagnosis

_IDLE = "What its known fixes would install is here already, so none of them is told: it would change nothing."


def prescribe(diagnosis: Diagnosis, facts: Facts) -> Diagnosis:
    """Return the diagnosis with the fixes of each finding written out, in the order of preference of their authors."""
    return msgspec.structs.replace(
        diagnosis, findings=tuple(_prescribed(found, facts) for found in diagnosis.findings)
    )


def _prescribed(found: Finding, facts: Facts) -> Finding:
    """Write out the fixes of a finding.

    Where none is left because what they would install is here, say so.
    """
    fixes = tuple(fixes_for(found, facts))
    idle = not fixes and any(
        _fits(recipe, facts) and is_idle(recipe, facts, found.captures) for recipe in found.recipes
    )
    return msgspec.structs.replace(
        found, fixes=fixes, message=f"{found.message} {_IDLE}" if idle else found.message
    )


def fixes_for(found: Finding, facts: Facts) -> list[Fix]:
    """Return the fixes of one finding that apply here, change something here, and whose placeholders can all be filled.

    What takes from another package the very release that it asks for comes last.
    """
    fitting = sorted(
        (recipe for recipe in found.recipes if _fits(recipe, facts)),
        key=lambda one: bool(pinned_by(one, facts, found.captures)),
    )
    written = [_grounded(recipe, facts, found.captures) for recipe in fitting]
    kept = kept_to_lock(found, [fix for fix in written if fix is not None], facts)
    workspace = value_of(facts, "cargo.workspace")
    return [_standing(fix, str(workspace)) if workspace else fix for fix in kept]


def _grounded(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> Fix | None:
    """Write a fix for where it can be carried out: an environment that is closed to this user gets another one above it."""
    why = closed(facts) if recipe.install or recipe.uninstall else ""
    if not why or recipe.run:
        return _write(recipe, facts, captures)
    if not recipe.install:
        return None  # nothing can be taken out of it
    there, make = above(facts)
    fix = _write(msgspec.structs.replace(recipe, uninstall=()), there, captures)
    if fix is None:
        return None
    when = "; ".join(
        filter(
            None,
            (
                fix.when,
                f"{why}: a new environment sees its packages and takes what is installed here first",
            ),
        )
    )
    return msgspec.structs.replace(fix, steps=(make, *fix.steps), when=when)


def _standing(fix: Fix, workspace: str) -> Fix:
    """Have cargo's commands run in the workspace; everything else names its target itself."""
    steps = tuple(
        msgspec.structs.replace(step, cwd=workspace) if step.argv[:1] == ("cargo",) else step
        for step in fix.steps
    )
    verify = (
        f"cd {quoted(workspace)} && {fix.verify}" if fix.verify.startswith("cargo ") else fix.verify
    )
    return msgspec.structs.replace(fix, steps=steps, verify=verify)


def _fits(recipe: Recipe, facts: Facts) -> bool:
    return (
        all_hold(condition_holds(condition, facts) for condition in recipe.when).truth is not False
    )


def _when(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> str:
    """Say where a fix belongs: what nobody could look up, in words, and what only people know."""
    unsure = [one for one in recipe.when if condition_holds(one, facts).truth is None]
    words = [circumstance(one) for one in unsure if one.fact != "host.package_manager"]
    if recipe.system and value_of(facts, "host.package_manager") is None:
        words.insert(0, f"with {installer.likely(recipe.system)}")
    words.append(fill_sentence(recipe.condition, facts, captures))
    if companions := unlisted(recipe, facts):
        words.append(
            f"with {' and '.join(companions)} in the same command where they are installed"
        )
    words += pinned_by(recipe, facts, captures)
    return "; ".join(dict.fromkeys(filter(None, words)))


def _write(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> Fix | None:
    steps, edit = (
        _steps(recipe, facts, captures),
        {name: fill(text, facts, captures) for name, text in recipe.edit.items()},
    )
    if steps is None or None in edit.values():
        return None
    asks = placeholders(word for step in steps for word in (*step.argv, *step.env.values()))
    return Fix(
        kind=recipe.kind.value,
        title=fill_sentence(recipe.title, facts, captures),
        steps=steps,
        when=_when(recipe, facts, captures),
        file=edit.get("file") or "",
        before=edit.get("before") or "",
        after=edit.get("after") or "",
        asks=asks,
        safe=recipe.safe and not asks,
        lasting=recipe.lasting,
        sudo=recipe.sudo
        or (bool(recipe.system) and value_of(facts, "host.package_manager") != "brew"),
        reboot=recipe.reboot,
        verify=fill(recipe.verify, facts, captures, quote=quoted) or "",
    )


def _steps(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> tuple[Command, ...] | None:
    """Return the commands in the order in which they are to be run.

    None where a placeholder stays open.
    """
    env = {name: fill(value, facts, captures) for name, value in recipe.env.items()}
    known = {name: value for name, value in env.items() if value is not None}
    runs = [fill_each(argv, facts, captures) for argv in recipe.run]
    wanted = joined(recipe, facts, captures)
    unwanted = fill_each(recipe.uninstall, facts, captures)
    index = fill(recipe.index, facts, captures) if recipe.index else None
    system = installer.system(recipe.system, facts) if recipe.system else None
    if (
        len(known) < len(env)
        or None in runs
        or wanted is None
        or unwanted is None
        or (recipe.index and not index)
    ):
        return None
    if (recipe.system and system is None and not (wanted or runs)) or not changes(
        recipe, wanted, unwanted, facts
    ):
        return None
    steps = [system] if system else []
    steps += installer.uninstall(unwanted, facts) if unwanted else ()
    steps += [Command(argv=argv) for argv in runs if argv]
    if wanted:
        *before, last = installer.install(wanted, recipe.options, index, facts)
        return (
            *steps,
            *(one for one in before if one not in steps),
            msgspec.structs.replace(last, env=known),
        )
    return (*steps, *([Command(argv=(), env=known)] if known else []))
