"""Explain releases of torch that an early uv does not find on PyTorch's own index.

The wheels for Linux and Windows there have a local version (2.3.1+cpu). `==2.3.1` accepts it
(https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers),
which uv does since 0.5.0 (https://github.com/astral-sh/uv/pull/8797); before that it saw only the
wheels for macOS, which have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from packaging.version import Version

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Recipe

_REACH = 30
_LONGEST = 1000
_LACKING = re.compile(
    r"\b(?P<name>torch|torchvision|torchaudio)==(?P<release>\d[\d.]{2,10})(?![\w.+]) has no wheels"
)
_OLD_WORDS = "has no wheels are available with a matching"
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?P<build>cpu|cu\d{2,3}|rocm\d[\d.]{1,6}|xpu)\b")
_UV = re.compile(r"(?i)\buv(?: version)?[:` ]{1,4}v?(?P<release>0\.\d{1,2}\.\d{1,3})\b")
_FIRST = Version("0.5.0")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of a release that the index has with a local version alone."""
    for event in distinct(case, "resolver-conflict", most=3):
        if event.speaker != "uv":
            continue
        near = case.log.lines[max(event.at - _REACH, 0) : event.at + _REACH]
        lines = [line[:_LONGEST].strip(" \u2502|\u2570\u2500\u25b6`->") for line in near]
        text = " ".join(" ".join(lines).split())
        found, index = _LACKING.search(text), _INDEX.search(text)
        uv = _UV.search("\n".join(case.log.lines[:400]))
        early = uv is not None and Version(uv["release"]) < _FIRST
        on_mac = str(value_of(case.facts, "host.os") or case.context.os) == "macos"
        if not found or not index or on_mac or not (early or _OLD_WORDS in text):
            continue
        name, release, build = found["name"], found["release"], index["build"]
        yield explanation(
            event,
            f"This uv does not take {name}=={release} for {name} {release}+{build}, which is what "
            "the index has",
            f"PyTorch's index for {build} has the wheels for Linux and Windows as "
            f"{release}+{build}; the plain {release} there is for macOS, so that uv speaks of "
            "another Python or system. pip takes the one for the other.",
            (
                Recipe(
                    title=f"Ask for {name} {release}+{build}",
                    steps=(
                        Action(
                            run=(
                                *("uv", "pip", "install", f"{name}=={release}+{build}"),
                                *("--index-url", f"https://download.pytorch.org/whl/{build}"),
                            )
                        ),
                    ),
                ),
                Recipe(
                    title="Update uv, which takes the one for the other since 0.5.0",
                    steps=(Action(run=("uv", "self", "update")),),
                    note="Where pip or a package manager installed uv, that one updates it.",
                ),
            ),
            name="local-build-not-matched",
        )
        return


_PROJECT = re.compile(r"\buv (?:sync|lock|add|run|export|tree)\b")


def settings_of_uv_pip(case: Case, event: Event, requirement: str) -> Explanation | None:
    """Explain an index that the project names for `uv pip` alone, which uv sync does not read.

    https://docs.astral.sh/uv/reference/settings/#pip
    """
    lines = [line[:_LONGEST].strip() for line in case.log.lines]
    if event.speaker != "uv" or "[tool.uv.pip]" not in lines:
        return None
    at = lines.index("[tool.uv.pip]")
    table = list(takewhile(lambda line: not line.startswith("["), lines[at + 1 : at + 40]))
    addresses = [found for line in table if (found := _INDEX.search(line))]
    if not addresses or not any(_PROJECT.search(line) for line in lines):
        return None
    build = addresses[0]["build"]
    name = re.match(r"[A-Za-z][\w-]{0,40}", requirement)
    package = name[0] if name else "torch"
    return explanation(
        event,
        f"uv sync does not read [tool.uv.pip], where the project names PyTorch's index for {build}",
        "The settings in [tool.uv.pip] are for uv pip alone. uv sync, lock, add and run read "
        "[tool.uv], so that they asked PyPI only.",
        (index_of_project(package, build, before="[tool.uv.pip]"),),
        name="index-for-uv-pip-alone",
        contradicts=("torch/release-not-on-this-index", "torch/no-wheel-for-this-python"),
    )


_OF_PROJECT = re.compile(r"\byour project(?:'s requirements| depends)|\buv (?:sync|lock|add|run)\b")


def is_uv_project(event: Event) -> bool:
    """Say whether uv resolved a project, whose pyproject.toml names the indexes."""
    return event.speaker == "uv" and _OF_PROJECT.search(event.text) is not None


def index_of_project(package: str, build: str, *, before: str = "") -> Recipe:
    """Return the lines of pyproject.toml that take a package from PyTorch's index for a build."""
    return code(
        f"Name the index for the whole project, and take {package} from it",
        "pyproject.toml",
        f'[tool.uv.sources]\n{package} = {{ index = "pytorch-{build}" }}\n\n'
        f'[[tool.uv.index]]\nname = "pytorch-{build}"\n'
        f'url = "https://download.pytorch.org/whl/{build}"\nexplicit = true',
        before=before,
        note="Then uv sync once more. torchvision and torchaudio get a line in "
        "[tool.uv.sources] as well.",
    )


def by_uv(requirement: str, build: str) -> Recipe:
    """Return the command that installs a build beside the project's lock."""
    return Recipe(
        title="Install it into the environment, beside the lock file",
        steps=(
            Action(
                run=(
                    *("uv", "pip", "install", requirement),
                    *("--index-url", f"https://download.pytorch.org/whl/{build}"),
                )
            ),
        ),
    )
