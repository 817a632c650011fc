"""Recorded and made-up environments, and what becomes of them after a plan."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.base.requirements import meets
from doctor.catalog import loading
from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, absent, present
from doctor.model.findings import Detection
from doctor.model.observation import Observation
from doctor.model.plans import Plan
from doctor.pipeline.snapshots import read_observation
from doctor.planning.overlay import Changes, laid_over
from doctor.planning.plan import plan

_RECORDED = Path(__file__).parents[2] / "fixtures" / "plans"


@functools.cache
def catalog() -> Catalog:
    return loading.load()


@functools.cache
def recorded(name: str) -> tuple[tuple[Detection, ...], Facts, Plan]:
    """Return what was found in a recorded environment, its facts and the plan."""
    return judged(read_observation(_RECORDED / f"{name}.json"))


def judged(seen: Observation) -> tuple[tuple[Detection, ...], Facts, Plan]:
    facts = derive(seen.facts, catalog())
    found = diagnose(msgspec.structs.replace(seen, facts=facts), catalog()).findings
    return found, facts, plan(found, facts, catalog())


def after(done: Plan, facts: Facts) -> Observation:
    """Return the observation of the environment in which a plan was carried out."""
    changes = Changes(
        moved={one.name: one.after or "" for one in done.changes if one.after is not None},
        removed=frozenset(one.name for one in done.changes if one.after is None),
        swept=True,
    )
    return Observation(facts=laid_over(facts, changes, catalog()), static=True)


def made_up(
    packages: Mapping[str, str], needs: Sequence[tuple[str, str, str]], cuda: str = ""
) -> Observation:
    """Return the observation of an environment of packages and what each asks for."""
    facts: dict[str, Fact] = {
        "packages": present(dict(packages), ""),
        "host.os": present("linux", ""),
        "python.version": present("3.11.7", ""),
        "python.executable": present("/env/bin/python", ""),
        "python.has_pip": present(True, ""),
        "cuda_packages.leftover": absent(""),
        "python.left_behind": absent(""),
    }
    if cuda:
        facts |= {
            "torch.version": present(packages["torch"], ""),
            "torch.build": present("cuda", ""),
            "torch.cuda_version": present(cuda, ""),
        }
    facts |= {f"package.{name}.version": present(one, "") for name, one in packages.items()}
    for who, wanted, specifier in needs:
        name = f"requires.{who}.{wanted}"
        facts[f"{name}.specifier"] = present(specifier, "")
        facts[f"{name}.met"] = present(meets(packages[wanted], specifier), "")
        facts[f"{name}.installed"] = present(packages[wanted], "")
    return Observation(facts=facts, static=True)
