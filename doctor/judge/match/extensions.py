"""Report compiled packages with missing libraries or symbols, once for each package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.base.versions import parse, public
from doctor.facts.families import Requirement, packages_with_extensions
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.proofs import CaseRef
from doctor.judge.match.requirements import COMPANIONS, newer, restore
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Option, Recipe
from doctor.model.observation import Observation
from doctor.model.outcomes import Outcome
from doctor.model.roles import Role, check_of, has_role
from doctor.model.scales import Confidence, Severity

_CHECK = check_of(Role.LOADS_EXTENSIONS)
_RELEASE = Pattern(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\b")
_GENERATION = Pattern(r"^(cupy-cuda)(\d\d)(x)$")

_TELLING = ("undefined_symbols", "missing_libraries", "system_versions", "unsupported_gpus")
_SITES = ("site-packages", "dist-packages")
_BUILT_FOR = {
    "torch": "{package} was built for another torch than {torch}",
    "cxx11-abi": "{package} was built with the other C++ ABI than torch {torch}",
    "cuda": "{package} was built for another release of a CUDA library",
}
_BUILT_FOR_RELEASES = "{package} was built for {releases}; torch {torch} is installed"
_TITLES = {
    "missing_libraries": "{package} was built for another CUDA or torch: {value} is not here",
    "system_versions": "{package} was compiled for a newer system: it needs {value}",
    "unsupported_gpus": "{package} holds no code for a GPU of compute capability {value}",
}
_MEANINGS = {
    "undefined_symbols": (
        "A compiled file asks torch or a CUDA library for a function that the installed "
        "release does not have, so the loader refuses the "
        "file. What of the package needs it fails at import or at the first call."
    ),
    "missing_libraries": (
        "A compiled file needs a library that neither torch, nor NVIDIA's packages, nor "
        "the loader's folders hold. The number behind .so "
        "is the generation that the file was compiled for. What of the package needs it "
        "fails at import or falls back to something slower."
    ),
    "system_versions": (
        "The C or C++ library that this process loads is older than the one that the "
        "package was compiled with, so the loader refuses "
        "the file. The C library is part of the operating system and cannot be replaced "
        "on its own; the C++ library can."
    ),
    "unsupported_gpus": (
        "None of the package's compiled files holds machine code, or PTX, that this GPU "
        "runs: the first kernel ends with "
        '"no kernel image is available for execution on the device".'
    ),
}


def broken_extensions(
    observation: Observation, cited: frozenset[str], target: str
) -> Iterator[Detection]:
    """Yield a finding for each package whose compiled files cannot work here.

    It is an error where the package did not load when that was tried, or where a file is a module
    of its own; else a warning, for packages do without some of their files.
    """
    facts, failed = observation.facts, _failed(observation.outcomes)
    for package in packages_with_extensions(facts):
        names = [
            name for kind in _TELLING if value_of(facts, name := f"extension.{package}.{kind}")
        ]
        asks_for_torch = Requirement(package, "torch").fact("met")
        if names and not any(
            name.startswith(f"extension.{package}.") or name == asks_for_torch for name in cited
        ):
            yield _broken(package, names, facts, is_red=package in failed, target=target)


def accounted(observation: Observation, found: Sequence[Detection]) -> frozenset[CaseRef]:
    """Return the red cases of the check that these findings explain.

    Those of their packages, and `others` where it speaks of no other.
    """
    told = {finding.id.partition("/")[2] for finding in found}
    cases = {
        name
        for outcome in observation.outcomes
        if has_role(outcome.id, Role.LOADS_EXTENSIONS)
        for name in outcome.cases
    }
    rest = _failed(observation.outcomes) - cases
    return frozenset(
        CaseRef(_CHECK, None, name)
        for name in (*told, *(("others",) if rest and rest <= told else ()))
    )


def _failed(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """Return the packages of which the check says that they did not load.

    What it says comes from another process, or a file.
    """
    said = [
        outcome.data.get("failed")
        for outcome in outcomes
        if has_role(outcome.id, Role.LOADS_EXTENSIONS)
    ]
    return frozenset(str(name) for failed in said if isinstance(failed, dict) for name in failed)


def _broken(
    package: str, names: Sequence[str], facts: Facts, *, is_red: bool, target: str
) -> Detection:
    kind = names[0].rpartition(".")[2]
    of_torch, built_for = Requirement(package, "torch"), f"extension.{package}.built_for"
    unmet = (of_torch,) if of_torch.is_unmet(facts) else ()
    seen = (
        [Evidence(kind=EvidenceKind.OUTCOME, text=f"{_CHECK} {package} failed", source="")]
        if is_red
        else []
    )
    return Detection(
        id=f"extension/{package}",
        target=target,
        title=_title(package, kind, facts),
        severity=Severity.ERROR
        if is_red or _is_module(facts[names[0]].source)
        else Severity.WARNING,
        confidence=Confidence.HIGH,
        message=_MEANINGS[kind],
        evidence=(
            *seen,
            *(fact_evidence(name, facts) for name in (*names, *(one.fact("met") for one in unmet))),
            *(fact_evidence(name, facts) for name in (built_for,) if value_of(facts, name)),
        ),
        recipes=(
            *(restore(package, unmet, facts) if unmet else _moved(package, facts)),
            *_rebuilt(package),
        ),
    )


def _is_module(source: str) -> bool:
    """Say whether a compiled file is a module of its own, that programs import.

    Flash_attn_2_cuda lies beside the packages.
    """
    return source.rpartition("/")[0].rpartition("/")[2] in _SITES


def _title(package: str, kind: str, facts: Facts) -> str:
    means = str(value_of(facts, f"extension.{package}.undefined_means"))
    releases = str(value_of(facts, f"extension.{package}.built_for") or "")
    template = _TITLES.get(kind) or _BUILT_FOR.get(means, _BUILT_FOR["torch"])
    if kind == "undefined_symbols" and releases.startswith("torch "):
        template = _BUILT_FOR_RELEASES
    values = value_of(facts, f"extension.{package}.{kind}")
    value = str(values[0]) if isinstance(values, list | tuple) and values else str(values)
    return template.format(
        package=package,
        value=value,
        torch=value_of(facts, "torch.version") or "",
        releases=releases,
    )


def _moved(package: str, facts: Facts) -> tuple[Recipe, ...]:
    """Return what to move: torch, if the package was built for a newer one, else the package."""
    releases = str(value_of(facts, f"extension.{package}.built_for") or "")
    here = parse(public(str(value_of(facts, "torch.version") or "")))
    versions = _RELEASE.findall(releases) if releases.startswith("torch ") else []
    first = parse(versions[0]) if versions else None
    if first is None or here is None or first <= here:
        return _newer(package, facts)
    wanted = versions[-1]
    return (
        Recipe(
            title=f"Move torch to {wanted}, which {package} was built for",
            steps=(Action(install=(f"torch=={wanted}",), companions=COMPANIONS),),
        ),
    )


def _newer(package: str, facts: Facts) -> tuple[Recipe, ...]:
    """Return how to come by a build that fits; a name that holds a CUDA release changes with it."""
    generation = str(value_of(facts, "torch.cuda_major") or "")
    renamed = _GENERATION.sub(rf"\g<1>{generation}\g<3>", package) if generation else package
    if renamed == package:
        return (newer(package, facts),)
    title = f"Take {renamed}, the package for CUDA {generation}, in the place of {package}"
    return (
        Recipe(
            title=title,
            steps=(
                Action(uninstall=(package,)),
                Action(install=(renamed,), options=(Option.HOLD_TORCH,)),
            ),
        ),
    )


def _rebuilt(package: str) -> tuple[Recipe, ...]:
    return (
        Recipe(
            title=f"Build {package} again on this machine, against this torch",
            use_if=(f"{package} comes as source, or was built here",),
            steps=(
                Action(
                    install=(package,),
                    options=(
                        Option.REINSTALL,
                        Option.NO_DEPS,
                        Option.NO_CACHE,
                        Option.NO_BUILD_ISOLATION,
                    ),
                ),
            ),
        ),
    )
