"""Facts that follow from the operating system alone."""

from __future__ import annotations

from doctor.facts.derive.making import SOURCE
from doctor.model.facts import Facts, FactStream, absent, value_of


def system(facts: Facts) -> FactStream:
    """Yield what a system other than Linux cannot have, so that no fix asks for it."""
    name = value_of(facts, "host.os")
    if name in ("windows", "macos"):
        yield "host.distribution_id", absent(SOURCE)
        yield "host.wsl", absent(SOURCE)
        yield "host.wsl_dxg", absent(SOURCE)
    if name == "windows":
        yield "host.package_manager", absent(SOURCE)
