"""Explain builds of packages that fail before or beside the compiler.

| event | exact | family |
| --- | --- | --- |
| a module is missing in the build | the module, the package that is built | – |
| the backend cannot be imported | the distribution that brings it | – |
| removed options, headers, members | which release removed them | – |
| the folder is no project | an empty submodule | a wrong path |
| a part of Python is missing | ssl, ensurepip, its age | – |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers import offers
from doctor.analyzers.build_tables import BACKENDS, FIRST_WHEELS
from doctor.analyzers.built_packages import built
from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, Inventory, distinct
from doctor.analyzers.machine import since_command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity
from doctor.timelines import names
from doctor.timelines.standard_library import standard_module

_BUILD = re.compile(
    r"pip-build-env-|builds-v0|Getting requirements to build|get_requires_for_build"
    r"|Preparing metadata|build_meta\.py|Failed to (?:download and )?build:? `|pip-req-build"
    r"|pip-install-"
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each build that fails so."""
    inventory = Inventory(case)
    for event in distinct(case, *_EXPLAINED):
        if (found := _EXPLAINED[event.kind](case, event, inventory)) is not None:
            yield found


def _missing(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a module that the build of a package does not find."""
    before = since_command(case, event, 60)
    if not any(_BUILD.search(line[:1000]) for line in before):
        return None
    module = event.objects["module"].partition(".")[0]
    package = built(case, event)
    what = f"The build of {package}" if package else "The build"
    if event.objects["module"].startswith("tools.nnwrap"):
        return _placeholder(case, event)
    since = standard_module(module)
    if since is not None and since.without and module != "setuptools":
        python = inventory.python()
        here = f"Python {python}" if python else "this Python"
        found = explanation(
            event,
            f"The sources of {package or 'the package'} are older than {here}: {module} is gone "
            f"since Python {since.without}",
            f"There is no wheel of this release for {here}, so that its old sources are built, or "
            f"an old setuptools is fetched for them.",
            (
                *newer(package, python or ""),
                offers.new_environment(since.last, use_if=("this very release is needed",)),
            ),
            name="sources-older-than-python",
        )
        precision = Precision.EXACT if package else found.precision
        return msgspec.structs.replace(found, precision=precision)
    distribution = BACKENDS.get(module) or names.distribution_of(module)
    if distribution is None:
        return explanation(
            event,
            f"{what} imports {module}, which is not there",
            "pip and uv build in a fresh environment that holds only what the package lists for "
            "its "
            "build. Its project says what has to be installed first, and that isolation is off.",
            name="build-requirement-missing",
        )
    return explanation(
        event,
        f"{what} imports {module}, which its build environment lacks",
        f"pip and uv build in a fresh environment that holds only what the package lists for its "
        f"build, and {module} is not listed, whether it is installed or not.",
        _unisolated(distribution, "" if _is_from_repository(case, package) else package),
        name="build-requirement-missing",
    )


def _placeholder(case: Case, event: Event) -> Explanation:
    """Explain the sources of torch 0.1.2, which pip takes where no wheel fits this Python."""
    narrow = any("-32\\" in line[:1000] or "win32" in line[:1000] for line in case.log.lines)
    windows = case.context.os == "windows"
    python = ("winget", "install", "--exact", "--id", "Python.Python.3.12", "--architecture", "x64")
    recipe = Recipe(
        title="Install a Python of 64 bits, and torch into it",
        steps=(
            Action(run=python),
            Action(run=("py", "-3.12", "-m", "pip", "install", "torch", "torchvision")),
        ),
        note="Open a new console after the first step. pytorch.org names the builds for CUDA.",
    )
    found = explanation(
        event,
        "No wheel of torch fits this 32-bit Python" if narrow else "No wheel of torch fits here",
        "torch has wheels for 64 bits only, so that pip took the sources of torch 0.1.2, which "
        "cannot be built."
        if narrow
        else "pip found no wheel of torch for this Python and system, and took the sources of "
        "torch 0.1.2, which cannot be built. Python is too new or too old, or of 32 bits.",
        (recipe,) if windows else (offers.new_environment("3.12"),),
        name="no-wheel-for-this-python",
    )
    return msgspec.structs.replace(found, precision=Precision.EXACT)


def newer(package: str, python: str = "") -> tuple[Recipe, ...]:
    """Return the recipe for a release that has wheels for this Python."""
    if not NAME.fullmatch(package):
        return ()
    first = FIRST_WHEELS.get((package.lower(), python), "")
    wanted = f"{package}>={first}" if first else package
    return (
        Recipe(
            title=f"Take {wanted}, which has wheels for this Python"
            if first
            else f"Take a newer {package}, which has wheels for this Python",
            use_if=(f"nothing needs this release of {package}",),
            note=f"Where a project asks for {package}, write the same into its requirements: "
            "each resolution follows these.",
            steps=(Action(install=(wanted,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    )


def _is_from_repository(case: Case, package: str) -> bool:
    """Say whether a package is built from a repository, not from an index."""
    sign = f"{package} @ git+"
    return bool(package) and any(sign in line[:1000] for line in case.log.lines[:2000])


def _unisolated(distribution: str, package: str) -> tuple[Recipe, ...]:
    first: tuple[Action, ...] = ()
    conditions: tuple[str, ...] = ()
    if distribution == "torch":
        conditions = ("torch is installed in this environment already",)
    else:
        first = (Action(install=(distribution,), options=(Option.HOLD_TORCH,)),)
    known = package if NAME.fullmatch(package) else "<package>"
    return (
        Recipe(
            title=f"Install what it needs first, then build {package or 'it'} without isolation",
            use_if=conditions,
            steps=(
                *first,
                Action(install=("setuptools", "wheel", "packaging", "ninja")),
                Action(install=(known,), options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH)),
            ),
            ask={} if known != "<package>" else {"package": "the name or address of the package"},
        ),
    )


def _backend(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a build backend that is not installed (PEP 517)."""
    del inventory
    module = event.objects.get("module", "")
    distribution = BACKENDS.get(module.partition(".")[0])
    if not distribution:
        return None
    package = built(case, event)
    return explanation(
        event,
        f"The build of {package or 'the package'} needs {distribution}, which is not installed",
        "Without build isolation, or with an index that lacks it, the backend that pyproject.toml "
        "names has to be there beforehand.",
        (
            Recipe(
                title=f"Install {distribution}, then build again",
                steps=(Action(install=(distribution,), options=(Option.HOLD_TORCH,)),),
            ),
        ),
    )


def _option(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain an option of setup.py that setuptools no longer has."""
    del inventory
    option = event.objects["option"]
    package = event.objects.get("package") or built(case, event)
    if option != "use_2to3":
        return None
    return explanation(
        event,
        f"{package} is too old for today's setuptools: use_2to3 is gone since setuptools 58",
        "Its sources are translated from Python 2 when they are built. Newer releases of most such "
        "packages need no translation.",
        (
            *newer(package),
            Recipe(
                title="Build it with an older setuptools",
                use_if=("this very release is needed",),
                steps=(
                    Action(install=("setuptools<58", "wheel")),
                    Action(
                        install=(package if NAME.fullmatch(package) else "<package>",),
                        options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH),
                    ),
                ),
                ask={} if NAME.fullmatch(package) else {"package": "the package that is built"},
            ),
        ),
    )


def _old(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain C sources that use what a newer Python took away."""
    package = built(case, event)
    python = inventory.python()
    here = f"Python {python}" if python else "this Python"
    sign = event.objects.get("header") or event.objects.get("member") or event.objects.get("file")
    cython = "CompileError" in event.text
    if sign is None:
        return None
    return explanation(
        event,
        f"The sources of {package or 'the package'} do not fit this Cython: {sign}"
        if cython
        else f"The sources of {package or 'the package'} are older than {here}: they use {sign}",
        "Cython 3 refuses what Cython 0.29 took. An isolated build fetches the newest one."
        if cython
        else f"Python took {sign} out of its C interface. There is no wheel of this release for "
        f"{here}, so that its old sources are compiled.",
        (*newer(package), offers.new_environment("3.10", use_if=("this release is needed",))),
        name="sources-older-than-python",
    )


def _no_project(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a folder that is no Python project."""
    del case, inventory
    path = event.objects.get("path") or event.objects.get("folder", "")
    submodule = re.search(r"submodule|third.?party|extern|deps/|libs?/", path)
    recipes: tuple[Recipe, ...] = ()
    if submodule:
        recipes = (
            Recipe(
                title="Fetch the submodules, then install again",
                use_if=("the folder is empty, and the project was cloned with git",),
                steps=(Action(run=("git", "submodule", "update", "--init", "--recursive")),),
                note="A ZIP file of GitHub has no submodules: clone the repository instead.",
            ),
        )
    return explanation(
        event,
        f"{path} is no Python project: it is not there, or holds no setup.py and no pyproject.toml",
        "Submodules of git are empty folders until they are fetched; otherwise the command was "
        "started in another folder."
        if submodule
        else "The command was started in another folder, or the path is misspelled.",
        recipes,
    )


def _no_ssl(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a Python without its ssl module."""
    windows = "windows" in (str(case.context.os), "")
    del inventory
    conda = case.context.conda or any("conda" in line for line in case.log.lines[:400])
    return explanation(
        event,
        "This Python has no ssl module, so that pip cannot reach an index",
        "On Windows, conda's Python finds its OpenSSL only in an activated environment."
        if conda and windows
        else "It was built where OpenSSL's header files were missing, or finds another OpenSSL "
        "than the one it was built with.",
        (
            Recipe(
                title="Use a Python that has every part",
                steps=(Action(run=("uv", "venv", "--managed-python", ".venv-whole")),),
                note="Install the packages into that environment.",
            ),
        ),
        name="python-part-missing",
    )


def _openssl(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain urllib3 2 on an old OpenSSL."""
    del case, inventory
    return explanation(
        event,
        f"urllib3 2 needs OpenSSL 1.1.1, and this Python has {event.objects['openssl']}",
        "The ssl module of this Python was built with an old OpenSSL or LibreSSL. urllib3 1.26 "
        "still takes it.",
        (
            Recipe(
                title="Go back to urllib3 1.26",
                steps=(Action(install=("urllib3<2",), options=(Option.HOLD_TORCH,)),),
            ),
        ),
        severity=Severity.NOTE if "Warning" in event.text else Severity.ERROR,
    )


def _no_venv(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain Debian's Python without venv."""
    del case, inventory
    return explanation(
        event,
        "This Python cannot make environments: its package python3-venv is not installed",
        "Debian and Ubuntu keep ensurepip in a package of its own.",
        (
            Recipe(
                title="Install it, then make the environment again",
                steps=(Action(system={"apt": ("python3-venv",)}, sudo=True),),
                note="For another Python than the system's, its release stands in the name: "
                "python3.12-venv.",
            ),
        ),
        name="python-part-missing",
    )


def _subscript(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain `list[int]` under Python 3.8."""
    del case
    python = inventory.python()
    if python is not None and tuple(int(part) for part in python.split(".")) >= (3, 9):
        return None
    here = f"Python {python}" if python else "this Python"
    return explanation(
        event,
        f"The program is written for Python 3.9 or later, and {here} runs it",
        "Types such as list[int] can be written so since Python 3.9 (PEP 585).",
        (offers.new_environment("3.11"),),
        name="python-refused",
    )


_EXPLAINED = {
    "module-not-found": _missing,
    "backend-missing": _backend,
    "setup-option-gone": _option,
    "sources-too-old": _old,
    "no-project": _no_project,
    "ssl-module-missing": _no_ssl,
    "openssl-too-old": _openssl,
    "venv-part-missing": _no_venv,
    "python-too-old": _subscript,
}
