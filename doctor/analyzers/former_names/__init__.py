"""Explain code that is older than a library, where the message does not name the release.

The rows say what took the place of a name, a parameter or a behaviour, so that a line of the
program itself can be written anew. Each module holds those of one family of libraries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.former_names import (
    games,
    keras,
    pictures,
    python_itself,
    tables,
    torch_itself,
)
from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.analyzers.inventory import NAME, Caller, Inventory, caller_of, distinct
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines import names

_KINDS = (
    *("exception", "object-attribute-missing", "module-attribute-missing", "argument-missing"),
    *("keyword-not-accepted", "name-not-importable", "module-not-found", "in-place-on-leaf"),
    *("not-picklable", "own-assertion", "bare-attribute-missing"),
)
_MOST, _ABOVE, _LONGEST = 8, 24, 400
_SAFE_PATH = re.compile(r"[\w./\\: +~@=-]{1,300}")
_ROWS = (
    *(*python_itself.ROWS, *tables.ROWS, *pictures.ROWS),
    *(*torch_itself.ROWS, *keras.ROWS, *games.ROWS),
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what took the place of what a program asks for."""
    inventory = Inventory(case)
    for event in distinct(case, *_KINDS, most=_MOST):
        text = event.text[:_LONGEST]
        for row in _ROWS:
            if row.word not in text:
                continue
            match = compile_pattern(row.pattern).search(text)
            if match and _is_near(case, event, row):
                yield _explanation(case, event, row, match.groups, inventory)
                break


def _is_near(case: Case, event: Event, row: FormerName) -> bool:
    """Say whether the lines above an event show what a row asks for."""
    if not row.near:
        return True
    above = case.log.lines[max(0, event.at - _ABOVE) : event.at + 1]
    near = compile_pattern(row.near)
    return any(near.search(line[:_LONGEST]) for line in above)


def _explanation(
    case: Case, event: Event, row: FormerName, groups: Mapping[str, str], inventory: Inventory
) -> Explanation:
    values = defaultdict(str, {name: value or "" for name, value in groups.items()})
    caller = caller_of(case, event, row.package or values.get("root", ""))
    package = caller.name if caller and caller.kind == "package" else ""
    if row.package == "dataclasses":
        package = values["root"] if package and NAME.fullmatch(values["root"]) else package
    recipes: tuple[Recipe, ...] = ()
    if not package:
        recipes = (*(_edit(edit, caller, values) for edit in row.edits), *row.rewriting)
    elif NAME.fullmatch(package):
        recipes = (_newer(names.distribution_of(package) or package),)
    back = tuple(_back(row, inventory.python()))
    # In a package that never moved, the old environment is the cure that is sure.
    recipes = (*back, *recipes) if package and row.python else (*recipes, *row.recipes, *back)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=row.contradicts,
        detection=detection(
            event,
            row.title.format_map(values),
            row.cause.format_map(values),
            recipes=recipes,
            name="former-name",
        ),
    )


def _edit(edit: Edit, caller: Caller | None, values: Mapping[str, str]) -> Recipe:
    path = caller.path if caller and _SAFE_PATH.fullmatch(caller.path) else ""
    return Recipe(
        title="Write what took its place",
        note=edit.note.format_map(values),
        snippet=Snippet(
            where=path or "the line of the program in the traceback",
            before=edit.before.format_map(values),
            after=edit.after.format_map(values),
        ),
    )


def _newer(distribution: str) -> Recipe:
    return Recipe(
        title=f"Take the newest {distribution}, which is mostly written anew",
        use_if=("no other package here pins it",),
        steps=(Action(install=(distribution,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
    )


def _back(row: FormerName, python: str | None) -> Iterator[Recipe]:
    """Yield the way back to the releases that the old code is made for."""
    if row.python and (not row.pins or (python and _later(python, row.python))):
        make, install = offers.environment(row.python)
        steps = [make]
        if row.pins:
            steps.append(Action(run=(*install, *row.pins)))
        yield Recipe(
            title=f"Run the program in an environment of its own with Python {row.python}"
            + (" and the releases that it is made for" if row.pins else ""),
            steps=tuple(steps),
            note="Install its other requirements there too.",
        )
    elif row.pins:
        yield Recipe(
            title="Go back to the releases that the code is made for",
            steps=(Action(install=row.pins, options=(Option.HOLD_TORCH,)),),
        )


def _later(python: str, than: str) -> bool:
    return [int(one) for one in python.split(".")] > [int(one) for one in than.split(".")]
