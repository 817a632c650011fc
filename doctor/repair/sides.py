"""What is compared by a bisection: an environment, a list, a lock, or a snapshot of doctor."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from doctor.base.errors import UsageError
from doctor.base.requirements import normalize_name
from doctor.base.toml import TomlError, parse_toml
from doctor.environments.environment import Environment, environment_at
from doctor.environments.inventory import installed
from doctor.host import Host
from doctor.host.reading import read_given
from doctor.model.facts import value_of
from doctor.observe.descriptions import TargetError
from doctor.pipeline.snapshots import observation_in

_LARGEST = 64 << 20
_PIN = re.compile(r"([A-Za-z0-9][\w.-]{0,100})\s{0,10}==\s{0,10}([\w.!+-]{1,100})")
_OWN_SOURCES = ("editable", "virtual", "directory", "path", "git", "url")


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two states: an environment, a list for an installer, or releases by name."""

    name: str
    environment: Environment | None = None
    requirements: Path | None = None
    releases: dict[str, str] = msgspec.field(default_factory=dict)


def read_side(name: str, host: Host) -> Side:
    """Read what `--good` or `--bad` names; raises UsageError."""
    path = host.cwd / name
    if path.is_dir() or (path.is_file() and path.parent.name in ("bin", "Scripts")):
        return _environment(name, path, host)
    if not path.is_file():
        raise UsageError(f"{name}: no such environment and no such file")
    if path.name.endswith((".txt", ".in")):
        exact = _exact(read_given(path, _LARGEST).decode("utf-8", "replace"))
        return Side(name=name, releases=exact) if exact else Side(name=name, requirements=path)
    content = read_given(path, _LARGEST)
    if path.name.endswith(".lock"):
        return Side(name=name, releases=_locked(name, content))
    packages = value_of(observation_in(content, path).facts, "packages")
    if not isinstance(packages, dict) or not packages:
        raise UsageError(f"{name}: neither a list of requirements, a lock nor a snapshot")
    return Side(
        name=name, releases={normalize_name(key): str(each) for key, each in packages.items()}
    )


def _exact(text: str) -> dict[str, str]:
    """Return the releases of a list that names nothing else, as `pip freeze` writes it.

    Such a list may hold what no resolver would put together, which is often what is looked for.
    """
    lines = [line.partition(" #")[0].strip() for line in text.removeprefix("\ufeff").splitlines()]
    found = [_PIN.fullmatch(line) for line in lines if line and line[0] != "#"]
    pins = [one for one in found if one]
    return {normalize_name(one[1]): one[2] for one in pins} if len(pins) == len(found) else {}


def _environment(name: str, path: Path, host: Host) -> Side:
    inside = ("bin/python", "Scripts/python.exe", "python.exe")
    python = next((path / one for one in inside if (path / one).is_file()), path)
    if not python.is_file():
        raise UsageError(f"{name}: a folder without a Python interpreter")
    try:
        environment = environment_at(python, host)
    except TargetError as error:
        raise UsageError(f"{name}: {error}") from None
    return Side(name=name, environment=environment, releases=installed(environment))


def _locked(name: str, content: bytes) -> dict[str, str]:
    try:
        table = parse_toml(content.decode("utf-8"))
    except (TomlError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {error}") from None
    found = {}
    packages = table.get("package")
    for package in packages if isinstance(packages, list) else ():
        source = package.get("source") if isinstance(package, dict) else None
        own = isinstance(source, dict) and any(kind in source for kind in _OWN_SOURCES)
        match package:
            case {"name": str(key), "version": str(version)} if not own:
                found[normalize_name(key)] = version
            case _:
                pass
    if not found:
        raise UsageError(f"{name}: a lock without packages")
    return found
