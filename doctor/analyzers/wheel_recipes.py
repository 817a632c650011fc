"""Recipes and explanations that wheels and requirements share."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from doctor.analyzers import offers
from doctor.analyzers.case import Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names
from doctor.timelines.standard_library import standard_module

ONLY_LINUX = {
    "triton": "triton-windows",
    "vllm": None,
    "deepspeed": None,
    "nvidia-nccl-cu12": None,
    "nvidia-cudnn-cu12": None,
    "nvidia-cublas-cu12": None,
    "bitsandbytes-cuda117": None,
}
"""Distributions that have no wheels for Windows, and the one that stands in for them there."""


def bare_name(requirement: str) -> str:
    """Return the normalized name at the beginning of a requirement."""
    match = re.match(r"[A-Za-z][\w.-]{0,100}", requirement)
    return canonicalize_name(match[0]) if match else ""


def see_tags() -> Recipe:
    """Return the recipe that prints the tags of this interpreter."""
    return Recipe(
        title="See which tags this interpreter takes",
        steps=(Action(run=("{python.executable}", "-m", "pip", "debug", "--verbose")),),
        lasting=False,
    )


def other_python(
    event: Event, what: str, wanted: str, python: str | None, name: str
) -> Explanation:
    """Explain a release that asks for another Python."""
    take = offers.python_for(wanted)
    here = f"Python {python}" if python else "this Python"
    age = _age(wanted, python)
    recipes = [offers.new_environment(take)] if take else []
    if name and NAME.fullmatch(name):
        recipes.append(
            Recipe(
                title=f"Take a release of {name} for {here}",
                use_if=("nothing needs that very release",),
                steps=(Action(install=(name,), options=(Option.HOLD_TORCH,)),),
                note="Without a version, the installer takes the newest one that fits.",
            )
        )
    return explanation(
        event,
        f"{what} requires Python {wanted}" + (f", and this is {python}" if python else ""),
        f"{here} is too {age} for it." if age else f"Its metadata refuse {here}.",
        tuple(recipes),
        name="python-refused",
    )


def _age(wanted: str, python: str | None) -> str:
    if python is None:
        return ""
    try:
        lower = [one for one in SpecifierSet(wanted) if one.operator in (">=", ">", "~=")]
        low = max((Version(one.version.rstrip(".*")) for one in lower), default=None)
        return "old" if low is not None and Version(python) < low else "new"
    except (InvalidSpecifier, InvalidVersion):
        return ""


def see_python() -> Recipe:
    """Return the recipe that prints the interpreter, the system and the processor."""
    code = (
        "import platform, struct, sys; "
        "print(sys.version, platform.platform(), struct.calcsize('P') * 8)"
    )
    return Recipe(
        title="See which Python, system and processor this is",
        steps=(Action(run=("{python.executable}", "-c", code)),),
        lasting=False,
    )


def not_for_macos(event: Event, name: str, release: str, local: str) -> Explanation:
    """Explain a release with a local part, which no wheel for macOS has."""
    return explanation(
        event,
        f"{name} has no build +{local} for macOS",
        "Wheels with such a local part are for Linux and Windows.",
        (
            Recipe(
                title=f"Take {name} {release} without +{local}, from the usual index",
                note="On a Mac torch computes with Metal (mps), and there is no build for CUDA. "
                "Leave out --index-url, and take the local part out of the requirements.",
                steps=(Action(install=(f"{name}=={release}" if release else name,)),),
            ),
        ),
        name="build-not-for-macos",
    )


def from_index(name: str, version: str, local: str) -> Recipe:
    """Return the recipe of a build of torch, or of a companion, from PyTorch's own index."""
    others = (
        [one for one in ("torchvision", "torchaudio") if one != name] if name == "torch" else []
    )
    return Recipe(
        title=f"Install it from PyTorch's index for {local}",
        steps=(
            Action(
                install=(f"{name}=={version}",),
                companions=tuple(others),
                index=f"https://download.pytorch.org/whl/{local}",
            ),
        ),
    )


def other_name(event: Event, text: str, name: str) -> Explanation | None:
    """Explain a name that is a part of Python, or a module of another distribution."""
    module = text.strip().partition("=")[0].strip()
    if standard_module(module) and not names.distribution_of(module):
        return explanation(
            event,
            f"{module} is a part of Python and is not installed by pip",
            f"`import {module}` works without it. Take {module} out of the list of requirements."
            if not module.startswith("tk")
            else "It comes with Python, on Linux as a package of the system: python3-tk.",
            name="part-of-python",
        )
    brought = names.distributions_of(module)
    if brought and canonicalize_name(brought[0]) != name and "." not in module:
        return explanation(
            event,
            f"The module {module} comes with the distribution {brought[0]}",
            f"No distribution is called {name} there: modules and distributions may have different "
            f"names.",
            (
                Recipe(
                    title=f"Install {brought[0]}",
                    steps=(Action(install=(brought[0],), options=(Option.HOLD_TORCH,)),),
                ),
            ),
            name="name-of-a-module",
        )
    return None
