"""Explain releases that all ask for the same thing: it is not to be had, and nothing conflicts.

pip then says that several releases of one package "have conflicting dependencies".
"""

from __future__ import annotations

import re

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, Inventory, is_version
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet

_BELOW, _LONGEST = 60, 400
_RULE = re.compile(
    r"^\W{0,20}(?P<who>[A-Za-z][\w.-]{0,80}) (?P<release>\d[\w.+!]{0,40}) depends on "
    r"(?P<asked>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,60}\])?\s?(?P<rule>[<>=!~][^;\s]{0,60})?)\s*$"
)
_MUSL = re.compile(r"(?i)\balpine\b|musllinux|\bmusl\b")
_INDEX = re.compile(r"--index-url[ =](?P<index>https?://\S{4,200})")


def of_same_requirement(case: Case, event: Event) -> Explanation | None:
    """Return why no release of a package is installed: all ask for what is not offered here."""
    rules = [
        found
        for line in case.log.lines[event.at : event.at + _BELOW]
        if (found := _RULE.match(line[:_LONGEST]))
    ]
    if len(rules) < 2 or len({(one["who"], one["asked"].strip()) for one in rules}) != 1:
        return None
    if len({one["release"] for one in rules}) < 2:
        return None
    who, asked = rules[0]["who"], rules[0]["asked"].strip()
    name = re.split(r"[\[<>=!~ ]", asked)[0]
    if not NAME.fullmatch(name):
        return None
    return explanation(
        event,
        f"Each release of {who} asks for {asked}, which is not offered here",
        "The rules do not exclude each other: they are one and the same. The index that was asked "
        f"has no {asked} with a wheel for this Python, system and processor."
        + (
            " Alpine has musl in the place of glibc, for which torch has no wheel."
            if _musl(case)
            else ""
        ),
        _recipes(case, name, asked, rules[0]["rule"] or ""),
        name="requirement-not-offered",
        contradicts=("torch/pins-contradict",),
    )


def _musl(case: Case) -> bool:
    return any(_MUSL.search(line[:_LONGEST]) for line in case.log.lines[:4000])


def _recipes(case: Case, name: str, asked: str, rule: str) -> tuple[Recipe, ...]:
    if _musl(case):
        return (
            Recipe(
                title="Take a system with glibc, such as Debian, in the place of Alpine",
                snippet=Snippet(
                    where="the first line of the Dockerfile",
                    before="FROM python:3.12-alpine",
                    after="FROM python:3.12-slim",
                ),
            ),
        )
    release = rule.removeprefix("==")
    if name == "torch" and rule.startswith("==") and is_version(release.partition("+")[0]):
        pythons = offers.pythons_of_torch(case.catalog, release.partition("+")[0])
        take = offers.usual(tuple(one for one in pythons if one != Inventory(case).python()))
        if take:
            return (offers.new_environment(take),)
    if any(_INDEX.search(line[:_LONGEST]) for line in case.log.lines[:4000]):
        return (
            Recipe(
                title=f"Install {name} from the usual index first, then repeat the command",
                note="--extra-index-url in the place of --index-url asks both at once.",
                steps=(Action(install=(asked,), options=(Option.HOLD_TORCH,)),),
            ),
        )
    return (
        Recipe(
            title=f"See which releases of {name} there are for this Python",
            steps=(Action(run=("{python.executable}", "-m", "pip", "index", "versions", name)),),
            lasting=False,
        ),
    )
