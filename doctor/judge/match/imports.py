"""Packages that do not import, told once for each failure.

What fails with another package's failure is told with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from doctor.base.globs import matches_any
from doctor.facts.placeholders import placeholders
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.issues import Evaluation, cases_of
from doctor.judge.match.proofs import CaseRef
from doctor.judge.match.requirements import newer, restore, unmet_of
from doctor.model.facts import Facts
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Recipe
from doctor.model.observation import Observation
from doctor.model.outcomes import RED
from doctor.model.roles import Role, check_of, has_role
from doctor.model.scales import Confidence, Severity

_CHECK = check_of(Role.IMPORTS_PACKAGES)
_SHOWN = 160
_LOOK = Recipe(
    title="See this check alone",
    steps=(
        Action(run=("doctor", "check", "--python", "{python.executable}", "--only", _CHECK, "-v")),
    ),
    lasting=False,
)


def broken_imports(
    observation: Observation, explained: frozenset[CaseRef], told: Sequence[Detection], target: str
) -> Iterator[Detection]:
    """Yield an error for each failed import that no other finding covers."""
    failed = _failed(observation)
    if any(one.id.startswith("reach/") or matches_any("reach/cuda", one.symptoms) for one in told):
        failed = {
            name: said for name, said in failed.items() if name not in _wanting_gpus(observation)
        }
    causes = {name: _cause(name, failed) for name in failed}
    spoken = {part for one in told for part in one.id.split("/")[1:]}
    for name, words in failed.items():
        if (
            causes[name] == name
            and name not in spoken
            and CaseRef(_CHECK, None, name) not in explained
        ):
            followers = [
                other for other, cause in causes.items() if cause == name and other != name
            ]
            yield _broken(name, words, followers, observation.facts, target)


def one_for_each_import(
    issues: Sequence[Detection], generic: Sequence[Detection], unnamed: Sequence[Evaluation]
) -> tuple[list[Detection], list[Detection]]:
    """Return both lists with one finding for each failed import.

    `unnamed` are known issues whose fixes cannot name the package. Where the words of failed
    imports are all that speaks for one, its cause goes to the findings that name the package.
    """
    broken = {one.id: one for one in generic if one.id.startswith("import/")}
    known = {one.id: one for one in issues}
    for each in unnamed:
        outcomes = [match.text.outcome for match in each.matches]
        if not all(one and has_role(one.id, Role.IMPORTS_PACKAGES) for one in outcomes):
            continue
        named = {f"import/{case.case}" for case in cases_of(each.matches)} & {*broken}
        if not named or (issue := known.pop(each.id, None)) is None:
            continue
        for name in named:
            one = broken[name]
            broken[name] = msgspec.structs.replace(
                one,
                message=f"{each.title} ({each.id}). {each.cause} {one.message}",
                recipes=(*one.recipes[:-1], *_naming(issue.recipes), *one.recipes[-1:]),
                references=tuple(dict.fromkeys((*one.references, *issue.references))),
            )
    return list(known.values()), [broken.get(one.id, one) for one in generic]


def _naming(recipes: Sequence[Recipe]) -> list[Recipe]:
    """Return the recipes that name all that they install."""
    return [
        recipe
        for recipe in recipes
        if not placeholders(
            name for step in recipe.steps for name in (*step.install, *step.uninstall)
        )
    ]


def accounted_imports(observation: Observation) -> frozenset[CaseRef]:
    """Return the red cases of the check.

    Each is told here, or by what speaks of the same failure.
    """
    return frozenset(CaseRef(_CHECK, None, name) for name in _failed(observation))


def _failed(observation: Observation) -> dict[str, str]:
    """Return what each package said that does not import, in the order of the check.

    What others stand on comes first.
    """
    outcomes = [
        outcome for outcome in observation.outcomes if has_role(outcome.id, Role.IMPORTS_PACKAGES)
    ]
    return {
        name: case.reason
        for outcome in outcomes
        for name, case in outcome.cases.items()
        if case.verdict in RED
    }


def _wanting_gpus(observation: Observation) -> frozenset[str]:
    """Return the packages that say that there is no GPU.

    No failure of their own where torch does not reach it either.
    """
    outcomes = [
        outcome for outcome in observation.outcomes if has_role(outcome.id, Role.IMPORTS_PACKAGES)
    ]
    return frozenset(name for outcome in outcomes for name in outcome.data.get("want_gpu") or ())


def _cause(name: str, failed: Mapping[str, str]) -> str:
    """Return the first package whose failure stands in this one's words."""
    words = failed[name]
    return next(
        (
            other
            for other, said in failed.items()
            if other == name or (_core(said) and _core(said) in words)
        ),
        name,
    )


def _core(said: str) -> str:
    """Return the text of an exception, without its class and without who raised it."""
    return said.partition(" (raised in ")[0].partition(" (it began with ")[0].partition(": ")[2]


def _broken(
    name: str, words: str, followers: Sequence[str], facts: Facts, target: str
) -> Detection:
    unmet = unmet_of(name, facts)
    short = words.partition(" (raised in ")[0]
    return Detection(
        id=f"import/{name}",
        target=target,
        title=f"{name} does not import: {short[:_SHOWN]}{'…' if len(short) > _SHOWN else ''}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="The import was tried in a process of its own and failed."
        + (
            f" {', '.join(followers)} {'fails' if len(followers) == 1 else 'fail'} with it."
            if followers
            else ""
        ),
        evidence=(
            Evidence(kind=EvidenceKind.OUTCOME, text=f"{name}: {words}", source=_CHECK),
            *(fact_evidence(one.fact("met"), facts) for one in unmet),
        ),
        recipes=(*(restore(name, unmet, facts) if unmet else ()), newer(name, facts), _LOOK),
    )
