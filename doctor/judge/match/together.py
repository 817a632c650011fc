"""Complete the fixes of what was found by what else stands in the same log."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.analyzers.case import Case
from doctor.model.findings import Detection
from doctor.model.issues import Action, Recipe

_LIBRARY = re.compile(r"\b(lib[\w+-]{1,60}\.so(?:\.\d{1,4}){0,3})\b")
_MISSING = (
    *("cannot open shared object", "could not load", "unable to load", "cannot load", "not found"),
    *("no such file", "failed to load"),
)
_FOLDER = re.compile(
    r"(?:^|[\s:=\"'(])((?:/[\w.+@-]{1,80}){1,20})/(lib[\w+-]{1,60}\.so[\w.]{0,16})"
)
_LONGEST = 1000


def with_library(found: Detection, case: Case) -> Detection:
    """Return a finding about a missing library with the folder in which the log shows it, if any.

    People add what `find` or `locate` printed: the file is there, and the loader does not look.
    """
    missing = {name for line in _lines(found, case) for name in _missing_in(line)}
    folders = {
        match[1]
        for line in case.log.lines
        if ".so" in line and not any(word in line.lower() for word in _MISSING)
        for match in _FOLDER.finditer(line[:_LONGEST])
        if match[2] in missing
    }
    if len(folders) != 1 or case.context.os not in ("linux", ""):
        return found
    folder = folders.pop()
    recipe = Recipe(
        title=f"Let the loader search {folder}, where the log shows the library",
        note="Set it in the shell, or for the service, that starts the program.",
        steps=(Action(env={"LD_LIBRARY_PATH": f"{folder}:$LD_LIBRARY_PATH"}),),
    )
    return msgspec.structs.replace(found, recipes=(recipe, *found.recipes))


def _lines(found: Detection, case: Case) -> list[str]:
    numbers = [one.line for one in found.evidence if one.source == case.log.source and one.line]
    log = case.log
    places = (bisect_left(log.numbers, one) if log.numbers else one - 1 for one in numbers)
    return [log.lines[at][:_LONGEST] for at in places if 0 <= at < len(log.lines)]


def _missing_in(line: str) -> list[str]:
    if not any(word in line.lower() for word in _MISSING):
        return []
    return _LIBRARY.findall(line)


def with_common_ranges(found: Sequence[Detection]) -> list[Detection]:
    """Return findings whose fixes hold all bounds that the log asks of one package.

    A name that a release removed and a name that an older one lacks lead in a circle otherwise.
    """
    bounds: dict[str, set[str]] = {}
    for one in found:
        for wanted in _bounds(one.recipes[:1]):
            bounds.setdefault(wanted.name, set()).add(str(wanted.specifier))
    common = {
        name: ",".join(sorted(each, reverse=True))
        for name, each in bounds.items()
        if len(each) > 1 and _is_possible(each)
    }
    if not common:
        return list(found)
    return [
        msgspec.structs.replace(
            one, recipes=tuple(_bounded(recipe, common) for recipe in one.recipes)
        )
        for one in found
    ]


def _bounds(recipes: Sequence[Recipe]) -> list[Requirement]:
    texts = [text for recipe in recipes for step in recipe.steps for text in step.install]
    found = []
    for text in texts:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        clauses = list(wanted.specifier)
        if len(clauses) == 1 and clauses[0].operator in ("<", "<=", ">", ">="):
            found.append(wanted)
    return found


def _is_possible(bounds: set[str]) -> bool:
    """Say whether a release between bounds can exist: the lowest upper one is above the others."""
    clauses = [one for text in bounds for one in SpecifierSet(text)]
    low = [Version(one.version) for one in clauses if one.operator.startswith(">")]
    high = [Version(one.version) for one in clauses if one.operator.startswith("<")]
    return bool(low) and bool(high) and max(low) < min(high)


def _bounded(recipe: Recipe, common: dict[str, str]) -> Recipe:
    named = {one.name for one in _bounds((recipe,))}
    steps = tuple(
        msgspec.structs.replace(
            step,
            install=tuple(
                f"{name}{common[name]}"
                if (name := _name(text)) in common and name in named
                else text
                for text in step.install
            ),
        )
        for step in recipe.steps
    )
    return msgspec.structs.replace(recipe, steps=steps)


def _name(text: str) -> str:
    try:
        return Requirement(text).name
    except InvalidRequirement:
        return ""
