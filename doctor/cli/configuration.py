"""Read settings from `[tool.doctor]`, and name the origin of each.

click decides between flags, `DOCTOR_*` and the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.base.refusals import RefusedError, absolute_path
from doctor.cli.console import say
from doctor.cli.program_names import suggest
from doctor.judge.expectations import WORDS, is_device
from doctor.judge.suppressions import Ignore
from doctor.model.scales import Severity
from doctor.pipeline.ignores import read_ignores
from doctor.pipeline.manifest import Manifest, nearest
from doctor.pipeline.requests import PolicyRequest

_KEPT = "doctor.configuration"
_ELSEWHERE = {
    "flash-attn": "a project does not choose what is built",
    "network": "a project does not turn the network on",
    "report": "a project does not choose which files are written",
    "quiet": "how much is shown is for whoever reads it",
    "verbose": "how much is shown is for whoever reads it",
    "project": "the file is found by it",
}
"""Settings that a file cannot make, and why."""
_SURE = 0.75
_RELEASE = re.compile(r"[0-9]{1,2}(\.[0-9]{1,3}){0,2}")
"""What `python` may say in a file: the interpreter of that release on the user's own PATH."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a manifest: values by parameter, places by key, and the ignores."""

    manifest: Path | None = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    places: Mapping[str, str] = msgspec.field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()


def project(context: typer.Context, folder: Path) -> Path:
    """Read the manifest of a project as soon as the project is known.

    click parses `--project` first, and takes the defaults of the other options from the manifest.
    """
    if context.resilient_parsing:
        return folder
    if not folder.is_dir():
        raise UsageError(f"--project {folder}: no such folder")
    try:
        folder = absolute_path(folder)
    except RefusedError:
        # Whoever needs the folder will say so; a log, or a snapshot, is judged without.
        context.meta[_KEPT] = Configuration()
        return folder
    found = nearest(folder)
    read = _read(context, found, folder) if found else Configuration()
    context.meta[_KEPT] = read
    context.default_map = dict(read.values)
    _name_strays(options(context))
    return folder


def of(context: typer.Context) -> Configuration:
    """Return what was read for a command."""
    kept = context.meta.get(_KEPT)
    return kept if isinstance(kept, Configuration) else Configuration()


def policy(context: typer.Context, fail_on: Severity, baseline: Path | None) -> PolicyRequest:
    """Return the policy of a command, with the ignores of its project."""
    return PolicyRequest(fail_on=fail_on, baseline=baseline, ignores=of(context).ignores)


def options(context: typer.Context) -> dict[str, Any]:
    """Return the options of `doctor check` that are settings, by their key in a file."""
    check = getattr(context.find_root().command, "commands", {}).get("check")
    return {
        _key(option): option
        for option in (check.params if check else ())
        if getattr(option, "envvar", None)
    }


def _key(option: Any) -> str:
    return str(max(option.opts, key=len)).removeprefix("--")


def origin(context: typer.Context, key: str) -> str:
    """Return the name of a setting for a complaint: its flag, variable or place in the file."""
    option = options(context)[key]
    source = came_from(context, option)
    if source == "DEFAULT_MAP":
        return of(context).places.get(key, key)
    return str(option.envvar) if source == "ENVIRONMENT" else f"--{key}"


def came_from(context: typer.Context, option: Any) -> str:
    """Return the source of a value as click names it.

    It is COMMANDLINE, ENVIRONMENT, DEFAULT_MAP or DEFAULT; empty before the value is parsed.
    """
    return getattr(context.get_parameter_source(option.name), "name", "")


def expected(context: typer.Context, words: list[str] | None) -> list[str]:
    """Return the devices that `--expect` names; raises UsageError for a word that names none."""
    for word in words or ():
        if not is_device(word):
            named = origin(context, "expect")
            raise UsageError(
                f"{named}: {word or 'nothing'} is no device"
                f"{suggest(word, WORDS, '; choose from ' + ', '.join(WORDS))}"
            )
    return words or []


def name_origin(error: Any) -> None:
    """Let a complaint of click's about a value name the variable that it came from."""
    context, option = getattr(error, "ctx", None), getattr(error, "param", None)
    if (
        context is not None
        and option is not None
        and option.envvar
        and came_from(context, option) == "ENVIRONMENT"
    ):
        error.param_hint = f"'{option.envvar}'"


def _read(context: typer.Context, manifest: Manifest, folder: Path) -> Configuration:
    known = options(context)
    values, places = {}, {}
    for key, value in manifest.table.items():
        if key == "ignore":
            continue
        places[key] = f"{manifest.path}:{manifest.line(key)}: tool.doctor.{key}"
        if key not in known:
            raise UsageError(
                f"{places[key]} is no setting"
                f"{suggest(key, [*known, 'ignore'], '; doctor config shows them')}"
            )
        if key in _ELSEWHERE:
            raise UsageError(
                f"{places[key]} is for flags and {known[key].envvar} alone: {_ELSEWHERE[key]}"
            )
        if key == "python" and not _RELEASE.fullmatch(str(value)):
            raise UsageError(
                f"{places[key]} wants a version, such as 3.12: a project does not choose which "
                "program is run"
            )
        values[str(known[key].name)] = _value(
            context, known[key], value, places[key], manifest.path.parent
        )
    return Configuration(
        manifest=manifest.path, values=values, places=places, ignores=read_ignores(manifest, folder)
    )


def _value(context: typer.Context, option: Any, value: Any, place: str, folder: Path) -> Any:
    fits, wanted = _type(option, value)
    if not fits:
        raise UsageError(f"{place} wants {wanted}, not {_shown(value)}")
    value = _absolute(option, value, folder)
    try:
        option.process_value(context, value)
    except UsageError as error:
        raise UsageError(f"{place}: {str(error).removeprefix(f'--{_key(option)}: ')}") from None
    except typer.BadParameter as error:
        choices = [str(choice) for choice in getattr(option.type, "choices", ())]
        why = (
            f"{value} is none of {', '.join(choices)}{suggest(value, choices, '')}"
            if choices
            else error.message
        )
        raise UsageError(f"{place}: {why}") from None
    return value


def _type(option: Any, value: Any) -> tuple[bool, str]:
    if option.multiple:
        return isinstance(value, list) and all(
            isinstance(each, str) for each in value
        ), "a list of texts"
    if option.is_flag:
        return isinstance(value, bool), "true or false"
    if "float" in option.type.name:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(
            value
        ) < 1e12 and isfinite(value), "a number"
    return isinstance(value, str), "a text"


def _shown(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "that")


def _absolute(option: Any, value: Any, folder: Path) -> Any:
    """Take relative paths as the manifest means them: from its own folder."""
    if isinstance(value, list):
        return [_absolute(option, each, folder) for each in value]
    is_path = option.type.name in ("path", "file", "directory") or (
        option.name == "python" and ("/" in value or os.sep in value)
    )
    return str(folder / Path(value).expanduser()) if is_path else value


def _name_strays(known: Mapping[str, Any]) -> None:
    """Name variables that were surely meant to be settings; others may be anybody's."""
    variables = {str(option.envvar) for option in known.values()}
    strays = [name for name in os.environ if name.startswith("DOCTOR_") and name not in variables]
    for name in strays:
        if meant := alike(name, variables):
            say(f"doctor: the variable {name} is no setting; did you mean {meant}?")


def alike(name: str, variables: set[str]) -> str:
    """Return the variable that a mistyped one most likely means; empty where none is near."""
    from difflib import get_close_matches

    bare = {variable.removeprefix("DOCTOR_"): variable for variable in variables}
    close = get_close_matches(name.removeprefix("DOCTOR_"), list(bare), n=1, cutoff=_SURE)
    return bare[close[0]] if close else ""
