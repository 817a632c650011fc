"""Fixes of a log that need a fact which its reader can look up, and doctor cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from doctor.facts.conditions import condition_holds, lookup
from doctor.facts.placeholders import HOLE
from doctor.fixes.choosing import open_sentence
from doctor.model.facts import Facts, State, present
from doctor.model.issues import Action, Recipe

_IN_PYTHON = 'python -c "import torch; print({})"'
_RELEASE = (
    "<torch-release>",
    f"torch's release, without what stands behind a +: {_IN_PYTHON.format('torch.__version__')}",
)
_CAPABILITY = (
    "<compute-capability>",
    "what nvidia-smi --query-gpu=compute_cap --format=csv,noheader prints, such as 8.6",
)
_ASKED: Final[Mapping[str, tuple[str, str]]] = {
    "compat.torch.torchaudio.wanted": ("<torchaudio-release>", "torchaudio's release for torch"),
    "compat.torch.torchvision.wanted": ("<torchvision-release>", "torchvision's release for torch"),
    "compat.torch.triton.wanted": (
        "<triton-release>",
        (
            "the triton that torch asks for: "
            "python -c \"import importlib.metadata as m; print(m.requires('torch'))\""
        ),
    ),
    "crate.candle-core.version": (
        "<candle-release>",
        "the release of candle-core: cargo tree -i candle-core",
    ),
    "cuda.home": ("<toolkit>", "the folder of the CUDA toolkit, such as /usr/local/cuda"),
    "cuda.lib_dir": ("<toolkit>/lib64", ""),
    "cuda.version": ("<nvcc-release>", "the release that nvcc --version prints"),
    "gpu.arch_list": _CAPABILITY,
    "nvidia.capability_min": _CAPABILITY,
    "nvidia.cuda_version": (
        "<cuda-of-driver>",
        "the CUDA Version in the first lines of nvidia-smi",
    ),
    "nvidia.driver_branch": (
        "<driver-branch>",
        "the first number of the driver's release, as nvidia-smi prints it: 570",
    ),
    "nvidia.driver_version": ("<driver-release>", "the driver's release, as nvidia-smi prints it"),
    "torch.cuda_tag": (
        "<cuda-tag>",
        f"torch's CUDA, 12.8 as cu128: {_IN_PYTHON.format('torch.version.cuda')}",
    ),
    "torch.cuda_version": (
        "<cuda-of-torch>",
        f"torch's CUDA: {_IN_PYTHON.format('torch.version.cuda')}",
    ),
    "torch.path": ("<torch-folder>", f"torch's folder: {_IN_PYTHON.format('torch.__path__[0]')}"),
    "torch.release": _RELEASE,
    "torch.version": _RELEASE,
    "torch.wanted_tag": (
        "<cuda-tag>",
        "the CUDA of the wheels, such as cu128; at most what the first lines of nvidia-smi name",
    ),
}
"""What stands for a fact in a command, and where a reader finds it."""
_PACKAGE = ("package.", ".version")


def asking(recipe: Recipe, facts: Facts, free: Collection[str] = ()) -> tuple[Recipe, Facts] | None:
    """Return a recipe that asks for the facts that it lacks, and facts that stand for them.

    None where it asks for another thing than a reader can look up or for a fact of `free`, or where
    a condition is open that a reader cannot decide.
    """
    stand_ins: dict[str, tuple[str, str]] = {}
    for name in _needed(recipe):
        state = lookup(name, facts).state
        if state is State.PRESENT or name.startswith("log."):
            continue
        known = _asked(name)
        if known is None or name in free or state is State.ABSENT:
            return None
        stand_ins[name] = known
    for condition in recipe.conditions:
        open_ = condition_holds(condition, facts).truth is None
        if condition.fact in stand_ins or condition.absent or not open_:
            continue
        if not open_sentence(condition, recipe):
            return None
    asks = {text.strip("<>"): how for text, how in stand_ins.values() if how}
    filled = {name: present(text, "the reader") for name, (text, _) in stand_ins.items()}
    return msgspec.structs.replace(recipe, ask={**asks, **recipe.ask}), {**facts, **filled}


def _asked(name: str) -> tuple[str, str] | None:
    first, last = _PACKAGE
    if name.startswith(first) and name.endswith(last):
        package = name.removeprefix(first).removesuffix(last)
        if package == "torch":
            return _RELEASE
        if package.replace("-", "").isalpha():
            return f"<{package}-release>", f"the installed release: pip show {package}"
    return _ASKED.get(name)


def _needed(recipe: Recipe) -> Sequence[str]:
    """Return the facts that fill the commands, edits and snippets of a recipe, each once."""
    texts = [*recipe.verify]
    for step in recipe.steps:
        texts += _texts(step)
    if recipe.snippet is not None:
        texts += (recipe.snippet.before, recipe.snippet.after)
    holes = (hole for text in texts for hole in HOLE.finditer(text))
    return tuple(dict.fromkeys(hole[1] for hole in holes if hole[2] is None))


def _texts(step: Action) -> list[str]:
    texts = [*step.install, *step.uninstall, *step.run, *step.env.values()]
    texts += (step.index or "", step.find_links or "")
    if step.edit is not None:
        texts += (step.edit.file, step.edit.before, step.edit.after)
    return texts
