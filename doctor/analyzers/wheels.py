"""Explain wheels that do not fit.

| event | exact | family |
| --- | --- | --- |
| not a supported wheel | the tag that differs, if the log shows the Python | its tags |
| no matching tag (uv) | the tags that uv lists | the requirement |
| another Python is required | the numbers of the message | – |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import Inventory, distinct
from doctor.analyzers.jetpacks import other_jetpack
from doctor.analyzers.wheel_recipes import (
    ONLY_LINUX,
    bare_name,
    not_for_macos,
    other_python,
    see_python,
    see_tags,
)
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Option, Recipe

_TAGS = re.compile(
    r"You require \S{1,30} \S{1,10} \(`([^`]{1,40})`\)|You.re on \S{1,30} \(`([^`]{1,60})`\)"
)

_LISTED_TAG = re.compile(r"`((?:cp|pp|py)\d[\w]{0,30}|\w{0,20}(?:linux|win|macosx)[\w.]{0,60})`")

_SAME = {"arm64": "aarch64", "amd64": "x86_64"}
_SYSTEMS = {"linux": "Linux", "win": "Windows", "macosx": "macOS"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each wheel or requirement that does not fit."""
    inventory = Inventory(case)
    for event in distinct(case, *_EXPLAINED):
        if (found := _EXPLAINED[event.kind](case, event, inventory)) is not None:
            yield found


def _refused(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a wheel by the tags of its name (PEP 425)."""
    wheel = event.objects["wheel"].replace("%2B", "+").replace("%2b", "+")
    try:
        name, version, _, tags = parse_wheel_filename(wheel)
    except InvalidWheelFilename:
        return _invalid_name(event, wheel)
    python = inventory.python()
    pythons = sorted({_python_of(tag.interpreter) for tag in tags} - {""})
    systems = sorted({_system_of(tag.platform) for tag in tags} - {""})
    machines = sorted({_machine_of(tag.platform) for tag in tags} - {""})
    here = str(value_of(case.facts, "host.os") or case.context.os or "")
    wanted = f"{name} {version}"
    if "aarch64" in machines and (found := other_jetpack(case, event, wanted, pythons)):
        return found
    what = " ".join(
        [*(f"Python {one}" for one in pythons[:2]), *(systems or ["any system"]), *machines]
    )
    recipes = [see_tags()]
    abis = {tag.abi for tag in tags}
    if python and pythons and python not in pythons and not abis & {"abi3", "none"}:
        recipes.insert(
            0,
            offers.new_environment(
                pythons[-1], use_if=(f"the system is {' or '.join(systems) or 'the same'}",)
            ),
        )
        return explanation(
            event,
            f"The wheel of {wanted} is for Python {pythons[-1]}, and this is Python {python}",
            f"The end of its name says what a wheel is made for: here {what}. The torch and the "
            f"CUDA in the middle of the name have no part in it.",
            (*recipes[:1], _right_wheel(python, here), *recipes[1:]),
        )
    if here and systems and here not in {one.lower() for one in systems}:
        return explanation(
            event,
            f"The wheel of {wanted} is for {systems[0]}, and this is {_written(here)}",
            f"The end of its name says what a wheel is made for: here {what}.",
            (_right_wheel(python, here), *recipes),
        )
    machine = case.context.machine
    fits = here in {one.lower() for one in systems} and (
        not machine or {_SAME.get(machine, machine)} >= {_SAME.get(one, one) for one in machines}
    )
    if pythons and fits and machine and machines and not abis & {"abi3", "none"}:
        recipes.insert(0, _right_wheel(python, here))
        return _same_machine(event, (wanted, what), pythons[-1], machines, recipes)
    if pythons and not abis & {"abi3", "none"}:
        recipes.insert(0, offers.new_environment(pythons[-1], use_if=("python --version differs",)))
    return _unclear(event, wanted, what, (_right_wheel(python, here), *recipes))


def _same_machine(
    event: Event, named: tuple[str, str], python: str, machines: list[str], recipes: list[Recipe]
) -> Explanation:
    """Explain a wheel for the system and processor that the log shows: the Python is left."""
    wanted, what = named
    own = (_native_python(python),) if "macOS" in what and "arm64" in machines else ()
    return explanation(
        event,
        f"The wheel of {wanted} is for Python {python}, and this is another Python",
        f"The end of its name says what a wheel is made for: here {what}. System and processor "
        "are these; what is left is the release of Python"
        + (", or that Python is one for Intel (Rosetta), as an old conda brings." if own else "."),
        (offers.new_environment(python), *own, *recipes),
    )


def _unclear(event: Event, wanted: str, what: str, recipes: tuple[Recipe, ...]) -> Explanation:
    return explanation(
        event,
        f"The wheel of {wanted} is only for {what}",
        "This interpreter differs in one of these: the minor release of Python, the system, the "
        "processor, or it is a 32-bit, a free-threaded or an old one. manylinux_2_28 also asks for "
        "glibc 2.28, and a pip that knows the tag.",
        recipes,
        exact=False,
    )


def _invalid_name(event: Event, wheel: str) -> Explanation:
    return explanation(
        event,
        f"{wheel} is no valid name of a wheel",
        "A browser or a copy changed it, with (1) at its end for instance. pip reads from the "
        "name what the wheel is for, so that it has to be the one it was published with.",
        name="wheel-name-invalid",
        recipes=(
            Recipe(
                title="Install it by its address, so that no other program changes the name",
                steps=(Action(install=("<wheel>",), options=(Option.HOLD_TORCH,)),),
                ask={"wheel": "the address that the wheel was downloaded from"},
            ),
        ),
    )


def _right_wheel(python: str | None, system: str) -> Recipe:
    tag = f"cp{python.replace('.', '')}" if python else "cpXY"
    end = {"linux": "linux_x86_64", "windows": "win_amd64", "macos": "macosx"}.get(
        system, "the system"
    )
    return Recipe(
        title="Install the wheel for this interpreter",
        use_if=(f"its project has one whose name has {tag} and {end} in it",),
        steps=(Action(install=("<wheel>",), options=(Option.HOLD_TORCH,)),),
        ask={"wheel": "the address of that wheel"},
    )


def _any_release(name: str) -> Recipe:
    return Recipe(
        title=f"Take a release of {name} that has a wheel for this Python",
        use_if=("nothing needs that very release",),
        steps=(Action(install=(name,), options=(Option.HOLD_TORCH,)),),
    )


def _native_python(python: str) -> Recipe:
    """Return the recipe for an environment of conda whose Python is made for Apple's chips."""
    return Recipe(
        title=f"Make a conda environment with a Python {python} for Apple's chips",
        use_if=("platform.machine() prints x86_64, or python comes from conda",),
        steps=(
            Action(
                run=("conda", "create", "-y", "-n", "native", f"python={python}"),
                env={"CONDA_SUBDIR": "osx-arm64"},
            ),
        ),
        note="Then activate it, and install the wheel there.",
    )


def _python_of(interpreter: str) -> str:
    match = re.fullmatch(r"(?:cp|pp)(\d)(\d{1,2})", interpreter)
    return f"{match[1]}.{match[2]}" if match else ""


def _system_of(platform: str) -> str:
    return next((name for word, name in _SYSTEMS.items() if word in platform), "")


def _machine_of(platform: str) -> str:
    match = re.search(r"(x86_64|aarch64|arm64|amd64|i686|win32|ppc64le|armv7l)$", platform)
    return match[1] if match else ""


def _written(system: str) -> str:
    return {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(system, system)


def _python(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a package that asks for another Python."""
    del case
    python = ".".join(event.objects["python"].split(".")[:2])
    package = event.objects.get("package", "the project").rstrip(",;.")
    name = bare_name(package)
    wanted = event.objects.get("wanted", "").rstrip(",;")
    if not wanted:
        return explanation(
            event,
            f"The project allows Python {event.objects['python']}, and a package does not",
            "Poetry looks for one answer for all Pythons that the project allows, so that one of "
            "them without a release of the package is enough. The lines below name the package.",
            name="python-refused",
        )
    return other_python(
        event,
        package.replace("==", " "),
        wanted,
        python,
        name if not inventory.release(name) else "",
    )


def _tagged(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a requirement none of whose wheels fits, by the tags that uv lists."""
    del inventory
    if event.speaker == "Poetry":
        return None  # the module poetry_wheels explains it
    requirement = event.objects["requirement"].replace("==", " ")
    name = bare_name(requirement)
    hint = " ".join(case.log.lines[event.at : event.at + 12])[:6000]
    if "limiting your project's supported" in " ".join(hint.split()):
        return None  # the module uv_spans explains it
    mine = _TAGS.search(hint)
    tags = _LISTED_TAG.findall(hint.partition("following")[2])[:40]
    here = next((one for one in mine.groups() if one), "") if mine else event.objects.get("tag", "")
    pythons = tuple(sorted({_python_of(one) for one in tags} - {""}, key=lambda one: int(one[2:])))
    systems = sorted({_system_of(one) for one in tags} - {""})
    if pythons and (python := _python_of(here.removesuffix("t"))):
        take = offers.usual(pythons)
        free = here.endswith("t")
        return explanation(
            event,
            f"{requirement} has no wheels for {'free-threaded ' if free else ''}Python {python}: "
            f"it has them for {offers.span(pythons)}",
            "It is offered as wheels only, and each is made for one Python.",
            (offers.new_environment(take),) if take else (),
        )
    if systems and here:
        return explanation(
            event,
            f"{requirement} has no wheels for {here}: it has them for {' and '.join(systems)}",
            f"The tags of its wheels are {', '.join(tags[:6])}.",
        )
    machine = f" (`{here}`)" if here else ""
    release, _, local = requirement.removeprefix(name).strip().partition("+")
    if name == "torch" and local and "macosx" in here:
        return not_for_macos(event, name, release, local)
    return explanation(
        event,
        f"None of the files of {requirement} fits this Python, system and processor{machine}",
        "It is offered as wheels only, and each is made for one Python and one system."
        if name not in ONLY_LINUX
        else f"{name} has wheels for Linux only.",
        (_any_release(name), see_python()) if release and name != "torch" else (see_python(),),
        exact=False,
    )


_EXPLAINED = {
    "wheel-refused": _refused,
    "python-refused": _python,
    "no-fitting-wheel": _tagged,
}
