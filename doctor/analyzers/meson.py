"""Explain what Meson stops with: sources that are built because no wheel fits this Python.

| event | exact | family |
| --- | --- | --- |
| meson-error | the first release with a wheel for this Python | a Fortran compiler |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers import offers
from doctor.analyzers.build_tables import FIRST_WHEELS
from doctor.analyzers.built_packages import built, python_with_wheels
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import Inventory, distinct
from doctor.analyzers.package_builds import newer
from doctor.analyzers.recipes import by_system
from doctor.model.events import Event


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each error of Meson."""
    inventory = Inventory(case)
    for event in distinct(case, "meson-error"):
        if (found := _meson(case, event, inventory)) is not None:
            yield found


_FORTRAN = re.compile(r"Unknown compiler\(s\): \[.{0,8}\bgfortran\b")


def _meson(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain an error of Meson: the sources are built because no wheel fits this Python."""
    package, python = built(case, event), inventory.python() or ""
    first = FIRST_WHEELS.get((package.lower(), python), "")
    message = event.objects["message"]
    if first:
        here = f"Python {python}"
        older = python_with_wheels(case, package, python)
        return explanation(
            event,
            f"This release of {package} has no wheel for {here} (the first is {first}), and its "
            "sources do not build here",
            f"Meson stops with: {message[:150].rstrip('.')}. A wheel needs no compiler at all.",
            (
                offers.new_environment(older, use_if=("this very release is needed",)),
                *newer(package, python),
            ),
            name="sources-older-than-python",
        )
    if _FORTRAN.search(message):
        return explanation(
            event,
            f"The build of {package or 'the package'} needs a Fortran compiler, and there is none",
            "A wheel needs none: this release has no wheel for this Python and system.",
            (
                *newer(package, python),
                by_system("Install GNU Fortran", apt=("gfortran",), dnf=("gcc-gfortran",)),
            ),
            name="program-missing",
        )
    return None
