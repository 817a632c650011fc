"""Explain a build of torch that its index has, and that does not fit the Python which asks.

| what pip lists | what is said of it |
| --- | --- |
| 0.1.2 alone, which is no wheel | a 32-bit Python, or one without wheels |
| releases, but not this one, from the right index | the Pythons that this release has wheels for |
| nothing, from the right index | the same, and another pip than the Python in use |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import Inventory
from doctor.analyzers.wheel_recipes import from_index, see_python, see_tags
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Option, Recipe

_ABOVE = 30
_PAGE = re.compile(r"download\.pytorch\.org/whl/(?:torch_stable\.html|lts)")
_ANSWERED = re.compile(r"^\s{0,4}(?:Collecting|Using cached|Downloading) \S")
"""What pip prints of other packages: the index that has torch answers, so that nothing fits."""
_32_BITS = re.compile(r"[Pp]ython3\d{1,2}-32\b|\b32[- ]?bit Python|\(32-?bit\)|\[MSC v\.\d+ 32 bit")
_ONLY_SOURCES = Version("0.1.3")
"""torch 0.1.2 on PyPI is an archive that installs nothing, and the only one for each Python."""


def of_other_python(
    case: Case,
    event: Event,
    inventory: Inventory,
    asked: tuple[str, str],
    versions: list[Version] | None,
) -> Explanation | None:
    """Return why a release is not offered that the index has; None if it was not asked there."""
    wanted, local = asked
    lines = case.log.lines[max(event.at - _ABOVE, 0) : event.at + 1]
    there = any(
        _PAGE.search(line[:2000]) or (local and f"pytorch.org/whl/{local}" in line[:2000])
        for line in lines
    )
    empty = bool(versions) and all(one < _ONLY_SOURCES for one in versions or ())
    none = versions is not None and not versions and not on_mac(case)
    if not (there or empty or (none and any(_ANSWERED.search(one[:2000]) for one in lines))):
        return None
    pythons = pythons_with_wheel(case, wanted)
    if not pythons:
        return None
    python = inventory.python()
    bits = any(_32_BITS.search(line[:2000]) for line in case.log.lines[:4000])
    take = offers.usual(tuple(one for one in pythons if one != python or bits) or pythons)
    build = f"torch {wanted}{'+' + local if local else ''}"
    title, cause = _reason(case, build, pythons, (python, bits), empty=empty)
    recipes = [_environment(case, take)] if take else []
    if versions and not empty and local and versions[0] > Version(wanted):
        recipes += _oldest(case, versions[0])
    if versions is not None and not versions and local:
        recipes.append(_by_this_python(wanted, local))
    return explanation(
        event,
        title,
        cause,
        (*recipes, see_python()),
        name="release-not-offered",
        exact=bits or bool(python and python not in pythons) or bool(versions),
        contradicts=("torch/no-wheel-for-this-python", "torch/release-not-on-this-index"),
    )


def _reason(
    case: Case, build: str, pythons: tuple[str, ...], here: tuple[str | None, bool], *, empty: bool
) -> tuple[str, str]:
    del case
    python, bits = here
    span = offers.span(pythons)
    if bits:
        return (
            f"This Python has 32 bits, and torch has wheels for 64 bits alone ({span})",
            "Windows runs both kinds side by side. The folder of a 32-bit Python ends in -32.",
        )
    if python and python not in pythons:
        return (
            f"{build} has no wheels for Python {python}: it has them for {span}",
            "The index was asked and has the release; its files are for other Pythons.",
        )
    if empty:
        cause = (
            "pip lists 0.1.2 alone, an archive without torch: it found no wheel at all, which on "
            "Windows mostly means a 32-bit Python."
        )
        return f"This Python gets no wheel of {build}: it has 32 bits, or is none of {span}", cause
    cause = (
        "The right index was asked. pip lists what there is for this Python, so that it is newer "
        "or older, has 32 bits, or is for another processor. pip may belong to another Python "
        "than the command python; python -m pip asks for the latter."
    )
    return f"The index has {build}, but not for this Python: its wheels are for {span}", cause


def pythons_with_wheel(case: Case, wanted: str, *, newer: bool = False) -> tuple[str, ...]:
    """Return the Pythons with wheels; the newest one of some releases was for Linux alone.

    `newer` says that the index offers later releases only: the Python here is then newer than those
    of the release, or it is that newest one on another system.
    """
    pythons = offers.pythons_of_torch(case.catalog, wanted)
    first_on_linux = {"1.13": "3.11", "2.5": "3.13"}
    late = first_on_linux.get(".".join(wanted.split(".")[:2]))
    linux = case.context.os == "linux" and not newer
    return pythons if linux else tuple(one for one in pythons if one != late)


def _environment(case: Case, python: str) -> Recipe:
    """Return the recipe for an environment with a 64-bit Python; uv fetches it."""
    windows = str(value_of(case.facts, "host.os") or case.context.os or "") == "windows"
    request = f"cpython-{python}-windows-x86_64" if windows else python
    return Recipe(
        title=f"Make an environment with a 64-bit Python {python}",
        note="It brings that Python where it is missing. Install the packages into the new "
        "environment.",
        steps=(offers.environment(python, request)[0],),
    )


def _by_this_python(wanted: str, local: str) -> Recipe:
    recipe = from_index("torch", f"{wanted}+{local}", local)
    return Recipe(
        title="Ask by the Python that is to have it, in the place of the first pip on PATH",
        use_if=("pip --version names another Python than python --version",),
        steps=recipe.steps,
    )


def _oldest(case: Case, version: Version) -> Iterator[Recipe]:
    """Yield the oldest release for this Python, in the build that the index offers."""
    there = offers.cuda_of_torch(case.catalog, version.public)
    tag = version.local or ("cu" + there[-1].replace(".", "") if there else "")
    if tag:
        yield Recipe(
            title=f"Take torch {version.public}, the oldest one for this Python",
            use_if=("nothing needs that very release",),
            steps=from_index("torch", version.public, tag).steps,
            note=f"{tag} is the build for one CUDA; the driver decides which one it can be.",
        )


_FIRST_EVERYWHERE = Version("1.8")
"""PyPI has no earlier release for Windows, so that a list which begins there tells no Python."""
_NEWEST_TAG = re.compile(r"download\.pytorch\.org/whl/(?P<tag>cu\d{2,3})/?$")


def build_for_other_python(
    case: Case, event: Event, wanted: str, local: str, versions: list[Version] | None
) -> Explanation | None:
    """Explain a build with a local part whose release the Python here is too new for."""
    pythons = pythons_with_wheel(case, wanted, newer=True)
    if not pythons:
        return None
    python = Inventory(case).python()
    newer = bool(python and python not in pythons) or bool(
        versions
        and versions[0] >= _FIRST_EVERYWHERE
        and versions[0].release[:2] > Version(wanted).release[:2]
    )
    take = offers.usual(pythons)
    if not newer or not take:
        return None
    here = f"Python {python}" if python else "this Python"
    return explanation(
        event,
        f"torch {wanted}+{local} has no wheels for {here}: it has them for {offers.span(pythons)}",
        f"Builds with +{local} lie on PyTorch's own index, which was not asked; and there is none "
        f"for {here} there either.",
        (
            _with_index(take, f"torch=={wanted}+{local}", local),
            see_python(),
        ),
        name="release-not-offered",
        contradicts=("torch/no-wheel-for-this-python", "torch/release-not-on-this-index"),
    )


def index_of_older_python(case: Case, event: Event, name: str, index: str) -> Explanation | None:
    """Explain an index of an older CUDA, whose releases are for older Pythons alone."""
    match = _NEWEST_TAG.search(index)
    cuda = offers.named_cuda(match["tag"]) if match else None
    if name != "torch" or match is None or not cuda:
        return None
    there = offers.torch_with_cuda(case.catalog, cuda)
    pythons = pythons_with_wheel(case, there[-1]) if there else ()
    take = offers.usual(pythons)
    if not take:
        return None
    tag = match["tag"]
    return explanation(
        event,
        f"PyTorch's index for {tag} has torch {there[0]} to {there[-1]}, and none for this Python",
        f"The newest of them, {there[-1]}, has wheels for {offers.span(pythons)} of 64 bits. Newer "
        "releases are on the indexes of newer CUDAs.",
        (
            _with_index(take, f"torch=={there[-1]}", tag),
            Recipe(
                title="Take the newest torch from the index of a newer CUDA",
                use_if=("nothing needs that CUDA release", "the driver serves CUDA 12.6 (560)"),
                steps=(
                    Action(
                        install=("torch",),
                        companions=("torchvision", "torchaudio"),
                        index="https://download.pytorch.org/whl/cu126",
                    ),
                ),
            ),
        ),
        name="release-not-offered",
        contradicts=("torch/no-wheel-for-this-python", "torch/release-not-on-this-index"),
        exact=False,
    )


def _with_index(python: str, requirement: str, local: str) -> Recipe:
    folder = f".venv-{python}"
    install = ("uv", "pip", "install", "--python", folder, requirement)
    return Recipe(
        title=f"Make an environment with Python {python}, and install that build into it",
        note="uv brings that Python where it is missing.",
        steps=(
            Action(run=("uv", "venv", "--python", python, folder)),
            Action(run=(*install, "--index-url", f"https://download.pytorch.org/whl/{local}")),
        ),
    )


_MAC = re.compile(r"\b[Mm]ac ?OS\b|\bMac ?[Bb]ook\b|\b(?:my|a|on) [Mm]ac\b|\(Mac\)|\bM[1-5] Mac\b")


def on_mac(case: Case) -> bool:
    """Say whether the log, or its writer's words, are of a Mac."""
    known = str(value_of(case.facts, "host.os") or case.context.os or "")
    return known == "macos" or any(_MAC.search(line[:400]) for line in case.log.lines[:2000])


def unknown_to_pip(event: Event, name: str) -> Explanation:
    """Explain a name without files on a Mac, whose tags an old pip does not know.

    pip before 20.3 knows no macOS 11, and before 21.0 no wheel for both kinds of Mac
    (https://pip.pypa.io/en/stable/news/).
    """
    return explanation(
        event,
        f"pip finds no file of {name} that fits this Mac and this Python",
        "An old pip does not know the tags of newer releases of macOS. Else the project has no "
        "file for this Python or processor, or the name is misspelled.",
        (
            Recipe(
                title="Move pip to a release that knows this macOS, and ask again",
                steps=(Action(install=("pip",), options=(Option.UPGRADE,)),),
            ),
            see_tags(),
        ),
        name="name-not-on-index",
        exact=False,
    )
