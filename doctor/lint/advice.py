"""Rules for fixes that hold advice harmless: nothing new beside torch, no release without what it asks for, no word for a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.model.issues import Recipe

_COMPANIONS = frozenset({"torchvision", "torchaudio"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORDS = {
    re.compile(r"^(on )?(Linux|Windows|macOS|a Mac)$"): "host.os",
    re.compile(r"^(an? )?(environment of conda|conda environment|conda)$"): "python.conda",
    re.compile(r"^(the machine has |there is )?an NVIDIA GPU$"): "nvidia.gpu_present",
    re.compile(r"^(torch|Python)( is)? [\d.]+ or (older|newer)$"): "torch.release or python.version",
    re.compile(r"^[A-Z_]+ is set$"): "env.*",
}
"""Circumstances in words that a fact decides, and that fact."""


def lint_advice(recipe: Recipe, component: str) -> Iterator[str]:
    """Yield where following a fix could break what works; `component` is the package that its issue is about."""
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
    if sets == ["LD_LIBRARY_PATH"] and not recipe.install and not any("ld_library_path" in one.fact.lower() for one in recipe.when):
        yield "when: whether LD_LIBRARY_PATH is set is a fact, env.LD_LIBRARY_PATH"
    for part in recipe.condition.split("; "):
        yield from (f"condition: {part!r} is a fact: say it by when ({fact})" for words, fact in _WORDS.items() if words.match(part))


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else ""
