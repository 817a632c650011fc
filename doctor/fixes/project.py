"""What the lock file of a project says of a fix.

What the lock does not know is undone by the next `uv run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.requirements import normalize_name
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.fixes import Command, Fix, Step

_UNDONE = (
    "Give the releases to `uv add` as well: "
    "else the next `uv run` or `uv sync` puts the locked ones back."
)
_ABOUT = ("requires.", "package.", "extension.")


def kept_to_lock(found: Detection, fixes: Sequence[Fix], facts: Facts) -> tuple[Fix, ...]:
    """Return the fixes of a finding in a project of uv.

    First what the lock says, where the environment departed from it.
    """
    lock = str(value_of(facts, "python.lock") or "")
    if not lock.endswith("uv.lock"):
        return tuple(fixes)
    told = tuple(_undone(fix) for fix in fixes)
    differs = value_of(facts, "python.lock_differs")
    moved = sorted(
        name
        for name in (differs if isinstance(differs, dict) else {})
        if name in _about(found, fixes)
    )
    return (_sync(lock, moved), *told) if moved else told


def _sync(lock: str, moved: Sequence[str]) -> Fix:
    named = ", ".join(moved[:3]) + (" …" if len(moved) > len(moved[:3]) else "")
    return Fix(
        kind="reinstall",
        title=f"Put back what uv.lock says; it names another release of {named}",
        steps=(
            Step(
                command=Command(
                    argv=("uv", "sync", "--inexact"),
                    cwd=lock.removesuffix("uv.lock").rstrip("/\\") or None,
                )
            ),
        ),
    )


def _undone(fix: Fix) -> Fix:
    if not any(_is_install(command) for command in fix.commands):
        return fix
    return msgspec.structs.replace(fix, note=f"{fix.note} {_UNDONE}".strip(), lasting=False)


def _is_install(step: Command) -> bool:
    return "pip" in step.argv and ("install" in step.argv or "uninstall" in step.argv)


def _about(found: Detection, fixes: Sequence[Fix]) -> frozenset[str]:
    """Name the packages that a finding is about: those of its evidence, and what its fixes move."""
    return frozenset(normalize_name(name) for name in (*_cited(found), *_moved(fixes)))


def _cited(found: Detection) -> Iterator[str]:
    for piece in found.evidence:
        if piece.fact.startswith(_ABOUT):
            yield from piece.fact.split(".")[1:3]


def _moved(fixes: Sequence[Fix]) -> Iterator[str]:
    for step in (one for fix in fixes for one in fix.commands if _is_install(one)):
        yield from (
            word.partition("=")[0].rstrip("<>~!") for word in step.argv if word[:1].isalpha()
        )
