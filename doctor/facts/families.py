"""Facts that belong together: a requirement, or what a package's compiled files ask for.

A family is a set of facts with one prefix, `requires.torchvision.torch.met`, `….specifier`. Whoever
needs one takes it from here and not out of the names of its facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of


class Requirement(NamedTuple):
    """That one distribution asks for another, by normalized names: the family `requires.*.*`."""

    package: str
    wanted: str

    def fact(self, member: str) -> str:
        """Return the name of the fact `met`, `specifier`, `installed` or `moved`."""
        return f"requires.{self.package}.{self.wanted}.{member}"

    def text(self, member: str, facts: Facts) -> str:
        """Return the value of such a fact as text; empty where it has none."""
        return as_text(value_of(facts, self.fact(member)) or "")

    def is_unmet(self, facts: Facts) -> bool:
        """Say whether what is installed is known not to meet it."""
        return value_of(facts, self.fact("met")) is False


def requirement_of(name: str) -> tuple[Requirement, str] | None:
    """Return the requirement that a fact belongs to, and which of its facts it is."""
    family, _, rest = name.partition(".")
    pair, _, member = rest.rpartition(".")
    package, _, wanted = pair.partition(".")
    if family != "requires" or not wanted:
        return None
    return Requirement(package, wanted), member


def requirements(facts: Facts, member: str = "met") -> Iterator[Requirement]:
    """Yield each requirement that has such a fact, by name."""
    for name in sorted(facts):
        found = requirement_of(name)
        if found is not None and found[1] == member:
            yield found[0]


def packages_with_extensions(facts: Facts) -> tuple[str, ...]:
    """Return the packages of whose compiled files something is known: `extension.PACKAGE.KIND`."""
    parts = (name.split(".") for name in facts if name.startswith("extension."))
    return tuple(dict.fromkeys(part[1] for part in parts if len(part) == 3))
