"""`doctor config`: every setting, with its value and its source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.base.text import neutralize_commands, sanitize
from doctor.cli import configuration, options
from doctor.cli import console as screen
from doctor.judge.suppressions import Ignore
from doctor.pipeline.requests import today
from doctor.redact import without_secrets

_FORMATS = ("text", "json")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its value, its source (default, file, environment, flag) and the place of it."""

    key: str
    value: Any
    source: str
    place: str = ""


class IgnoreSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One ignore of the file; an expired one no longer covers anything."""

    id: str
    reason: str
    until: str
    match: str
    place: str
    expired: bool


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings: the file that was read, and variables that look like settings and are none."""

    schema_version: int = 1
    file: str = ""
    settings: tuple[Setting, ...] = ()
    ignores: tuple[IgnoreSetting, ...] = ()
    unknown_variables: tuple[str, ...] = ()


def config(
    context: typer.Context,
    project: options.Project = Path(),
    format_: Annotated[
        str,
        typer.Option("--format", "-f", metavar="[text|json]", help="Format on standard output."),
    ] = "text",
) -> int:
    """Show each setting of doctor check: its value, and the flag, variable or file that sets it.

    Flags override variables, and variables override [tool.doctor] in pyproject.toml. Pass flags
    after -- to see their effect.
    """
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_}: choose from {', '.join(_FORMATS)}")
    found = settings(context, project, context.args)
    screen.write_out(
        msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
        if format_ == "json"
        else text(found)
    )
    return 0


def settings(context: typer.Context, project: Path, flags: Sequence[str]) -> Settings:
    """Let click read the options of `doctor check` as that command would, and tell what won."""
    check = getattr(context.find_root().command, "commands", {})["check"]
    given = [*flags, "--project", str(project)]
    with check.make_context("check", given, parent=context.parent) as inner:
        known = {
            key: option for key, option in configuration.options(inner).items() if key != "project"
        }
        read = configuration.of(inner)
        told = tuple(_setting(inner, key, option) for key, option in known.items())
    variables = {str(option.envvar) for option in known.values()} | {"DOCTOR_PROJECT"}
    return Settings(
        file=str(read.manifest or ""),
        settings=told,
        ignores=tuple(_ignore(each) for each in read.ignores),
        unknown_variables=tuple(
            sorted(
                name for name in os.environ if name.startswith("DOCTOR_") and name not in variables
            )
        ),
    )


def _setting(inner: typer.Context, key: str, option: Any) -> Setting:
    words = {"COMMANDLINE": "flag", "ENVIRONMENT": "environment", "DEFAULT_MAP": "file"}
    source = words.get(configuration.came_from(inner, option), "default")
    place = (
        ""
        if source == "default"
        else configuration.origin(inner, key).removesuffix(f": tool.doctor.{key}")
    )
    return Setting(key=key, value=_plain(inner.params.get(option.name)), source=source, place=place)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _ignore(ignore: Ignore) -> IgnoreSetting:
    return IgnoreSetting(
        id=ignore.id,
        reason=ignore.reason,
        until=ignore.until.isoformat(),
        match=ignore.match,
        place=f"{ignore.place.path}:{ignore.place.line}",
        expired=today() > ignore.until,
    )


def text(found: Settings) -> str:
    """Return settings as lines: key, value, and where it is said."""
    rows = [(each.key, _shown(each.value), each.place or each.source) for each in found.settings]
    rows += [
        (
            f"ignore {each.id}",
            f"{'expired' if each.expired else 'until'} {each.until}: {each.reason}",
            each.place,
        )
        for each in found.ignores
    ]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    head = found.file or "no pyproject.toml with [tool.doctor] in this folder or above"
    lines = [
        head,
        "",
        *(
            f"{key:{min(first, 40)}}  {value:{min(second, 40)}}  {place}"
            for key, value, place in rows
        ),
    ]
    lines += [f"{name} is set, but is not a setting" for name in found.unknown_variables]
    return neutralize_commands(
        without_secrets("\n".join(sanitize(line).replace("\n", " ") for line in lines))
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
