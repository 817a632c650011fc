"""Explain failures that began with one release of a package, where the text says so itself.

"Works with 1.2, fails with 1.3" names the cause better than the message that follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code
from doctor.base.versions import parse
from doctor.logs.package_names import ALIASES, KNOWN
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_LONGEST, _MOST = 400, 3000
_VERSION = r"v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)\b"
_NAME = r"([A-Za-z][\w-]{1,24})"
_VERB = re.compile(r"\b(?:updat|upgrad|going|mov)\w{1,4} ", re.IGNORECASE)
_MOVED = re.compile(
    rf"\b{_NAME} (?:from )?{_VERSION} to (?:[A-Za-z][\w-]{{1,40}} )?{_VERSION}", re.IGNORECASE
)
_SAME_BUT = re.compile(r"\b(?:fine|well|ok),? but (?:under|with|in|on|using) ", re.IGNORECASE)
_RELEASE = re.compile(rf"(?:{_NAME} )?{_VERSION}")
_RAN = re.compile(
    r"\b(?:works?|runs?|worked|ran) (?:fine |well |ok )?(?:under|with|in|on|using) ", re.IGNORECASE
)
_FAILED = re.compile(
    r"\b(?:not|fails?|throws?|breaks?|broken|errors?) (?:under|with|in|on|using) ", re.IGNORECASE
)
_BESIDE = re.compile(rf"\b{_NAME}[ =]{{1,2}}{_VERSION}")
_NAME_GONE = (
    *("module-attribute-missing", "name-not-importable", "module-not-found"),
    *("object-attribute-missing", "keyword-not-accepted", "argument-missing"),
)
_ASKED = re.compile(r"(?:module|from) ['\"]?([A-Za-z]\w{1,40})[.'\"]")
_INDEX_OF_ITS_OWN = {"torch", "torchvision", "torchaudio", "flashinfer-python", "jaxlib"}
"""Whose releases are not chosen by a number alone."""


class _Update(NamedTuple):
    package: str
    before: str
    after: str


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which release the failure began with."""
    failures = [event for event in case.events if event.level is Level.FAILURE]
    if not failures or (update := _update(case)) is None:
        return
    for event in failures:
        yield _explanation(event, update)


def _update(case: Case) -> _Update | None:
    """Return the one update that the text blames; None where it blames none or several."""
    lines = [line[:_LONGEST] for line in case.log.lines[:_MOST]]
    found: set[_Update] = set()
    for line in lines:
        if _VERB.search(line):
            found.update(_Update(*match.groups()) for match in _MOVED.finditer(line))
        ran, failed = _RAN.search(line), _FAILED.search(line)
        if ran and failed and (old := _RELEASE.match(line, ran.end())) and old[1]:
            new = _RELEASE.match(line, failed.end())
            found.update([_Update(old[1], old[2], new[2])] if new else [])
        but = _SAME_BUT.search(line)
        if but and (release := _RELEASE.match(line, but.end())):
            found.add(_Update(release[1] or _named(lines, release[2]), "", release[2]))
    known = {
        _Update(package, one.before, one.after)
        for one in found
        if (package := _distribution(one.package)) and _is_newer(one)
    }
    return known.pop() if len(known) == 1 else None


def _named(lines: list[str], release: str) -> str:
    """Return the only package that stands before a release anywhere; else an empty text."""
    found = {
        name.lower()
        for line in lines
        for name, version in _BESIDE.findall(line)
        if version == release and _distribution(name)
    }
    return found.pop() if len(found) == 1 else ""


def _distribution(name: str) -> str:
    """Return the distribution of a package that doctor knows; an empty text for any other word."""
    plain = name.lower().replace("_", "-")
    plain = ALIASES.get(plain, plain)
    if plain in KNOWN:
        return plain
    return (names.distribution_of(name.lower()) or "") if plain else ""


def _is_newer(one: _Update) -> bool:
    before, after = parse(one.before), parse(one.after)
    return after is not None and (not one.before or (before is not None and before < after))


def _explanation(event: Event, update: _Update) -> Explanation:
    package, before, after = update
    asked = _ASKED.search(event.text) if event.kind in _NAME_GONE else None
    other = (names.distribution_of(asked[1]) or "") if asked else ""
    where = f"{package} {after}"
    if other and other != package:
        return explanation(
            event,
            f"{where} asks {other} for what the installed {other} does not have",
            f"The text says that it began with the update of {package}. Its newer release is made "
            f"for a newer {other}, which was not updated along with it.",
            (*_back(update), _along(other, package, after)),
            name="began-with-update",
            contradicts=(f"{other}/name-removed", "python/*"),
        )
    than = f" {before} ran" if before else " The release before it ran"
    return explanation(
        event,
        f"The failure began with {where}, as the text says",
        f"{than.strip()} with the same program and the same model, so that neither these nor their "
        "settings are the cause.",
        (*_back(update), *_onward(update)),
        name="began-with-update",
        exact=False,
    )


def _along(other: str, package: str, after: str) -> Recipe:
    companions = ("jaxlib",) if other == "jax" else ()
    return Recipe(
        title=f"Update {other} as well, and leave {package} at {after}",
        note=f"One that is years newer lacks what {package} {after} still uses.",
        steps=(
            Action(
                install=tuple(f"{one}==<release>" for one in (other, *companions)),
                options=(Option.HOLD_TORCH,),
            ),
        ),
        ask={"release": f"a release of {other} of the weeks around that of {package} {after}"},
    )


def _back(update: _Update) -> tuple[Recipe, ...]:
    """Return how to go back; without a command where a number alone does not name the wheel."""
    package, before, after = update
    requirement = f"{package}=={before}" if before else f"{package}<{after}"
    title = f"Go back to the {package} that ran{', ' + before if before else ''}"
    if package in _INDEX_OF_ITS_OWN:
        return (
            code(
                title,
                "the command that installed it, with the same index",
                requirement,
                before=f"{package}=={after}",
            ),
        )
    return (
        Recipe(
            title=title,
            steps=(Action(install=(requirement,), options=(Option.HOLD_TORCH,)),),
        ),
    )


def _onward(update: _Update) -> tuple[Recipe, ...]:
    package, _, after = update
    title = f"Or take a release after {after}: such faults are mostly mended in the next one"
    if package in _INDEX_OF_ITS_OWN:
        wanted = f"{package}>{after}"
        where = "the command that installed it, with the same index"
        return (code(title, where, wanted, before=f"{package}=={after}"),)
    return (
        Recipe(
            title=title,
            steps=(Action(install=(f"{package}>{after}",), options=(Option.HOLD_TORCH,)),),
        ),
    )
