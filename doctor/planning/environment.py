"""The environment that a plan is for: what is installed, which rules count, what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from doctor.base.versions import parse, public
from doctor.facts.devices import texts
from doctor.facts.families import named_packages, requirement_of, requirements
from doctor.fixes.effect import name_of, packages
from doctor.fixes.wishes import wishes_for
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, value_of
from doctor.model.findings import Detection
from doctor.model.observation import Observation
from doctor.model.scales import Severity
from doctor.planning.askers import Way, way_of
from doctor.planning.goals import rewritten
from doctor.planning.knowledge import Knowledge
from doctor.planning.overlay import Changes, laid_over
from doctor.planning.resolver import Need

_OF_JAXLIB = frozenset(
    f"jax-cuda{generation}-{part}" for generation in (12, 13) for part in ("plugin", "pjrt")
)
"""Parts of JAX that fit the jaxlib of their own release only, and whose METADATA does not say so.

Beside another one JAX ends in a segmentation fault or does without the GPU:
https://github.com/jax-ml/jax/issues/24901
"""


def is_same(here: str, release: str) -> bool:
    """Say whether an installed version is a release, with or without its local part."""
    return release in (here, public(here)) or (bool(here) and parse(public(here)) == parse(release))


class After(msgspec.Struct, frozen=True):
    """The facts after some changes, and what they alone show.

    `shown` has no notes; `notes` are the ids of those that were found before.
    """

    facts: Mapping[str, Fact]
    shown: Mapping[str, Detection]
    notes: frozenset[str]


class Environment:
    """What is installed, what counts as a rule, and what was found."""

    def __init__(self, findings: Sequence[Detection], facts: Facts, catalog: Catalog) -> None:
        self.facts, self.catalog = facts, catalog
        self.findings = tuple(one for one in findings if one.severity is not Severity.NOTE)
        self.knowledge = Knowledge(catalog, facts)
        self.before = frozenset(one.id for one in findings)
        now = self._judged(dict(facts))
        self.static, self.notes = now.shown, now.notes
        self._after: dict[object, After] = {}

    def after(self, changes: Changes) -> After:
        """Return what the facts would be and show; a search asks for the same changes often."""
        key = changes.key
        if key not in self._after:
            self._after[key] = self._judged(laid_over(self.facts, changes, self.catalog))
        return self._after[key]

    def _judged(self, facts: dict[str, Fact]) -> After:
        found = diagnose(Observation(facts=facts, static=True), self.catalog).findings
        notes = {one.id for one in found if one.severity is Severity.NOTE}
        shown = {one.id: one for one in found if one.severity is not Severity.NOTE}
        return After(facts, shown, frozenset(notes & self.before))

    @cached_property
    def here(self) -> Mapping[str, str]:
        """Return every installed package and its version."""
        listed = packages(self.facts)
        every = listed or named_packages(self.facts)
        here = {str(name): str(version) for name, version in every.items()}
        torch = value_of(self.facts, "torch.release")
        # A folder without metadata is no torch that an installer would let be.
        return here | ({"torch": str(torch)} if torch and (not listed or "torch" in here) else {})

    @cached_property
    def asked_release(self) -> Mapping[str, str]:
        """Return the releases that the project pins or locks."""
        names = ("project.asked", "project.locked", "project.pinned")
        return {name: one for fact in names for name, one in self._of_project(fact).items()}

    @cached_property
    def pinned(self) -> Mapping[str, str]:
        """Return the packages that are installed in the release that the project pins."""
        return {
            name: release
            for name, release in self._of_project("project.pinned").items()
            if is_same(self.here.get(name, ""), release)
        }

    @cached_property
    def strays(self) -> frozenset[str]:
        """Return the packages that are installed in another release than the project pins."""
        pins = self._of_project("project.pinned")
        return frozenset(name for name in pins if name in self.here) - self.pinned.keys()

    def _of_project(self, fact: str) -> dict[str, str]:
        told = value_of(self.facts, fact)
        return (
            {str(name): str(release) for name, release in told.items()}
            if isinstance(told, dict)
            else {}
        )

    @cached_property
    def needs_of(self) -> Mapping[str, tuple[Need, ...]]:
        """Return what each installed package needs as long as it stays.

        A requirement that is not met and that no finding cites is let be.
        """
        cited = {piece.fact for found in self.findings for piece in found.evidence}
        leftover = set(texts(self.facts, "cuda_packages.leftover"))
        needs: dict[str, list[Need]] = {}
        for one in requirements(self.facts, "specifier"):
            specifier = one.text("specifier", self.facts)
            counts = one.package == "torch" or one.fact("met") in cited
            passed = not counts and (one.is_unmet(self.facts) or one.wanted not in self.here)
            if one.package in leftover or passed or specifier.startswith("@"):
                continue
            ranges = (specifier,) if specifier else ()
            needs.setdefault(one.package, []).append(Need(one.wanted, ranges, by=one.package))
        for name in self.compiled:
            if not any(need.name == "torch" for need in needs.get(name, ())):
                needs.setdefault(name, []).append(self._torch_of(name))
        for need in [one for one in needs.get("jax", ()) if one.name == "jaxlib"]:
            parts = sorted(_OF_JAXLIB & self.here.keys())
            needs["jax"] += (Need(name, need.alternatives, by="jax") for name in parts)
        return {name: tuple(found) for name, found in needs.items()}

    @cached_property
    def is_torch_in_question(self) -> bool:
        """Return whether what was found speaks of a package that was made for another torch."""
        return (
            "torch" not in self.here
            or any(wanted == "torch" for _, wanted in self.unmet)
            or any(
                value_of(self.facts, name)
                for name in self.facts
                if name.endswith(".undefined_symbols")
            )
        )

    @cached_property
    def is_torch_wanted(self) -> bool:
        """Return whether torch is here, or a finding or its fix asks for it."""
        if "torch" in self.here:
            return True
        cited = [
            pair[0].wanted
            for found in self.findings
            for piece in found.evidence
            if (pair := requirement_of(piece.fact))
        ]
        asked = (
            name_of(text)
            for found in self.findings
            for wish in wishes_for(found, self.facts)
            for part in wish.parts
            for text in part.asked
        )
        return "torch" in cited or "torch" in asked

    @cached_property
    def ways(self) -> Mapping[str, Way]:
        """Return the findings whose requirements are met as well if who asks moves, by id."""
        found = {one.id: way_of(one, self.facts) for one in self.findings}
        return {name: way for name, way in found.items() if way is not None}

    @cached_property
    def unmet(self) -> frozenset[tuple[str, str]]:
        """Return who asks in vain for what."""
        return frozenset(
            (one.package, one.wanted)
            for one in requirements(self.facts)
            if one.is_unmet(self.facts)
        )

    @cached_property
    def compiled(self) -> tuple[str, ...]:
        """Return the packages whose compiled files are made for the torch that is installed."""
        names = {name.split(".")[1] for name in self.facts if name.startswith("extension.")}
        names |= {
            name
            for name, version in self.here.items()
            if name != "torch" and self.knowledge.torches(name, public(version)) is not None
        }
        broken = {name for name in names if self._is_broken(name)}
        return tuple(sorted((names & self.here.keys()) - broken - {"torch", "triton"}))

    def _is_broken(self, name: str) -> bool:
        kinds = ("undefined_symbols", "missing_libraries")
        return any(value_of(self.facts, f"extension.{name}.{kind}") for kind in kinds)

    def _torch_of(self, name: str) -> Need:
        known = self.knowledge.torches(name, public(self.here[name]))
        torch = self.here.get("torch", "")
        if known and public(torch) in known:
            return Need("torch", tuple(f"=={one}" for one in known), optional=True, by=name)
        minor = ".".join(public(torch).split(".")[:2])
        return Need("torch", (f"=={minor}.*",) if torch else (), optional=True, by=name)

    @cached_property
    def damaged(self) -> frozenset[str]:
        """Return the packages whose own files a finding asks to write once more, or to bring back.

        What an interrupted installer took away is no longer installed, and counts as well.
        """
        wishes = {
            f"{found.id} {number}": wish
            for found in self.findings
            if not found.id.startswith("import/")
            for number, wish in enumerate(wishes_for(found, self.facts))
        }
        taken = (name_of(one) for one in texts(self.facts, "python.interrupted"))
        return frozenset((*rewritten(wishes), *taken))

    def damage_of(self, found: Detection) -> frozenset[str]:
        """Return the damaged packages on which an import fails; empty where it has another cause.

        Another release would be no cure: the same one has to be written again.
        """
        family, _, package = found.id.partition("/")
        if family != "import" or any(requirement_of(piece.fact) for piece in found.evidence):
            return frozenset()
        words = " ".join(piece.text for piece in found.evidence)
        named = {name for name in self.damaged if _speaks_of(words, name)}
        return (self.damaged & self.ground(frozenset({package}))) | named

    def ground(self, names: frozenset[str]) -> frozenset[str]:
        """Return packages with all that they stand on, as far as their metadata is known."""
        known, new = set[str](), set(names)
        while new:
            known |= new
            new = {
                one.wanted for one in requirements(self.facts, "specifier") if one.package in new
            } - known
        return frozenset(known)


def _speaks_of(words: str, package: str) -> bool:
    """Say whether a failed import names the module of a package: `No module named 'yaml.nodes'`."""
    module = package.replace("-", "_")
    return f"'{module}'" in words or f"'{module}." in words
