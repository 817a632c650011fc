"""Rules for fixes: each can be pasted, and following it breaks nothing that works."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.placeholders import PLACEHOLDER, names
from doctor.fixes.shell import has_quoted_variable
from doctor.model.issues import Action, Option, Recipe

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
    re.compile(r"^torch is (a build )?for CUDA \d"): "torch.cuda_major or torch.cuda_version",
    re.compile(r"^g\+\+ is of release \d"): "compiler.cxx_major",
}
"""Conditions in words that a fact decides, and that fact."""
_CAPITALS = re.compile(r"(?<![\w$%{\\-])[A-Z][A-Z0-9_]+(?![\w\\]|=[^=])")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LITERAL = frozenset(
    [
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
        "ECC",
        "PAGE_RETIREMENT",
        "ROW_REMAPPER",
        "TEMPERATURE",
        "POWER",
        "PERFORMANCE",
        "COMPUTE",
        "PIDS",
        "LD_LIBRARY_PATH",
        "ONEAPI_ROOT",
        "HSA_OVERRIDE_GFX_VERSION",
        "NCCL_SOCKET_IFNAME",
        "CUDA_PATH",
        "LIBTORCH",
        "LIBTORCH_USE_PYTORCH",
    ]
)
"""Words of capitals that a program knows: its own values, and variables that are removed."""

_ACTS = ("install", "uninstall", "system", "run", "edit")
_BARE = re.compile(r"(?:^|[;&|]\s*)(?:sudo\s+)?(pip3?|python3?)(?=\s|$)")
_EXPORT = re.compile(r"(?:^|[;&|]\s*)export\s")
_STEPS = re.compile(r"(?i)\b(?:first|second|last) of (?:two|three)\b|\bstep [1-9]\b")
_PIP_ALONE = frozenset(
    {"-e", "-r", "-c", "--config-settings", "--only-binary", "--no-index", "--timeout"}
    | {"--target", "--extra-index-url", "--platform", "--user", "--prefix", "--dry-run"}
)
"""Options of pip that no step has."""
_SHELLS = frozenset({"sh", "bash", "zsh"})
_OTHER_SHELLS = frozenset({"powershell", "cmd"})
_FILES = frozenset({"Dockerfile", "Containerfile", "Makefile", "Caddyfile"})


def lint_advice(recipe: Recipe, component: str) -> Iterator[str]:
    """Yield where following a fix could break what works.

    `component` is the package that its issue is about.
    """
    removed = {_name(name) for action in recipe.steps for name in action.uninstall}
    moved = False
    for action in recipe.steps:
        wanted = {_name(one) for one in action.install}
        if Option.HOLD_TORCH in action.options and moved:
            yield (
                "options: hold-torch keeps the torch that was here before the first step; "
                "name the release of the earlier step beside the package"
            )
        moved = moved or "torch" in wanted
        if "torch" in wanted & removed and not any(one.run for one in recipe.steps):
            yield (
                "uninstall: torch is gone where its installation fails; "
                "say reinstall and no-deps, and install once more without them"
            )
        anew = Option.REINSTALL in action.options and Option.NO_DEPS not in action.options
        if "torch" in action.install and action.index and anew:
            yield (
                "options: reinstall also moves what torch asks for; "
                "say no-deps, and install once more without either"
            )
        if "torch" in wanted and (unasked := sorted(wanted & _COMPANIONS - {component})):
            yield f"install: {', '.join(unasked)} would be new to some; name it under companions"
        anew = Option.REINSTALL in action.options or wanted <= removed
        pins = "torch pins" in " ".join((*recipe.sentences, recipe.note))
        if Option.NO_DEPS in action.options and not anew and not pins:
            yield (
                "options: no-deps leaves behind what another release asks for; "
                "say hold-torch, or in note what torch pins"
            )
        if Option.NO_DEPS in action.options and Option.UPGRADE in action.options:
            yield (
                "options: no-deps and upgrade: the new release asks for what is not there; "
                "say hold-torch"
            )
    sets = [name for action in recipe.steps for name, value in action.env.items() if not value]
    if (
        sets == ["LD_LIBRARY_PATH"]
        and not any(one.install for one in recipe.steps)
        and not any("ld_library_path" in one.fact.lower() for one in recipe.conditions)
    ):
        yield "use_if: whether LD_LIBRARY_PATH is set is a fact, env.LD_LIBRARY_PATH"
    for sentence in recipe.sentences:
        yield from (
            f"use_if: {sentence!r} is a fact: write a condition over {fact}"
            for words, fact in _WORDS.items()
            if words.match(sentence)
        )


def lint_steps(recipe: Recipe) -> Iterator[str]:
    """Yield where the steps of a fix are no sequence that a shell and an editor can carry out."""
    if not recipe.steps and recipe.snippet is None:
        yield "it does nothing: give steps or a snippet"
    for number, action in enumerate(recipe.steps):
        yield from (f"steps[{number}]: {fault}" for fault in _lint_action(action))
    for text in (
        recipe.title,
        recipe.note,
        *recipe.sentences,
    ):
        if _STEPS.search(text):
            yield f"{text!r} counts steps: put them into one fix, in order"
    if recipe.verify:
        yield from (f"verify: {fault}" for fault in _lint_command(recipe.verify))
    asked = {one.strip("<>") for action in recipe.steps for one in _asked(action)}
    yield from (f"ask.{name}: no step has <{name}>" for name in sorted(set(recipe.ask) - asked))


def _lint_action(action: Action) -> Iterator[str]:
    acts = [name for name in _ACTS if getattr(action, name)]
    if len(acts) > 1 or not (acts or action.env):
        yield f"exactly one of {', '.join(_ACTS)} or env alone, not {', '.join(acts) or 'none'}"
    given = action.companions or action.index or action.options or action.find_links
    if not action.install and (given or action.build):
        yield "companions, index, find_links, options and build belong to install"
    if action.source and not action.run:
        yield "source belongs to run"
    if action.edit is not None and not _is_path(action.edit.file):
        yield f"edit.file: {action.edit.file!r} is no path; a snippet says where in words"
    if action.run:
        yield from _lint_command(action.run)
    script = action.run[:1] and action.run[0] in (*_SHELLS, *_OTHER_SHELLS)
    for word in (*(() if script else action.run), *action.env.values()):
        if has_quoted_variable(word):
            yield f"{word!r} is quoted, so no shell expands it: add it to doctor/fixes/shell.py"


def _lint_command(argv: tuple[str, ...]) -> Iterator[str]:
    scripts = [argv[2]] if argv[0] in _SHELLS and len(argv) > 2 and argv[1] in ("-c", "-lc") else []
    for script in (argv[0], *scripts):
        if found := _BARE.search(script):
            yield (
                f"{found[1]} is whatever stands first on PATH: write {{python.executable}}, "
                "or install and uninstall"
            )
    if any(_EXPORT.search(script) for script in scripts):
        yield "export within sh -c ends with that shell: write env"
    if argv[1:4] == ("-m", "pip", "install") and not _PIP_ALONE.intersection(argv):
        yield "write install: it is the installer of the target that runs, pip or another"
    if argv[0] in ("source", "."):
        yield "write source: true, and the script with its arguments as run"


def _is_path(text: str) -> bool:
    """Return whether a text can be the path of a file."""
    name = text.replace("\\", "/").rpartition("/")[2]
    if any(char.isspace() for char in text.replace("Program Files", "")):
        return False
    return "/" in text or "." in name or name in _FILES or text.startswith(("{", "<"))


def _asked(action: Action) -> Iterator[str]:
    words = [*action.run, *action.install, *action.uninstall, *action.env.values()]
    words += [action.edit.file, action.edit.after] if action.edit else []
    for word in (*words, action.index or "", action.find_links or ""):
        yield from PLACEHOLDER.findall(word)


def lint_placeholders(recipe: Recipe) -> Iterator[str]:
    """Yield each word that an installer, a program or a shell would take literally."""
    words = list[str](recipe.verify)
    for action in recipe.steps:
        words += (*action.install, *action.companions, *action.uninstall, action.index or "")
        words += (one for kind in action.system.values() for one in kind)
        # What `unset` removes is the name of a variable.
        words += action.run if action.run[:1] != ("unset",) else ()
    for word in words:
        bare = _QUOTED.sub("", word) if " " in word else word
        for found in sorted({*_CAPITALS.findall(bare)} - _LITERAL):
            name = found.lower().replace("_", "-")
            yield f"{found} would be taken for a name: write <{name}>, which nothing takes"
        if " " in bare and (open_ := PLACEHOLDER.search(bare)):
            yield (
                f"{open_[0]} in a line for a shell, which opens a file of that name: "
                "hand it in as an argument of its own, or quote it"
            )


def used_placeholders(recipe: Recipe) -> Iterator[str]:
    """Yield the name of every `{placeholder}` of a recipe."""
    texts = [recipe.title, recipe.note, *recipe.verify]
    texts += recipe.sentences
    if recipe.snippet is not None:
        texts += (recipe.snippet.where, recipe.snippet.before, recipe.snippet.after)
    for action in recipe.steps:
        texts += (action.title, *action.install, *action.companions, *action.uninstall, *action.run)
        texts += (action.index or "", action.find_links or "", *action.env.values())
        if action.edit is not None:
            texts += (action.edit.file, action.edit.before, action.edit.after)
    for text in texts:
        yield from names(text)


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else ""
