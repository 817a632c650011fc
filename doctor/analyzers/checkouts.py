"""Offer another state of the sources, where a git checkout does not build."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.analyzers.recipes import command
from doctor.model.issues import Action, Recipe

_GIT = re.compile(
    r"\bgit (?:pull|clone|rev-parse|checkout|fetch|describe|submodule)\b"
    r"|\bcommit[ :`'\"]{1,4}[0-9a-f]{7,40}\b|\b(?:latest|last|current) commit\b|\b[Mm]aster branch"
)
_NAMED = re.compile(r"\bcommit[ :`'\"]{1,4}(?P<commit>[0-9a-f]{7,40})\b")
_GOOD = re.compile(r"(?i)\b(?:last|previous|good|works?|worked|success\w{0,5}|was fine)\b")
_CLEAN = re.compile(
    r"--clean-first|\brm -r?f?r? {0,2}\S{0,40}build\b|\bmake clean\b|\bgit clean\b|rmdir /s"
    r"|--fresh\b|\bcargo clean\b"
)
_LONGEST = 500


def is_checkout(case: Case) -> bool:
    """Say whether a log shows that its sources are a git checkout."""
    return any(_GIT.search(line[:_LONGEST]) for line in case.log.lines[:5000])


def _was_clean(case: Case) -> bool:
    """Say whether the build began without the objects of an earlier one."""
    return any(_CLEAN.search(line[:_LONGEST]) for line in case.log.lines[:5000])


def other_state(case: Case) -> tuple[Recipe, ...]:
    """Return the recipes for a newer state of a checkout, and for one that did build."""
    condition = () if is_checkout(case) else ("the sources are a git checkout",)
    good = next(
        (
            match["commit"]
            for line in case.log.lines[:5000]
            if (match := _NAMED.search(line[:_LONGEST])) and _GOOD.search(line[:_LONGEST])
        ),
        "",
    )
    return (
        command(
            "Take the newest state of the sources, and build again",
            *("git", "pull", "--ff-only"),
            use_if=condition,
            note="Mistakes that stop a build are often mended within a day. Where the newest "
            "state fails too, report it to the project, with the compiler's release.",
        ),
        command(
            f"Go back to {good}, which did build" if good else "Go back to the commit before",
            *("git", "checkout", good or "HEAD~1"),
            use_if=condition
            if good
            else (*condition, "git pull brings nothing newer, or the build fails there too"),
            note="git switch - takes the newer state again.",
        ),
    )


def once_more(case: Case) -> tuple[Recipe, ...]:
    """Return what helps where a name of the package's own is missing; a clean build once only."""
    anew = Recipe(
        title="Build again in an empty folder",
        use_if=("the package was built in this folder before",),
        note="Remove the folder build of the package, or clone it anew; submodules belong to it.",
        steps=(Action(run=("git", "submodule", "update", "--init", "--recursive")),),
    )
    state = other_state(case) if is_checkout(case) else ()
    return state if state and _was_clean(case) else (*state[:1], anew, *state[1:])
