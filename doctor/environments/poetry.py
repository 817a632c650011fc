"""Ask poetry and pixi, where they have a dry run.

https://python-poetry.org/docs/cli/ and https://pixi.sh/latest/reference/cli/pixi/update/
"""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.base.patterns import compile_pattern
from doctor.base.requirements import normalize_name
from doctor.environments.answers import Answer, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question, changes_of
from doctor.environments.statements import failure

_DRY = frozenset({"add", "update", "remove", "install", "sync"})
_ROW = (
    r"^ {1,8}[-•*] (?P<verb>Installing|Updating|Downgrading|Removing) "
    r"(?P<name>[A-Za-z0-9][\w.-]{0,200}) \((?P<version>[^\s)]{1,100})"
    r"(?: -> (?P<after>[^\s)]{1,100}))?"
)


def ask_poetry(question: Question) -> Answer:
    """Return what a command of poetry would change."""
    verb = next((one for one in question.arguments if not one.startswith("-")), "")
    if verb not in _DRY:
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=f"poetry {verb} has no dry run")
    done = question.run(*question.arguments, "--dry-run", "--no-ansi", "--no-interaction")
    if isinstance(done, NoAnswer):
        return done
    if not done.ok:
        return failure(f"{done.errors}\n{done.output}")
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for line in done.output.splitlines():
        row = compile_pattern(_ROW).search(line[:400])
        if row is None or "Skipped" in line or "Already installed" in line:
            continue
        name, version = normalize_name(row.groups["name"]), row.groups["version"]
        if row.groups["verb"] == "Installing":
            after[name] = version
        else:
            before[name] = version
            if row.groups.get("after"):
                after[name] = row.groups["after"]
    return Resolution(changes=changes_of(before, after), seconds=done.seconds)


def ask_pixi(question: Question) -> Answer:
    """Return what `pixi update` would write into pixi.lock, for all its platforms together."""
    verb = next((one for one in question.arguments if not one.startswith("-")), "")
    if verb != "update":
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=f"pixi {verb} has no dry run")
    done = question.run(*question.arguments, "--dry-run", "--json")
    if isinstance(done, NoAnswer):
        return done
    if not done.ok:
        return failure(f"{done.errors}\n{done.output}")
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    try:
        document: Any = msgspec.json.decode(done.output or "{}")
    except ValueError:
        return NoAnswer(why=NoAnswerReason.FAILED, text="pixi wrote no JSON")
    environments = document.get("environment", {}) if isinstance(document, dict) else {}
    for platforms in environments.values():
        for rows in platforms.values():
            for row in rows:
                name = normalize_name(str(row.get("name", "")))
                for sides, key in ((before, "before"), (after, "after")):
                    if isinstance(row.get(key), dict):
                        sides[name] = str(row[key].get("version"))
    return Resolution(changes=changes_of(before, after), seconds=done.seconds)
