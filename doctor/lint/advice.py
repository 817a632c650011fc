"""Rules for fixes that hold advice harmless: nothing new beside torch, no release without what it asks for, no word for a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.placeholders import PLACEHOLDER
from doctor.model.issues import Recipe

_COMPANIONS = frozenset({"torchvision", "torchaudio"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORDS = {
    re.compile(r"^(on )?(Linux|Windows|macOS|a Mac)$"): "host.os",
    re.compile(r"^(an? )?(environment of conda|conda environment|conda)$"): "python.conda",
    re.compile(r"^(the machine has |there is )?an NVIDIA GPU$"): "nvidia.gpu_present",
    re.compile(
        r"^(torch|Python)( is)? [\d.]+ or (older|newer)$"
    ): "torch.release or python.version",
    re.compile(r"^[A-Z_]+ is set$"): "env.*",
}
"""Circumstances in words that a fact decides, and that fact."""
_CAPITALS = re.compile(r"(?<![\w$%{\\-])[A-Z][A-Z0-9_]+(?![\w\\]|=[^=])")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LITERAL = frozenset(
    {
        "ON",
        "OFF",
        "ALL",
        "DEFAULT",
        "HEAD",
        "IM",
        "NVIDIA",
        "CUDA",
        "NCCL",
        "IPC_LOCK",
        "REG_DWORD",
        "MOK",
        "AUTOMATIC1111",
        "PATH",
        "CC",
    }
    | {
        "ECC",
        "PAGE_RETIREMENT",
        "ROW_REMAPPER",
        "TEMPERATURE",
        "POWER",
        "PERFORMANCE",
        "COMPUTE",
        "PIDS",
    }
    | {
        "LD_LIBRARY_PATH",
        "ONEAPI_ROOT",
        "HSA_OVERRIDE_GFX_VERSION",
        "NCCL_SOCKET_IFNAME",
        "CUDA_PATH",
        "LIBTORCH",
        "LIBTORCH_USE_PYTORCH",
    }
)
"""Words of capitals that a program does know: its own values, and variables that are taken away."""


def lint_advice(recipe: Recipe, component: str) -> Iterator[str]:
    """Yield where following a fix could break what works.

    `component` is the package that its issue is about.
    """
    names = {_name(one) for one in recipe.install}
    if "torch" in names and (unasked := sorted(names & _COMPANIONS - {component})):
        yield f"install: {', '.join(unasked)} would be new to some; name it under companions"
    if recipe.companions and not recipe.install:
        yield "companions: they join install, which is empty"
    anew = "reinstall" in recipe.options or set(recipe.install) <= set(recipe.uninstall)
    if "no-deps" in recipe.options and not anew and "torch pins" not in recipe.condition:
        yield "options: no-deps leaves behind what another release asks for; say hold-torch, or under condition what torch pins"
    if "no-deps" in recipe.options and "upgrade" in recipe.options:
        yield "options: no-deps and upgrade: the new release asks for what is not there; say hold-torch"
    sets = [name for name, value in recipe.env.items() if not value]
    if (
        sets == ["LD_LIBRARY_PATH"]
        and not recipe.install
        and not any("ld_library_path" in one.fact.lower() for one in recipe.when)
    ):
        yield "when: whether LD_LIBRARY_PATH is set is a fact, env.LD_LIBRARY_PATH"
    for part in recipe.condition.split("; "):
        yield from (
            f"condition: {part!r} is a fact: say it by when ({fact})"
            for words, fact in _WORDS.items()
            if words.match(part)
        )


def lint_placeholders(recipe: Recipe) -> Iterator[str]:
    """Yield each word that stands for something else and that an installer, a program or a shell would take at its word."""
    packages = (
        *recipe.install,
        *recipe.companions,
        *recipe.uninstall,
        *(one for kind in recipe.system.values() for one in kind),
    )
    # What `unset` takes away is the name of a variable.
    words = (
        *packages,
        recipe.index or "",
        *(word for argv in recipe.run if argv[0] != "unset" for word in argv),
    )
    for word in (*words, recipe.verify):
        bare = _QUOTED.sub("", word) if " " in word else word
        for found in sorted({*_CAPITALS.findall(bare)} - _LITERAL):
            yield f"{found} would be taken for a name: write <{found.lower().replace('_', '-')}>, which nothing takes"
        if " " in bare and (open_ := PLACEHOLDER.search(bare)):
            yield f"{open_[0]} in a line for a shell, which opens a file of that name: hand it in as an argument of its own, or quote it"


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else ""
