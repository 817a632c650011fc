"""What was asked of a conda that found no solution: the command, its channels, the age of conda.

| what the log shows | what is said of it |
| --- | --- |
| `__glibc` or `__cuda` in a list "found to be in conflict" | conda is too old to know them |
| pytorch-cuda without the channel nvidia | the channel that has its libraries |
| pytorch3d | the trio of Python, torch and CUDA that has a build |
| pytorch with releases | the same releases by pip, from the index for that CUDA |
| "found to be in conflict" and no reason | conda before 4.7, whose list tells no reason |

conda knows `__cuda` since 4.6 and `__glibc` since 4.8; 4.7 changed the words
(https://github.com/conda/conda/blob/main/CHANGELOG.md).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.fitting_pythons import on_mac
from doctor.analyzers.inventory import is_version
from doctor.analyzers.machine import system_of
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_ABOVE, _BELOW = 60, 60
_LONGEST = 1000
_COMMAND = re.compile(
    r"\b(?:conda|mamba|micromamba)(?:\.exe)? (?:install|create)\b(?P<words>.{0,900})"
)
_SPEC = re.compile(
    r"(?P<name>[a-z][a-z0-9_.-]{1,60})(?:={1,2}(?P<version>\d[\w.]{0,30}))?(?:=\S{1,60})?$"
)
_ITEM = re.compile(r"\s{0,8}- (?P<name>[a-z_][\w.-]{1,60})\b")
_CHANNELS = ("-c", "--channel")
_TAKE_ONE = {*_CHANNELS, "-n", "--name", "-p", "--prefix", "--file", "-f"}
_VIRTUAL = re.compile(r"(?:->|- ) ?__(?:glibc|cuda|unix|linux|win|osx|archspec)\b")
_OLD_WORDS = "found to be in conflict"
_FIRST_WITH_INDEX = Version("1.11")
"""The first torch 1 whose builds lie in a folder of their own that pip reads as an index."""
_TORCH = ("torch", "torchvision", "torchaudio")
_CONTRADICTS = ("torch/conda-*", "*/conda-unsatisfiable")


class _Asked(NamedTuple):
    """The specifications of a command by their names, and its channels."""

    releases: dict[str, str]
    channels: tuple[str, ...]
    text: str


def explain_request(case: Case, event: Event) -> Explanation | None:
    """Explain a failed solution by what was asked, where its list of reasons says nothing."""
    lines = [line[:_LONGEST] for line in case.log.lines[event.at : event.at + _BELOW]]
    old_words = any(_OLD_WORDS in line for line in lines[:3])
    if old_words and any(_VIRTUAL.search(line) for line in lines):
        return _old(event, exact=True)
    items = [match["name"] for line in lines if (match := _ITEM.match(line))]
    asked = _asked(case, event)
    if (asked is not None and "pytorch3d" in asked.releases) or items == ["pytorch3d"]:
        return _pytorch3d(case, event)
    if asked is not None and (found := _of_torch(case, event, asked)) is not None:
        return found
    if old_words and items and "pytorch" not in items:
        return _old(event, exact=False, items=tuple(items[:4]))
    return None


def _asked(case: Case, event: Event) -> _Asked | None:
    """Return the last command of conda above an event."""
    for line in reversed(case.log.lines[max(event.at - _ABOVE, 0) : event.at + 1]):
        match = _COMMAND.search(line[:_LONGEST])
        if match is None:
            continue
        releases: dict[str, str] = {}
        channels: list[str] = []
        before = ""
        for word in match["words"].replace('"', "").replace("'", "").split():
            if before in _CHANNELS:
                channels.append(word)
            elif before not in _TAKE_ONE and (spec := _SPEC.match(word)):
                releases[spec["name"]] = spec["version"] or ""
            before = word
        return _Asked(releases, tuple(channels), match[0].strip())
    return None


def _of_torch(case: Case, event: Event, asked: _Asked) -> Explanation | None:
    """Explain a set of torch that the channels do not give."""
    releases = asked.releases
    torch, cuda = releases.get("pytorch", ""), releases.get("pytorch-cuda", "")
    cuda = cuda or releases.get("cudatoolkit", "")
    lacks = "pytorch-cuda" in releases and "nvidia" not in asked.channels
    if on_mac(case) or not (lacks or torch):
        return None
    recipes: list[Recipe] = []
    if lacks and re.fullmatch(r"[\w .:=<>!,/-]{4,900}", asked.text):
        recipes.append(
            command("Name the channel nvidia as well", *asked.text.split(), "-c", "nvidia")
        )
    if torch and (by_pip := _by_pip(case, releases, torch, cuda)) is not None:
        recipes.append(by_pip)
    if not recipes:
        return None
    return explanation(
        event,
        "The channel nvidia is missing: pytorch-cuda takes its libraries from there"
        if lacks
        else f"conda finds no set for pytorch {torch} as it was asked for",
        "conda's list of reasons often names a package that has nothing to do with it. The same "
        "releases are on PyTorch's index for pip, and bring their CUDA libraries themselves.",
        tuple(recipes),
        name="conda-request",
        exact=lacks,
        contradicts=_CONTRADICTS,
    )


def _by_pip(case: Case, releases: dict[str, str], torch: str, cuda: str) -> Recipe | None:
    """Return the same set by pip, in the builds that it has for this release."""
    full = torch if torch.count(".") >= 2 else f"{torch}.0"
    there = offers.cuda_of_torch(case.catalog, full)
    if not there:
        return None
    build = cuda if cuda in there else there[-1]
    tag = "cu" + build.replace(".", "")
    names = [f"torch=={full}"]
    for name in _TORCH[1:]:
        if name in releases:
            of_torch = releases[name] or offers.companion_of(case.catalog, name, full)
            names.append(f"{name}=={of_torch}" if of_torch else name)
    old = full.startswith("1.")
    if old:
        names = [f"{one}+{tag}" if "audio" not in one and "==" in one else one for one in names]
    number = Version(full) if is_version(full) else Version("1")
    option = (
        ("--index-url", f"https://download.pytorch.org/whl/{tag}")
        if not old
        else ("--extra-index-url", f"https://download.pytorch.org/whl/{tag}")
        if number >= _FIRST_WITH_INDEX
        else ("-f", "https://download.pytorch.org/whl/torch_stable.html")
    )
    return Recipe(
        title=f"Install the same releases by pip, from PyTorch's index for CUDA {build}",
        steps=(
            Action(run=("{python.executable|python}", "-m", "pip", "install", *names, *option)),
        ),
        note=f"Wheels of torch {full} are there for "
        f"{offers.span(offers.pythons_of_torch(case.catalog, full))}.",
    )


def _pytorch3d(case: Case, event: Event) -> Explanation:
    windows = system_of(case, event) == "windows"
    compiled = Recipe(
        title="Compile PyTorch3D for the torch that is here",
        use_if=("a CUDA toolkit of torch's own CUDA release and a C++ compiler are installed",),
        steps=(
            Action(
                install=("git+https://github.com/facebookresearch/pytorch3d.git@stable",),
                options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH),
            ),
        ),
    )
    fitting = command(
        "Make an environment with the newest trio that has a build: Python 3.10, torch 2.4.1, "
        "CUDA 12.1",
        *("conda", "create", "-y", "-n", "pytorch3d"),
        *("-c", "pytorch3d", "-c", "pytorch", "-c", "nvidia", "-c", "conda-forge"),
        *("python=3.10", "pytorch=2.4.1", "torchvision", "pytorch-cuda=12.1"),
        *("iopath", "pytorch3d=0.7.8"),
        use_if=("the GPU is not newer than an RTX 40 or an H100",),
        note="The channel's page lists the other trios: py39_cu116_pyt1130 in a file's name is "
        "Python 3.9, CUDA 11.6 and torch 1.13.0.",
    )
    return explanation(
        event,
        "PyTorch3D has no build of conda for this Python, torch and CUDA"
        + (" (for Windows it has none at all)" if windows else ""),
        "Each build of PyTorch3D is for one release of Python, torch and CUDA, and the channel has "
        "some of these trios alone, for Linux. All three have to be chosen together.",
        (compiled,) if windows else (fitting, compiled),
        name="conda-request",
        exact=False,
        contradicts=_CONTRADICTS,
    )


def _old(event: Event, *, exact: bool, items: tuple[str, ...] = ()) -> Explanation:
    named = f" for {', '.join(items)}" if items else ""
    return explanation(
        event,
        "This conda is too old for the packages: it does not know __glibc or __cuda"
        if exact
        else f"conda finds no set of packages{named}, and this old conda does not say why",
        "Packages of today ask conda for what the system has (__glibc, __cuda). A conda before 4.8 "
        "takes that for a package that is missing, so that everything conflicts."
        if exact
        else 'The words "found to be in conflict" are those of conda before 4.7. It lists what it '
        "could not place, whatever the reason; newer ones name it.",
        (
            command(
                "Update conda itself, then run the same command again",
                *("conda", "install", "-y", "-n", "base", "-c", "defaults", "conda>=23.10"),
                note="Where that finds no solution either, install Miniforge into a folder of its "
                "own; environments of the old one stay.",
            ),
            command(
                "Make a new environment for it, with all packages in one command",
                *(
                    "conda",
                    "create",
                    "-n",
                    "<name>",
                    "python=<python>",
                    *(items or ("<packages>",)),
                ),
                ask={
                    "name": "a name for the environment",
                    "python": "a Python of the time of these packages",
                    **({} if items else {"packages": "what was to be installed"}),
                },
            ),
        ),
        name="conda-too-old",
        exact=exact,
        contradicts=_CONTRADICTS if exact else (),
    )
