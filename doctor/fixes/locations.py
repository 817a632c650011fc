"""Where in the project a finding is mended.

The line that asks for the package that its fix, or its evidence, is about.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence

from doctor.base.requirements import normalize_name
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Evidence, Place
from doctor.model.fixes import Fix

_IN_NAMES = string.ascii_letters + string.digits + "._-"
_ABOUT = ("requires.", "package.", "extension.", "crate.")
_TORCH = frozenset({"torch.version", "torch.release", "torch.minor", "torch.local", "torch.build"})


def location(
    id_: str, fixes: Sequence[Fix], evidence: Sequence[Evidence], facts: Facts
) -> Place | None:
    """Return where in the project a finding is fixed.

    None where no manifest asks for its package.
    """
    if not any(name.startswith("manifest.") for name in facts):
        return None
    culprits = [name for name in _culprits(fixes, evidence, facts) if _pinned(name, facts)]
    # Of several that a fix moves, the one in the id of the finding is the one that does not fit.
    own = [name for name in culprits if name in id_.split("/")]
    return next((_pinned(name, facts) for name in (*own, *culprits)), None)


def _pinned(name: str, facts: Facts) -> Place | None:
    match value_of(facts, f"manifest.{name}"):
        case {"path": str(path), "line": int(line)}:
            return Place(path=path, line=line)
        case _:
            return None


def _culprits(fixes: Sequence[Fix], evidence: Sequence[Evidence], facts: Facts) -> Iterator[str]:
    """Yield what the first fix that installs anything moves.

    Where none does, what the evidence speaks of.
    """
    moved = [
        names
        for fix in fixes
        if (names := _moved([word for one in fix.commands for word in _arguments(one.argv)], facts))
    ]
    if moved:
        yield from moved[0]
    else:
        yield from (name for piece in evidence if (name := _about(piece.fact)))


def _arguments(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return what an installer is told to install or update."""
    verbs = [
        number
        for number, word in enumerate(argv)
        if word in ("install", "uninstall", "add", "update")
    ]
    return argv[verbs[0] + 1 :] if verbs else ()


def _moved(words: list[str], facts: Facts) -> list[str]:
    """Return the packages of an install command, those that it holds where they are last."""
    told = [_split(word) for word in words]
    known = [
        (name, version in _versions(name, facts))
        for name, version in told
        if name and _pinned(name, facts)
    ]
    return [name for name, held in sorted(known, key=lambda each: each[1])]


def _split(word: str) -> tuple[str, str]:
    """Return name and exact version of a requirement.

    Both are empty for an option, an address or a program.
    """
    rest = word.lstrip(_IN_NAMES)
    name = word[: len(word) - len(rest)]
    fits = name[:1].isalnum() and (not rest or rest[0] in "[=<>!~@")
    return (normalize_name(name), rest.partition("==")[2]) if fits else ("", "")


def _versions(name: str, facts: Facts) -> set[object]:
    return {
        value_of(facts, fact)
        for fact in (
            f"package.{name}.version",
            *(("torch.version", "torch.release") if name == "torch" else ()),
        )
    }


def _about(fact: str) -> str:
    """Return the package that a fact speaks of; empty for one about the machine."""
    if fact in _TORCH:
        return "torch"
    if fact.startswith("cuda."):
        return "cuda"
    return fact.split(".")[1] if fact.startswith(_ABOUT) else ""
