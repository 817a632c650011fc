"""Make a report fit to be given away: secrets blanked, the home folder as `$HOME`, user and host names masked."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from doctor.text import Mask, without_secrets

_T = TypeVar("_T")


def who(env: Mapping[str, str]) -> dict[str, str]:
    """Return the names to mask on this machine, by placeholder."""
    names = {"$HOME": env.get("HOME") or env.get("USERPROFILE") or str(Path.home()), "<host>": platform.node().partition(".")[0]}
    import getpass  # of a report that is not made to be shared nobody's name is asked

    try:
        names["<user>"] = env.get("USER") or env.get("LOGNAME") or getpass.getuser()
    except (OSError, KeyError):
        names["<user>"] = ""
    return {mask: real for mask, real in names.items() if real.strip("/") and real not in ("root", "localhost", "user", "runner", "python")}


def shareable(value: _T, names: Mapping[str, str]) -> _T:
    """Return a copy of a model value in which every text is masked and free of secrets."""
    mask = Mask(names)
    return _rebuilt(value, lambda text: mask(without_secrets(text)))


def without_any_secrets(value: _T) -> _T:
    """Return a copy of a model value in which secrets are blanked, and nothing else is changed."""
    return _rebuilt(value, without_secrets)


def _rebuilt(value: _T, change: Callable[[str], str]) -> _T:
    plain = _changed(msgspec.to_builtins(value), change)
    return msgspec.convert(plain, type(value), strict=False)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    return value
