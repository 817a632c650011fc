"""Variables for programs that run in a clone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.base.refusals import home_folder
from doctor.environments.environment import Environment
from doctor.environments.prefixes import moved_text
from doctor.observe.runner.start import CACHES

_ELSEWHERE = frozenset(
    {
        "PIP_PREFIX",
        "PIP_PYTHON",
        "PIP_ROOT",
        "PIP_TARGET",
        "UV_BREAK_SYSTEM_PACKAGES",
        "UV_PYTHON",
        "UV_SYSTEM_PYTHON",
        "__PYVENV_LAUNCHER__",
    }
)
"""Variables that send an installer to another environment."""
_DOWNLOADS = {
    "UV_CACHE_DIR": "uv",
    "PIP_CACHE_DIR": "pip",
    "HF_HOME": "huggingface",
    "TORCH_HOME": "torch",
}
"""Caches of downloads below XDG_CACHE_HOME: programs in a clone go on using the user's."""


def variables(
    env: Mapping[str, str], environment: Environment, names: Sequence[str], folder: Path
) -> dict[str, str]:
    """Return the variables of a program for a clone.

    `names` are the spellings of the prefix of the original, `folder` is where compilers may keep
    what they build.
    """
    root = str(environment.root)
    moved = {
        name: moved_text(value, names, root)
        for name, value in env.items()
        if name not in _ELSEWHERE and name != "PYTHONPYCACHEPREFIX"
    }
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    scripts = str(environment.scripts)
    active = "CONDA_PREFIX" if environment.kind == "conda" else "VIRTUAL_ENV"
    return {
        **moved,
        **{name: str(folder / "caches" / cache) for name, cache in CACHES.items()},
        **_downloads(env),
        active: root,
        "PATH": os.pathsep.join(filter(None, (scripts, moved.get("PATH", os.defpath)))),
        "PIP_USER": "0",
        "UV_PROJECT_ENVIRONMENT": root,
        "TMPDIR": str(temporary),
    }


def _downloads(env: Mapping[str, str]) -> dict[str, str]:
    cache, home = env.get("XDG_CACHE_HOME", ""), env.get("HOME") or home_folder()
    if not Path(cache).is_absolute():
        cache = str(Path(home) / ".cache") if home else ""
    usual = {name: f"{cache}/{folder}" for name, folder in _DOWNLOADS.items() if cache}
    return {name: env.get(name) or usual[name] for name in usual}
