"""Explain a package that has wheels, and that an installer compiles all the same."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.build_needs_table import BUILD_TOOLS
from doctor.analyzers.built_packages import Built
from doctor.analyzers.case import Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.wheel_recipes import see_tags
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import wheels


def without_wheel(event: Event, one: Built) -> Explanation | None:
    """Explain a package with wheels that is compiled all the same."""
    pythons = wheels.pythons_with_wheel(one.name, one.release) if one.release else ()
    here = wheels.pythons_with_wheel(one.name, one.release, one.system) if one.system else pythons
    what = f"{one.name} {one.release}".strip()
    tools = BUILD_TOOLS.get(one.name, "a compiler")
    compiled = f"The installer compiled its sources, and that needs {tools}."
    if pythons and one.python in here:
        return _not_taken(event, one, what, compiled)
    if pythons and one.python and one.python not in pythons:
        return explanation(
            event,
            f"{what} has no wheel for Python {one.python}: it has them for {offers.span(pythons)}",
            compiled,
            (*_newer(one), *_older_python(pythons, one)),
            name="no-wheel-to-build",
        )
    if one.python and not one.release and (first := _first(one)):
        return explanation(
            event,
            f"The release of {one.name} that is asked for has no wheel for Python {one.python}",
            f"Wheels for it begin with {one.name} {first}. {compiled}",
            (*_newer(one), _environment_for(one, "3.11")),
            name="no-wheel-to-build",
            exact=False,
        )
    if pythons:
        cause = f"Its wheels are for {offers.span(pythons)}, so that this Python is another one."
        recipes = (*_newer(one), *_older_python(pythons, one))
    else:
        cause = "Python is mostly newer than the release that is asked for, or of 32 bits."
        recipes = (*_newer(one), _environment_for(one, "3.11"))
    return explanation(
        event,
        f"{what} has no wheel for this Python and system, and its build failed",
        f"{cause} {compiled}",
        recipes,
        name="no-wheel-to-build",
        exact=False,
    )


def older_than_python(event: Event, one: Built) -> Explanation | None:
    """Explain a release whose wheels end before this Python, whatever its old sources report.

    A newer release, or the Python of that time, does without the build.
    """
    pythons = wheels.pythons_with_wheel(one.name, one.release)
    if not pythons or (one.python and _minor(one.python) <= max(map(_minor, pythons))):
        return None
    if not (recipes := _newer(one)):
        return None
    python = f"Python {one.python}" if one.python else "this Python"
    return explanation(
        event,
        f"{one.name} {one.release} has no wheel for {python}: it has them for "
        f"{offers.span(pythons)}",
        f"The installer builds its sources instead. They are older than {python} and than the "
        "build tools of today, and this error is theirs.",
        (*recipes, *_older_python(pythons, one)),
        name="no-wheel-to-build",
        exact=bool(one.python),
        contradicts=_OF_THE_BUILD if one.python else (),
    )


_OF_THE_BUILD = (
    *("python/torch-not-in-build-environment", "python/pkg-resources-gone"),
    *("python/setup-keywords-invalid", "python/distutils-gone", "numpy/*", "cuda/*", "rust/*"),
)
"""Known issues about what the build reports, which a wheel does without."""


def _minor(python: str) -> int:
    minor = python.partition(".")[2].partition(".")[0]
    return int(minor) if minor.isdecimal() else 0


def _not_taken(event: Event, one: Built, what: str, compiled: str) -> Explanation:
    """Explain a release that has wheels for this Python, and was compiled all the same."""
    return explanation(
        event,
        f"{what} has wheels for Python {one.python}, and the installer took none of them",
        "An old pip does not know their tags; or this is Alpine (musl), a Python of 32 bits, "
        f"another processor, or an index without them. {compiled}",
        (
            Recipe(
                title="Move pip to a release that knows the tags, and install the wheel",
                steps=(
                    Action(install=("pip",), options=(Option.UPGRADE,)),
                    Action(
                        run=(
                            *("{python.executable}", "-m", "pip", "install"),
                            *("--only-binary", one.name, f"{one.name}=={one.release}"),
                        )
                    ),
                ),
            ),
            see_tags(),
        ),
        name="no-wheel-to-build",
        exact=False,
    )


def _first(one: Built) -> Version | None:
    """Return the oldest release with wheels for this Python and system, where that is recorded."""
    there = wheels.releases_with_wheel(one.name, one.python, one.system) if one.python else ()
    return there[0] if there else None


def _newer(one: Built) -> tuple[Recipe, ...]:
    """Return the recipe for a release with a wheel, and never for a build of its sources."""
    first = _first(one)
    if one.python and first is None:
        return ()
    wanted = f"{one.name}>={first}" if first else one.name
    return (
        Recipe(
            title=f"Take {wanted}, which has wheels for Python {one.python}"
            if first
            else f"Take a newer {one.name}, which has wheels for newer Pythons",
            use_if=(f"nothing needs {one.name} {one.release}",) if one.release else (),
            note="Where another package or a list of requirements asks for the old one, change it "
            "there.",
            steps=(Action(install=(wanted,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    )


def _older_python(pythons: tuple[str, ...], one: Built) -> Iterator[Recipe]:
    """Yield the recipe for an environment with a Python that the release has wheels for."""
    there = wheels.pythons_with_wheel(one.name, one.release, one.system) or pythons
    take = offers.usual(there)
    if take:
        yield _environment_for(one, take, needed=True)


def _environment_for(one: Built, python: str, *, needed: bool = False) -> Recipe:
    wanted = f"{one.name}=={one.release}" if one.release else one.name
    make, install = offers.environment(python)
    return Recipe(
        title=f"Make an environment with Python {python}, and install {wanted} there",
        use_if=("this very release is needed",) if needed else (),
        steps=(make, Action(run=(*install, wanted))),
    )
