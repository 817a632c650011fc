"""Open an engine by its name, with settings as words of the command line."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

from doctor.base.errors import DoctorError, UsageError
from doctor.fleet.engine import Engine
from doctor.host import Host

ENGINES: dict[str, str] = {
    "slurm": "doctor.fleet.engines.slurm:Slurm",
    "ray": "doctor.fleet.engines.ray:Ray",
    "k8s": "doctor.fleet.engines.kubernetes:Kubernetes",
    "mpi": "doctor.fleet.engines.mpi:Mpi",
}
"""The class of each engine: it takes the host, and its settings by name; `nodes` is one of them."""


def open_engine(name: str, host: Host, nodes: str, settings: Sequence[str]) -> Engine:
    """Return an engine for nodes, with `NAME=VALUE` settings; a setting may have many values.

    Raises UsageError for an unknown setting, DoctorError where a library is not installed.
    """
    module, _, kind = ENGINES[name].partition(":")
    try:
        made = getattr(importlib.import_module(module), kind)
    except ImportError as error:
        raise DoctorError(f"--on {name}: {error}") from None
    known = {
        key: str(parameter.annotation)
        for key, parameter in inspect.signature(made).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    given = _by_name(name, settings, known)
    if nodes:
        given["nodes"] = [nodes]
    engine: Engine = made(
        host, **{key: _value(key, values, known[key]) for key, values in given.items()}
    )
    return engine


def _by_name(engine: str, settings: Sequence[str], known: dict[str, str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in known:
            names = ", ".join(sorted(set(known) - {"nodes"})) or "none"
            raise UsageError(f"--set {setting}: {engine} has the settings {names}")
        given.setdefault(key, []).append(value)
    return given


def _value(key: str, values: list[str], annotation: str) -> Any:
    if annotation.startswith(("Sequence", "tuple", "list")):
        return tuple(values)
    word = values[-1]
    if annotation.startswith(("float", "int")):
        try:
            return float(word) if annotation.startswith("float") else int(word)
        except ValueError:
            raise UsageError(f"--set {key}={word}: a number is wanted") from None
    if annotation.startswith("bool"):
        if word not in ("true", "false"):
            raise UsageError(f"--set {key}={word}: true or false is wanted")
        return word == "true"
    return word
