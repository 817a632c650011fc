"""What a package of the stack asks for and does not get, told once for each package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.base.versions import parse, public
from doctor.facts.devices import texts
from doctor.facts.placeholders import as_text
from doctor.judge.match.evidence import fact_evidence, requirement
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity

_NAMED = 3
_COMPANIONS = ("torchvision", "torchaudio", "xformers")
"""What is compiled for one torch release each, and moves along with it."""


class Wish(NamedTuple):
    """A requirement that is not met: the fact that says so, what is wanted, and in which versions."""

    fact: str
    wanted: str
    specifier: str


def unmet_requirements(facts: Facts, cited: frozenset[str], target: str) -> Iterator[Detection]:
    """Yield a warning for each package of the stack that asks for something else than what is installed."""
    wishes: dict[str, list[Wish]] = {}
    leftover = texts(facts, "cuda_packages.leftover")
    for name in sorted(facts):
        if not name.startswith("requires.") or name.split(".")[1] in leftover:
            continue
        if name.endswith(".met") and name not in cited and value_of(facts, name) is False:
            wishes.setdefault(name.split(".")[1], []).append(_wish(name, facts))
    for package, unmet in wishes.items():
        yield _unmet(package, unmet, facts, target)


def restore(package: str, names: Sequence[str], facts: Facts) -> tuple[Recipe, ...]:
    """Return what to install where a package asks in vain for what these facts, `requires.PACKAGE.WANTED.met`, speak of."""
    return _restore(package, [_wish(name, facts) for name in names], facts)


def _wish(name: str, facts: Facts) -> Wish:
    pair = name.removeprefix("requires.").removesuffix(".met")
    return Wish(
        name, pair.partition(".")[2], as_text(value_of(facts, f"requires.{pair}.specifier") or "")
    )


def _unmet(package: str, wishes: Sequence[Wish], facts: Facts, target: str) -> Detection:
    moved = [wish.fact.removesuffix("met") + "moved" for wish in wishes]
    return Detection(
        id=f"requires/{package}",
        target=target,
        title=_title(package, wishes, facts),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        message=f"What is installed is not what {package} was released with. Most often a later installation moved one of the two.",
        evidence=tuple(
            fact_evidence(name, facts)
            for name in (*(wish.fact for wish in wishes), *moved)
            if value_of(facts, name) is not None
        ),
        recipes=_restore(package, wishes, facts),
    )


def _title(package: str, wishes: Sequence[Wish], facts: Facts) -> str:
    if len(wishes) == 1:
        return requirement(wishes[0].fact, facts).replace("; ", ", and ")
    named = ", ".join(wish.wanted for wish in wishes[:_NAMED]) + (
        " …" if len(wishes) > _NAMED else ""
    )
    return f"{package} does not find {len(wishes)} packages as it asks for them: {named}"


def newer(package: str, facts: Facts) -> Recipe:
    """Return how a package moves while torch stays.

    Never back, for a resolver that may go back goes years.
    """
    here = value_of(facts, f"package.{package}.version")
    return Recipe(
        title=f"Take a newer {package}, and leave torch where it is",
        steps=(
            Action(
                install=(f"{package}>={public(str(here))}" if here else package,),
                options=(
                    Option.UPGRADE,
                    Option.HOLD_TORCH,
                ),
            ),
        ),
    )


def _restore(package: str, wishes: Sequence[Wish], facts: Facts) -> tuple[Recipe, ...]:
    """Return what to install.

    Where torch itself moved on, the package is what to move by preference.
    """
    what = wishes[0].wanted if len(wishes) == 1 else "packages"
    wanted = tuple(f"{wish.wanted}{wish.specifier}" for wish in wishes)
    title = f"Install the {what} that {package} asks for"
    torch = next((wish for wish in wishes if wish.wanted == "torch"), None)
    if torch is None:
        return (
            Recipe(
                title=title,
                steps=(Action(install=wanted, options=(Option.HOLD_TORCH,)),),
            ),
        )
    others = tuple(name for name in _COMPANIONS if name != package)
    give = Recipe(
        title=title,
        steps=(Action(install=wanted, companions=others),),
    )
    return (
        (newer(package, facts), give) if _passed(_here(torch, facts), torch.specifier) else (give,)
    )


def _here(wish: Wish, facts: Facts) -> str:
    return public(as_text(value_of(facts, wish.fact.removesuffix("met") + "installed") or ""))


def _passed(version: str, specifier: str) -> bool:
    """Say whether a version lies above what a specifier takes, not below."""
    edges = [parse(clause.strip("=<>!~ ").removesuffix(".*")) for clause in specifier.split(",")]
    here = parse(version)
    return (
        here is not None
        and any(edge is not None and here > edge for edge in edges)
        and not any(
            clause.startswith(">") and edge is not None and here < edge
            for clause, edge in zip(specifier.split(","), edges, strict=True)
        )
    )
