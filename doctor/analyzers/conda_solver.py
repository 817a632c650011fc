"""Explain what conda and mamba cannot solve: the leaf that no choice can mend.

| event | what is told |
| --- | --- |
| nothing provides, missing on the system | glibc, CUDA or macOS of the system |
| none of the providers can be installed | another Python; else both rules |
| not in the channels | the names, or builds of another system |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.c_library import glibc_of_conda
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.conda_channels import TOOLKIT, no_toolkit
from doctor.analyzers.conda_lists import (
    FEW_BUILDS,
    OTHER_KINDS,
    WITHOUT_BUILDS,
    exact_builds,
    of_another_day,
    other_system,
)
from doctor.analyzers.conda_pins import explain_pins, explain_tree
from doctor.analyzers.conda_platforms import arm_variant, of_cuda
from doctor.analyzers.conda_requests import explain_request
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the system lacks, or else what conda says of packages."""
    systems = list(_systems(case))
    yield from systems
    if systems:
        return
    events = [event for event in distinct(case, *_EXPLAINED, most=4) if event.speaker == "conda"]
    # The classic solver prints the specifications below its error, and no more.
    events = events or [event for event in case.of("resolver-failed") if event.speaker == "conda"]
    for event in events[:4]:
        explain_one = _EXPLAINED.get(event.kind, explain_pins)
        found = explain_one(case, event)
        if found is None and event.kind == "resolver-failed":
            found = explain_request(case, event)
        if found is not None:
            yield found
            if event.kind == "resolver-failed":
                return


def _systems(case: Case) -> Iterator[Explanation]:
    """Yield what conda says of the system itself: no choice of packages mends it."""
    for event in case.of("nothing-provides", "system-too-old"):
        match = re.match(
            r"__(glibc|cuda|osx|linux|win|archspec|unix)\b\s{0,4}(.{0,80})",
            event.objects["requirement"],
        )
        if match is None:
            continue
        wanted = match[2].strip().rstrip(",")
        package = event.objects.get("package", "a package of this environment")
        if match[1] == "glibc" and (number := re.search(r">=(2\.\d{1,3})", wanted)):
            yield glibc_of_conda(case, event, package, number[1])
            return
        if match[1] in OTHER_KINDS:
            first = next(case.of("nothing-provides", "system-too-old"))  # beside conda's own words
            yield other_system(case, first, package, OTHER_KINDS[match[1]])
            return
        title, cause, recipes = _SYSTEM_LEAVES.get(match[1], _OTHER_SYSTEM)
        if match[1] == "cuda":
            recipes = of_cuda(case, recipes)
        yield explanation(
            event,
            title.format(package=package, wanted=wanted or "of any release"),
            cause,
            recipes,
            name=f"conda-{match[1]}",
            contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
        )
        return


_OTHER_SYSTEM = (
    "{package} is made for another system: it needs {wanted}",
    "conda asks the system itself, so that no other choice of packages helps.",
    (),
)


_SYSTEM_LEAVES: dict[str, tuple[str, str, tuple[Recipe, ...]]] = {
    "cuda": (
        "conda sees no driver for CUDA {wanted}, which {package} needs",
        (
            "conda takes __cuda from the NVIDIA driver of the machine it runs on: there is none "
            "here, "
            "or it is older. On a login node or in an image build without a GPU, the release of "
            "the "
            "machine that will run it can be given."
        ),
        (
            Recipe(
                title="See which CUDA the driver offers",
                steps=(Action(run=("conda", "info")),),
                note="The line of __cuda stands under the virtual packages.",
                lasting=False,
            ),
            Recipe(
                title="Name the CUDA of the machine that will run it",
                use_if=("this machine has no GPU, and the one that runs the program has",),
                steps=(Action(env={"CONDA_OVERRIDE_CUDA": "<release>"}),),
                ask={"release": "the CUDA that nvidia-smi shows there, as 12.4"},
            ),
        ),
    ),
    "osx": (
        "This macOS is too old: {package} needs macOS {wanted}",
        "conda reads the release of the system.",
        (),
    ),
}


_REQUESTED = re.compile(
    r"[├└]─ (?P<name>[\w.-]{1,80}) +(?P<wanted>[=<>!~*]{0,2}[\d][\w.*|,<>=]{0,60})"
    r"(?: (?P<build>[\w.*]{1,80}))? (?:is|are) requested"
)
_CLASHES = re.compile(
    r"[├└]─ (?P<name>[\w.-]{1,80}) +(?P<wanted>[=<>!~*]{0,2}[\d][\w.*|,<>=]{0,60})"
    r"(?: [\w.*]{1,80})? ?, which conflicts with"
)
_BUILT = re.compile(r"[├└]─ [\w.-]{1,80} +==\S{1,40} \w{3,60}_\d")


def _tree(case: Case, event: Event) -> Explanation | None:
    """Explain what mamba's tree says: a release that is asked for, and others that would fit."""
    lines = [line[:400] for line in case.log.lines[event.at : event.at + 60]]
    if any(_BUILT.search(line) and "not installable" in line for line in lines):
        return explanation(
            event,
            "The list asks for exact builds that exclude each other",
            "A list with build strings (name=1.0=py38h…_1) fits only the channels and the day on "
            "which it was written.",
            WITHOUT_BUILDS,
            name="conda-builds",
            contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
        )
    asked = {one["name"]: one for line in lines if (one := _REQUESTED.search(line))}
    others: dict[str, list[str]] = {}
    for line in lines:
        if (one := _CLASHES.search(line)) and one["name"] in asked:
            wanted = one["wanted"]
            if wanted.lstrip("=") == asked[one["name"]]["wanted"].lstrip("="):
                continue  # another build of the same release
            found = others.setdefault(one["name"], [])
            if wanted not in found:
                found.append(wanted)
    package = event.objects.get("package", "")
    match = re.match(r"(?P<name>[\w.-]{1,80}?)-(?P<version>\d[\w.]{0,20})-[\w.]{1,60}$", package)
    if not others or match is None:
        return None
    name, choices = next(iter(others.items()))
    have = asked[name]["wanted"].lstrip("=")
    newest = choices[-1].rstrip("*").rstrip(".").lstrip("=<>!~")
    return explanation(
        event,
        f"{match['name']} {match['version']} is there for {name} {' and '.join(choices[:4])} only, "
        f"and {name} {have} is asked for",
        "Both stand in the list, and no build has both. One of the two lines has to change.",
        (
            Recipe(
                title=f"Take {name} {newest}, for which this {match['name']} is built",
                use_if=(f"nothing else needs {name} {have}",),
                snippet=Snippet(
                    where="the environment.yml or the command",
                    before=f"{name}={have}",
                    after=f"{name}={newest}",
                ),
            ),
            Recipe(
                title=f"Let conda choose the {match['name']} for {name} {have}",
                snippet=Snippet(
                    where="the environment.yml or the command",
                    before=f"{match['name']}={match['version']}",
                    after=match["name"],
                ),
                note="What goes with it in one release (pytorch, torchvision, torchaudio) loses "
                "its number as well.",
            ),
        ),
        name="conda-conflict",
        contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
    )


def _conda(case: Case, event: Event) -> Explanation | None:
    """Explain a package of conda whose requirement nothing fulfils."""
    if (found := _tree(case, event) or explain_tree(case, event)) is not None:
        return found
    package, requirement = event.objects.get("package"), event.objects.get("requirement")
    if not package or not requirement:
        return None
    python = re.match(r"python\b\s{0,4}(.{0,60})", requirement)
    if python:
        return explanation(
            event,
            f"{package} is for Python {python[1]}, and another Python is asked for or installed",
            "A package of conda is built for one Python, and Python is no package that the others "
            "could replace.",
            (
                Recipe(
                    title="Make an environment with the Python of the package",
                    steps=(Action(run=("conda", "create", "-n", "<name>", "python=<release>")),),
                    ask={"name": "a name for the environment", "release": f"one of {python[1]}"},
                ),
            ),
            name="conda-python",
            contradicts=("torch/conda-unsatisfiable",),
        )
    return explanation(
        event,
        f"{package} needs {requirement}, and nothing that fits it can be installed",
        "Another requirement of the environment, or the channels that are asked, exclude it. The "
        "lines below it go on to the last one that no choice can mend.",
        exact=False,
    )


def _provided(case: Case, event: Event) -> Explanation | None:
    """Explain what no channel of conda has."""
    if (found := explain_tree(case, event)) is not None:
        return found
    requirement, package = event.objects["requirement"].strip(), event.objects.get("package", "")
    if requirement.startswith("__"):
        return None
    if (of_arm := arm_variant(case, event, requirement)) is not None:
        return of_arm
    if requirement in (builds := exact_builds(case)):
        return of_another_day(event, builds) if requirement == builds[0] else None
    return explanation(
        event,
        f"No channel that was asked has {requirement}"
        + (f", which {package} needs" if package else ""),
        "The release or the build is not in these channels for this system: it was removed, lies "
        "in another channel (conda-forge, nvidia), or was never built for it.",
        (_search(requirement),) if _search_name(requirement) else (),
        exact=False,
    )


def _search_name(requirement: str) -> str:
    match = re.match(r"[a-z][a-z0-9_.-]{0,60}", requirement)
    return match[0] if match else ""


def _search(requirement: str) -> Recipe:
    return Recipe(
        title="See which releases conda-forge has for this system",
        steps=(Action(run=("conda", "search", "-c", "conda-forge", _search_name(requirement))),),
        lasting=False,
    )


def _not_found(case: Case, event: Event) -> Explanation | None:
    """Explain packages that no channel of conda has, by the list below."""
    named = [
        match[1].strip()
        for line in case.log.lines[event.at : event.at + 14]
        if (match := re.match(r"\s{1,8}- ([a-z_][\w.:-]{0,80}[^/\s]{0,80})\s*$", line))
        and not match[1].startswith("http")
    ]
    if not named:
        return None
    shown = ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
    built = [one for one in named if one.count("=") >= 2]
    if locals_ := [one for one in named if _OF_PIP.match(one)]:
        return _of_pip(event, locals_[0])
    toolkits = [one for one in named if TOOLKIT.match(one)]
    if toolkits and len(built) <= FEW_BUILDS:
        return no_toolkit(case, event, shown, named)
    return explanation(
        event,
        f"No channel that was asked has {shown}",
        "The list names exact builds of another system: it was exported there with their build "
        "strings, and only that system has them."
        if len(built) > FEW_BUILDS
        else "The name is another one in conda, the package is in another channel, or it has no "
        "build for this system.",
        WITHOUT_BUILDS
        if len(built) > FEW_BUILDS
        else (_search(named[0]),)
        if _search_name(named[0])
        else (),
        contradicts=("torch/conda-package-not-found",) if len(built) > FEW_BUILDS else (),
    )


_OF_PIP = re.compile(
    r"(?P<name>torch\w*|torchvision|torchaudio)==(?P<version>[\d.]{3,12})\+(?P<tag>\w{2,10})$"
)


def _of_pip(event: Event, requirement: str) -> Explanation | None:
    """Explain a requirement in pip's spelling, which no channel of conda knows."""
    match = _OF_PIP.match(requirement)
    if match is None:
        return None
    links = "https://download.pytorch.org/whl/torch_stable.html"
    index = f"https://download.pytorch.org/whl/{match['tag']}"
    old = match["version"].startswith(("0.", "1."))
    option = ("-f", links) if old else ("--index-url", index)
    return explanation(
        event,
        f"{requirement} is pip's spelling: conda has no such package",
        "The part behind the plus names a build on pytorch.org's own index for pip. In conda the "
        "package is called pytorch, and the CUDA release is a package beside it.",
        (
            Recipe(
                title="Install it by pip, from the index that has it, into the same environment",
                steps=(
                    Action(
                        run=("{python.executable}", "-m", "pip", "install", requirement, *option)
                    ),
                ),
            ),
        ),
        name="package-of-pip",
        contradicts=("torch/conda-package-not-found",),
    )


_EXPLAINED = {
    "resolver-conflict": _conda,
    "nothing-provides": _provided,
    "package-not-in-channels": _not_found,
}
