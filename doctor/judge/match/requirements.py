"""Requirements of the stack's packages that are not met: one finding for each package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.versions import parse, public
from doctor.facts.devices import texts
from doctor.facts.families import Requirement, requirements
from doctor.judge.match.evidence import fact_evidence, requirement_sentence
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity

_NAMED = 3
COMPANIONS = ("torchvision", "torchaudio", "xformers")
"""What is compiled for one torch release each, and moves along with it."""


def unmet_requirements(facts: Facts, cited: frozenset[str], target: str) -> Iterator[Detection]:
    """Yield a warning for each package of the stack that asks for what is not installed."""
    unmet: dict[str, list[Requirement]] = {}
    leftover = texts(facts, "cuda_packages.leftover")
    for one in requirements(facts):
        if one.package not in leftover and one.fact("met") not in cited and one.is_unmet(facts):
            unmet.setdefault(one.package, []).append(one)
    for package, wishes in unmet.items():
        yield _unmet(package, wishes, facts, target)


def unmet_of(package: str, facts: Facts) -> tuple[Requirement, ...]:
    """Return the requirements of a package that are not met."""
    return tuple(
        one for one in requirements(facts) if one.package == package and one.is_unmet(facts)
    )


def _unmet(package: str, wishes: Sequence[Requirement], facts: Facts, target: str) -> Detection:
    return Detection(
        id=f"requires/{package}",
        target=target,
        title=_title(package, wishes, facts),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        message=(
            f"What is installed is not what {package} was released with. Most often a later "
            "installation moved one of the two."
        ),
        evidence=tuple(
            fact_evidence(name, facts)
            for name in (one.fact(member) for member in ("met", "moved") for one in wishes)
            if value_of(facts, name) is not None
        ),
        recipes=restore(package, wishes, facts),
    )


def _title(package: str, wishes: Sequence[Requirement], facts: Facts) -> str:
    if len(wishes) == 1:
        return requirement_sentence(wishes[0].fact("met"), facts).replace("; ", ", and ")
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


def restore(package: str, wishes: Sequence[Requirement], facts: Facts) -> tuple[Recipe, ...]:
    """Return what to install.

    Where torch itself moved on, the package is what to move by preference.
    """
    what = wishes[0].wanted if len(wishes) == 1 else "packages"
    wanted = tuple(one.wanted + one.text("specifier", facts) for one in wishes)
    title = f"Install the {what} that {package} asks for"
    torch = next((wish for wish in wishes if wish.wanted == "torch"), None)
    if torch is None:
        return (
            Recipe(
                title=title,
                steps=(Action(install=wanted, options=(Option.HOLD_TORCH,)),),
            ),
        )
    others = tuple(name for name in COMPANIONS if name != package)
    give = Recipe(
        title=title,
        steps=(Action(install=wanted, companions=others),),
    )
    return (
        (newer(package, facts), give)
        if _passed(_here(torch, facts), torch.text("specifier", facts))
        else (give,)
    )


def _here(wish: Requirement, facts: Facts) -> str:
    return public(wish.text("installed", facts))


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
