"""Explain build scripts that are older than the setuptools which an isolated build fetches.

setuptools has carried distutils itself since release 60, and has dropped or changed parts of it
(https://setuptools.pypa.io/en/latest/history.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.build_needs import release_of
from doctor.analyzers.build_needs_table import NEEDS
from doctor.analyzers.built_packages import built
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME
from doctor.analyzers.package_builds import newer
from doctor.base.patterns import compile_pattern
from doctor.events.owner import owning_event
from doctor.model.issues import Action, Option, Recipe

_OLD = (
    r"cannot import name '\w{1,60}' from '(?:distutils|setuptools)[\w.]{0,60}'"
    r"|module '(?:distutils|setuptools)[\w.]{0,60}' has no attribute"
    r"|No module named '(?:distutils\.|setuptools\.|numpy\.distutils)[\w.]{0,60}'"
    r"|'build_ext' object has no attribute"
    r"|name 'CCompiler' is not defined"
    r"|Compiler\.__init__\(\) takes from \d to \d positional"
    r"|'dict' object has no attribute '__NUMPY_SETUP__'"
    r"|install_layout"
)
_BELOW = 12


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that a build script is older than the tools it is run with."""
    owner = owning_event(case.events)
    if owner is None or compile_pattern(_OLD).search(owner.text[:1000]) is None:
        return
    near = case.log.lines[max(owner.at - 60, 0) : owner.at + _BELOW]
    if not any("pip-build-env-" in line[:1000] or "builds-v0" in line[:1000] for line in near):
        return
    name = built(case, owner)
    if not NAME.fullmatch(name):
        return
    release = release_of(case, name)
    source = f"{name}=={release}" if release else name
    yield explanation(
        owner,
        f"The build script of {name} {release}".rstrip()
        + " is older than the setuptools that the build fetches",
        "The installer builds in a fresh environment with the newest setuptools, whatever is "
        "installed. This script uses a part of distutils that is gone there.",
        (
            *(_instead(name, other) if (other := _other(name)) else newer(name)),
            Recipe(
                title="Build it in the environment itself, with the setuptools of its time",
                use_if=("this very release is needed",),
                steps=(
                    Action(install=("setuptools<60", "wheel", "Cython<3", "numpy")),
                    Action(
                        install=(source,), options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH)
                    ),
                ),
                note="Python up to 3.11: a setuptools before 60 needs Python's own distutils.",
            ),
        ),
        name="build-script-too-old",
        exact=False,
    )


def _other(name: str) -> str:
    """Return the distribution with wheels that has the same import."""
    need = NEEDS.get(name.lower())
    return need.instead if need else ""


def _instead(name: str, other: str) -> tuple[Recipe, ...]:
    return (
        Recipe(
            title=f"Install {other}, which has wheels and the same import as {name}",
            steps=(Action(install=(other,), options=(Option.HOLD_TORCH,)),),
        ),
    )
