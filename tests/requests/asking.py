"""Ask as the command line does, with uv on PATH and without the caller's environment."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import uv

from doctor.host import Host
from doctor.repair.request_plans import PlanRequest


def host_with_uv(folder: Path) -> Host:
    """Return this machine as seen from an empty folder, with the uv of the tests on PATH."""
    env = {name: value for name, value in os.environ.items() if name not in _THEIRS}
    env["PATH"] = str(Path(uv.find_uv_bin()).parent) + os.pathsep + env.get("PATH", "")
    return Host(cwd=folder, env=env)


_THEIRS = frozenset({"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"})


def request_of(line: str, *, project: Path, offline: bool = False) -> PlanRequest:
    """Return the request of a command line."""
    words = iter(shlex.split(line))
    requirements: list[str] = []
    options: dict[str, str] = {}
    for word in words:
        if word.startswith("--"):
            options[word] = next(words)
        else:
            requirements.append(word)
    return PlanRequest(
        requirements=tuple(requirements),
        python_version=options.get("--python-version", ""),
        assume=tuple(filter(None, [options.get("--assume")])),
        project=project,
        offline=offline,
    )
