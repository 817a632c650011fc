"""Ask conda, mamba or micromamba: `--dry-run --json`.

The solver names the packages that it would fetch, link and unlink
(https://docs.conda.io/projects/conda/en/stable/commands/install.html).
"""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.base.requirements import normalize_name
from doctor.environments.answers import Answer, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question, changes_of
from doctor.environments.statements import failure

_VERBS = frozenset({"install", "create", "remove", "uninstall", "update", "upgrade"})


def ask(question: Question) -> Answer:
    """Return what a command of conda would change."""
    words = [one for one in question.arguments if not one.startswith("-")]
    verb = words[1] if words[:1] == ["env"] and len(words) > 1 else (words or [""])[0]
    if verb not in _VERBS:
        text = f"{question.program[0]} {verb} has no dry run"
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=text)
    arguments = [one for one in question.arguments if one not in ("-y", "--yes", "-q", "--quiet")]
    done = question.run(*arguments, "--dry-run", "--json")
    if isinstance(done, NoAnswer):
        return done
    document = _document(done.output)
    actions = document.get("actions")
    if isinstance(actions, dict):
        return Resolution(
            changes=changes_of(_rows(actions, "UNLINK"), _rows(actions, "LINK")),
            download_bytes=_bytes(actions),
            seconds=done.seconds,
        )
    if done.ok and document.get("success", True):
        return Resolution(download_bytes=0, seconds=done.seconds)
    said = [document.get("exception_name"), document.get("error") or document.get("message")]
    said += [*(document.get("solver_problems") or ()), done.errors]
    return failure("\n".join(str(one) for one in said if one) or done.output)


def _document(text: str) -> dict[str, Any]:
    """Return the document of an output; lines of progress may stand before it."""
    for at in (text.find("{"), text.find("\n{") + 1):
        if at >= 0:
            try:
                found: Any = msgspec.json.decode(text[at:].strip())
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                return found
    return {}


def _rows(actions: dict[str, Any], kind: str) -> dict[str, str | None]:
    rows = actions.get(kind) or ()
    return {
        normalize_name(str(one["name"])): str(one.get("version"))
        for one in rows
        if isinstance(one, dict) and "name" in one
    }


def _bytes(actions: dict[str, Any]) -> int | None:
    """Return the bytes that are fetched; what lies in the package cache is not among them."""
    sizes = [one.get("size") for one in actions.get("FETCH") or () if isinstance(one, dict)]
    return None if None in sizes else sum(size for size in sizes if isinstance(size, int))
