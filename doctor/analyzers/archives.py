"""Explain files that arrived damaged, and lock files that an installer cannot read.

| event | what is said of it |
| --- | --- |
| archive-hash-unknown | Poetry's cache or its lock has another file than the index |
| archive-record-differs | the wheel contradicts itself, and new releases of Poetry refuse it |
| lock-unreadable | uv.lock was edited or merged by hand, or written by a newer uv |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import command
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what an installer says of its files."""
    yield from explained(case, _TABLE)


_NO_WHEEL = ("torch/no-wheel-for-this-python", "torch/release-not-on-this-index")
_TABLE: dict[str, Text] = {
    "archive-hash-unknown": Text(
        "The file of {package} {version} is not the one that poetry.lock expects",
        "Either the download was cut short, and Poetry's cache holds the damaged file, or the lock "
        "was written before the index changed its files. The interpreter plays no part.",
        (
            Recipe(
                title="Empty Poetry's cache, and install again",
                steps=(
                    Action(run=("poetry", "cache", "clear", "--all", "--no-interaction", ".")),
                    Action(run=("poetry", "install")),
                ),
                note="If the same hash comes again, the lock is behind: run poetry lock, then "
                "poetry install.",
            ),
            Recipe(
                title="Write the lock anew, and install",
                use_if=("the same hash comes again after that",),
                steps=(Action(run=("poetry", "lock")), Action(run=("poetry", "install"))),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=_NO_WHEEL,
    ),
    "archive-record-differs": Text(
        "Poetry refuses a wheel that contradicts itself: {member} is not as its RECORD says",
        "Poetry 1.4.1 checks each file of a wheel against the list in it, and several wheels of "
        "torch before 2.0 have a METADATA that was changed afterwards. The download is whole. "
        "Poetry 1.4.2 and later only warn of it.",
        (
            command(
                "Take a Poetry that only warns of it, and install again",
                "poetry",
                "self",
                "update",
                note="Where Poetry was installed by pipx or pip, update it there "
                "(pipx upgrade poetry).",
            ),
            command(
                "Have Poetry install by pip, which does not check it",
                *("poetry", "config", "installer.modern-installation", "false"),
                use_if=("Poetry is older than 2.0 and cannot be updated",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=_NO_WHEEL,
    ),
    "lock-unreadable": Text(
        "uv cannot read {file}: it was edited or merged by hand, or a newer uv wrote it",
        "The line below names the place. uv writes this file whole, so that it can be made anew "
        "from pyproject.toml; only the chosen releases may change by that.",
        (
            Recipe(
                title="Update uv, which reads what a newer one wrote, and install again",
                steps=(
                    Action(run=("uv", "self", "update")),
                    Action(run=("uv", "sync")),
                ),
                note="Where uv was installed by pip, write pip install --upgrade uv.",
            ),
            Recipe(
                title="Write the lock anew",
                use_if=("the newest uv cannot read it either",),
                note="The old one is kept as uv.lock.old.",
                steps=(
                    Action(
                        run=(
                            *("{python.executable}", "-c"),
                            "import os; os.replace('uv.lock', 'uv.lock.old')",
                        )
                    ),
                    Action(run=("uv", "lock")),
                    Action(run=("uv", "sync")),
                ),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
