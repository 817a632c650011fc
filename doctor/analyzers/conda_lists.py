"""Explain lists of conda with exact builds, which were written on another system or another day."""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

FEW_BUILDS = 2
"""So many exact builds may be missing in a list that was written here."""


_STRIP = (
    "import re; t = open('environment.yml').read(); "
    "open('environment-plain.yml', 'w').write("
    "re.sub(r'(?m)^(\\s*- [\\w.-]+=+[\\w.!+]+)=[\\w.]+\\s*$', r'\\1', t))"
)
WITHOUT_BUILDS = (
    Recipe(
        title="Write the list without the builds, and make the environment from that",
        note="Take the names that conda still does not find out of environment-plain.yml: they are "
        "libraries of the other system (such as ld_impl_linux-64, libgcc-ng, readline) that come "
        "by themselves. On the other system, conda env export --from-history writes a list that "
        "fits all.",
        steps=(
            Action(run=("{python.executable}", "-c", _STRIP)),
            Action(run=("conda", "env", "create", "-f", "environment-plain.yml")),
        ),
    ),
)


OTHER_KINDS = {"unix": "Linux or macOS", "linux": "Linux", "win": "Windows"}


def other_system(case: Case, event: Event, package: str, system: str) -> Explanation:
    """Explain a package for another system, mostly in a list that was exported there."""
    return explanation(
        event,
        f"The list was written on another system: {package} is for {system} alone",
        "conda env export writes exact builds (name=1.0=py39h…_0), and only the system where it "
        "ran has them.",
        (
            *WITHOUT_BUILDS,
            *(
                (
                    Recipe(
                        title="Make the environment in WSL 2, which is a Linux",
                        use_if=("this is Windows, and the program needs Linux",),
                        steps=(Action(run=("wsl", "--install")),),
                    ),
                )
                if system != "Windows" and case.context.os != "linux"
                else ()
            ),
        ),
        name="conda-other-system",
        contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
    )


def exact_builds(case: Case) -> tuple[str, ...]:
    """Return the exact builds that no channel has; empty where they are few."""
    builds = [
        requirement
        for one in case.of("nothing-provides")
        if _is_exact(requirement := one.objects["requirement"].strip())
    ]
    return tuple(builds) if len(builds) > FEW_BUILDS else ()


def _is_exact(requirement: str) -> bool:
    """Say whether a requirement has a name, a release and a build, as in xz ==5.2.6 h5eee18b_0."""
    parts = requirement.split()
    return len(parts) == 3 and parts[1].lstrip("=")[:1].isdigit() and "_" in parts[2]


def of_another_day(event: Event, builds: tuple[str, ...]) -> Explanation:
    """Return the explanation of exact builds that no channel has any more."""
    return explanation(
        event,
        f"No channel that was asked has {len(builds)} exact builds of the list, such as "
        f"{builds[0]}",
        "A list with build strings (name=1.0=py39h…_0) fits only the system, the channels and "
        "the time in which it was written: conda env export makes one.",
        WITHOUT_BUILDS,
        name="conda-builds",
        contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
    )
