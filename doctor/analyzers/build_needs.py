"""Explain a build of a package by its wheels, and one of which the log shows only that it failed.

| the package | exact | family |
| --- | --- | --- |
| has wheels for some Pythons (data) | this Python has none | release or Python unknown |
| is known to be compiled (table) | – | what its build needs, and what spares it |
| compiles CUDA code against torch | – | torch first, no isolation, nvcc of torch's CUDA |
| is known by its name alone | – | which step failed, and how to go around it |
| is not named; a C compiler stopped | – | headers of Python, and how to see the message |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from doctor.analyzers.build_needs_table import EXTENSIONS, NEEDS, Need
from doctor.analyzers.builds_unseen import compiler, unknown_package
from doctor.analyzers.builds_without_wheel import older_than_python, without_wheel
from doctor.analyzers.built_packages import Built, built
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, Inventory, is_version
from doctor.analyzers.recipes import command
from doctor.events.owner import owning_event
from doctor.model.events import Event, Level
from doctor.model.facts import value_of
from doctor.model.issues import Action, Condition, Option, Recipe
from doctor.timelines import wheels

_MOST = 3
_KINDS = ("subprocess-failed", "build-failed")
_NAMES = (
    re.compile(r"when installing build dependencies for ([A-Za-z][\w.-]{0,60})"),
    re.compile(r"[Ff]ailed to build '([A-Za-z][\w.-]{0,60})'"),
    re.compile(r"[Ff]ailed building (?:wheel|editable) for ([A-Za-z][\w.-]{0,60})"),
    re.compile(r"Building wheel for ([A-Za-z][\w.-]{0,60}) "),
    re.compile(r"[Cc]ould not build wheels for ([A-Za-z][\w.-]{0,60})"),
    re.compile(r"[Ff]ailed to build `([A-Za-z][\w.-]{0,60})"),
    re.compile(r"[Ff]ailed to build ([A-Za-z][\w.-]{0,60})\s*$"),
    re.compile(r"based projects \(([A-Za-z][\w.-]{0,60})"),
)
_NO_NAMES = frozenset({"installable", "one", "some", "wheel", "wheels", "package"})
_FETCHES = (
    "Collecting ",
    "Using cached ",
    "Downloading ",
    "ailed to build ",
    "download and build ",
)
_ARCHIVES = (".tar.gz", ".zip")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each package whose build failed, where the log shows no reason."""
    owner = owning_event(case.events)
    if owner is None:
        return
    if owner.level is not Level.WRAPPER:
        yield from _of_another_time(case, owner)
        return
    seen: set[str] = set()
    python = Inventory(case).python() or ""
    system = _system(case)
    explained: set[str] = set()
    for event in case.of(*_KINDS):
        name = canonicalize_name(_named(event.text) or built(case, event))
        if not name or name in seen or len(seen) == _MOST or not NAME.fullmatch(name):
            continue
        seen.add(name)
        if _is_installed_later(case, event, name):
            continue
        one = Built(name, release_of(case, name), python, system)
        found = _explained(case, event, one) or unknown_package(case, event, one)
        if found.detection.id not in explained:
            explained.add(found.detection.id)
            yield found
    if not explained and not any(True for _ in case.of("no-version")):
        yield from compiler(case)


def _of_another_time(case: Case, owner: Event) -> Iterator[Explanation]:
    """Yield that the release whose build failed has wheels for older Pythons alone.

    Of several, the last one counts: pip reports a requirement of a build before what needs it.
    """
    python, system = Inventory(case).python() or "", _system(case)
    for event in reversed(list(case.of(*_KINDS))):
        name = canonicalize_name(_named(event.text) or built(case, event))
        if event.at < owner.at or _is_installed_later(case, event, name):
            continue
        one = Built(name, release_of(case, name), python, system)
        found = older_than_python(owner, one) if one.release else None
        if found is None and _lacks_something(owner) and (need := NEEDS.get(name)) is not None:
            found = _needs(case, owner, name, need)
        if found is not None:
            yield found
            return


def _lacks_something(owner: Event) -> bool:
    """Say whether a build reports that a library, a header or a program is missing."""
    return owner.kind in ("exception", "file-missing", "header-missing", "program-missing") or (
        owner.kind == "compile-error"
        and "No such file or directory" in owner.text
        and "Python.h" not in owner.text
    )


def _is_installed_later(case: Case, event: Event, name: str) -> bool:
    """Say whether an old pip, or another attempt, installed the package after all."""
    return any(
        line.lstrip().startswith(("Successfully installed", "Successfully built"))
        and re.search(rf"[\s,]{re.escape(name)}(?:[-\s,]|$)", _canonical(line)) is not None
        for line in case.log.lines[event.at : event.at + 5000]
    )


def _canonical(line: str) -> str:
    """Return a line with its names written as the index writes them."""
    return line[:4000].lower().replace("_", "-")


def _named(text: str) -> str:
    """Return the package that a line of an installer names."""
    for pattern in _NAMES:
        match = pattern.search(text[:1000])
        if match is not None and match[1].lower() not in _NO_NAMES:
            return match[1]
    return ""


def release_of(case: Case, name: str) -> str:
    """Return the release of a package whose sources were fetched."""
    for line in case.log.lines[:5000]:
        for word in _FETCHES:
            _, found, rest = line[:1000].partition(word)
            if found and (release := _release_of(rest.partition(" ")[0], name)):
                return release
    return ""


def _release_of(word: str, name: str) -> str:
    """Return the release in `name==1.0` or in the address of `name-1.0.tar.gz`."""
    text = word.strip("`,;:").rpartition("/")[2]
    package, sign, release = text.partition("==")
    if not sign:
        archive = next((one for one in _ARCHIVES if text.endswith(one)), "")
        package, _, release = (
            text.removesuffix(archive).rpartition("-") if archive else ("", "", "")
        )
    return release if is_version(release) and canonicalize_name(package) == name else ""


def _system(case: Case) -> str:
    """Return the system and the processor, as the data of wheels write them; empty if unknown."""
    name = str(value_of(case.facts, "host.os") or case.context.os or "")
    machine = {"aarch64": "arm64", "amd64": "x86_64"}.get(
        case.context.machine, case.context.machine
    )
    if name == "windows" and not machine:
        machine = "x86_64"
    full = f"{name}-{machine}"
    return full if full in wheels.SYSTEMS else ""


def _explained(case: Case, event: Event, one: Built) -> Explanation | None:
    if (need := NEEDS.get(one.name)) is not None:
        return _needs(case, event, one.name, need)
    if wheels.is_covered(one.name):
        return without_wheel(event, one)
    if one.name in EXTENSIONS:
        return _extension(event, one.name)
    return None


def _needs(case: Case, event: Event, name: str, need: Need) -> Explanation:
    """Explain a package that is compiled from source wherever it is installed."""
    recipes: list[Recipe] = []
    if need.instead:
        recipes.append(
            Recipe(
                title=f"Install {need.instead}, which has wheels and the same import",
                steps=(Action(install=(need.instead,), options=(Option.HOLD_TORCH,)),),
            )
        )
    system = str(value_of(case.facts, "host.os") or case.context.os or "")
    recipes += [one for one in _tools(name, need) if _fits(one, system)]
    if system == "windows" or (not need.apt and not need.pip):
        recipes.append(_visual_cpp(name))
    if need.conda:
        recipes.append(
            command(
                f"Take {name} of conda-forge, which is compiled already",
                *("conda", "install", "-y", "-c", "conda-forge", need.conda),
                use_if=("this is a conda environment",),
            )
        )
    if need.successor:
        recipes.append(
            Recipe(
                title=f"Use {need.successor}, which continues {name} and has wheels",
                use_if=("the program can be changed: the name of the import differs",),
                steps=(Action(install=(need.successor,), options=(Option.HOLD_TORCH,)),),
            )
        )
    return explanation(
        event,
        f"{name} is compiled here, and its build needs {need.what}",
        f"The log ends with the installer's report. {name} has no wheel for this Python and "
        "system; without what its build needs, the build stops.",
        tuple(recipes),
        name="build-needs",
        exact=False,
    )


def _tools(name: str, need: Need) -> Iterator[Recipe]:
    """Yield the recipe that installs what a build needs by each package manager, and builds."""
    again = [Action(install=(name,), options=(Option.HOLD_TORCH,))]
    if need.pip:
        again = [
            Action(install=tuple(need.pip.split()), options=(Option.HOLD_TORCH,)),
            *again,
        ]
    for manager, packages, system in (
        ("apt", need.apt, "linux"),
        ("dnf", need.dnf, "linux"),
        ("brew", need.brew, "macos"),
    ):
        if packages:
            yield Recipe(
                title=f"Install what the build of {name} needs, then build it",
                use_if=(
                    Condition(fact="host.os", equals=system),
                    Condition(fact="host.package_manager", equals=manager),
                ),
                steps=(
                    Action(system={manager: tuple(packages.split())}, sudo=manager != "brew"),
                    *again,
                ),
            )


def _fits(recipe: Recipe, system: str) -> bool:
    """Say whether a recipe can be one for the system that the log shows."""
    wanted = next((one.equals for one in recipe.conditions if one.fact == "host.os"), system)
    return not system or system == wanted


def _visual_cpp(name: str) -> Recipe:
    return command(
        f"Install the C++ tools that compile {name} on Windows",
        *("winget", "install", "--exact", "--id", "Microsoft.VisualStudio.2022.BuildTools"),
        "--override",
        "--wait --passive --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended",
        use_if=(Condition(fact="host.os", equals="windows"),),
        note="Then open a new console and install again.",
    )


def _extension(event: Event, name: str) -> Explanation:
    """Explain a package of CUDA code that is compiled against the installed torch."""
    return explanation(
        event,
        f"{name} compiles CUDA code against the installed torch, and its build failed",
        "Its build script imports torch and calls nvcc. pip's isolated build has no torch; and "
        "nvcc has to be of the CUDA that torch was built with, with a C++ compiler that it takes.",
        (
            Recipe(
                title=f"Build {name} without isolation, with its own output",
                use_if=("torch is installed, and nvcc is of torch's CUDA",),
                note="If it fails again, the first line with error: names the reason.",
                ask={"source": f"the folder or the address that {name} is installed from"},
                steps=(
                    Action(install=("setuptools", "wheel", "ninja")),
                    Action(
                        install=("<source>",),
                        options=(Option.NO_BUILD_ISOLATION, Option.NO_CACHE, Option.HOLD_TORCH),
                        env={"MAX_JOBS": "2"},
                    ),
                ),
            ),
            command(
                "See whether nvcc and torch are of one CUDA",
                *("{python.executable}", "-c"),
                "import torch, torch.utils.cpp_extension as e; print(torch.version.cuda, "
                "e.CUDA_HOME)",
                note="The first is torch's CUDA; nvcc --version below the second has to show the "
                "same major release.",
                look=True,
            ),
        ),
        name="extension-build-failed",
        exact=False,
    )
