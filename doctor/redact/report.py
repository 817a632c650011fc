"""Blank the secrets in every text of a report, and mask names in one that is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from doctor.base.refusals import home_folder
from doctor.redact import HIDDEN, is_secret, may_name_secret, texts_with_keywords, without_secrets

_T = TypeVar("_T")
_OURS = ("references", "doctor_version", "catalog")
"""Fields that doctor itself writes, out of its catalog."""


def who(env: Mapping[str, str]) -> dict[str, str]:
    """Return the names to mask on this machine, by placeholder."""
    import platform

    names = {
        "$HOME": env.get("HOME") or env.get("USERPROFILE") or str(home_folder() or ""),
        "<host>": platform.node().partition(".")[0],
    }
    try:
        names["<user>"] = env.get("USER") or env.get("LOGNAME") or _account()
    except (OSError, KeyError):
        names["<user>"] = ""
    return {
        mask: real
        for mask, real in names.items()
        if real.strip("/") and real not in ("root", "localhost", "user", "runner", "python")
    }


def _account() -> str:
    import getpass  # which variables name in most environments

    return getpass.getuser()


def shareable(value: _T, names: Mapping[str, str]) -> _T:
    """Return a copy of a model value with every text masked and free of secrets."""
    built = masked(msgspec.to_builtins(without_any_secrets(value)), names)
    return msgspec.convert(built, type(value), strict=False)


def masked(built: Any, names: Mapping[str, str]) -> Any:
    """Return a copy of a value of plain types with every text masked; secrets stay."""
    from doctor.redact.people import Mask

    mask = Mask(names)
    changed = {text: new for text in _texts(built) if (new := _whole(mask(text))) != text}
    return _changed(built, lambda text: changed.get(text, text)) if changed else built


def _whole(text: str) -> str:
    """Return a text that UTF-8 can write: bytes that are none become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def without_any_secrets(value: _T) -> _T:
    """Return a model value in which secrets are blanked, and nothing else is changed.

    The value itself where it holds none.
    """
    built = msgspec.to_builtins(value)
    held_keys = _without_keys(built)
    texts = list(_texts(built))
    found = {texts[number] for number in texts_with_keywords(texts)}
    blanked = {text: clean for text in found if (clean := without_secrets(text)) != text}
    clean = _changed(built, lambda text: blanked.get(text, text)) if blanked else built
    clean = _parted(clean, names) if (names := frozenset(filter(may_name_secret, found))) else clean
    return (
        value
        if clean is built and not held_keys
        else msgspec.convert(clean, type(value), strict=False)
    )


def _without_keys(built: Any) -> bool:
    """Blank private keys in the lines of logs, none of which tells by itself what it belongs to.

    Say whether there were any.
    """
    observation = built.get("observation", built) if isinstance(built, dict) else {}
    changed = False
    for log in observation.get("logs") or () if isinstance(observation, dict) else ():
        if any("-----" in line for line in log["lines"]):
            lines = without_secrets("\n".join(log["lines"])).split("\n")
            changed = changed or lines != list(log["lines"])
            log["lines"] = lines
    return changed


def _texts(value: Any) -> dict[str, None]:
    """Return every text in a value once, names of fields included."""
    found: dict[str, None] = {}
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            found[part] = None
        elif isinstance(part, dict):
            found.update(dict.fromkeys(part))
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
    return found


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key): item if key in _OURS else _changed(item, change)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    return value


def _parted(value: Any, names: frozenset[str]) -> Any:
    """Blank secrets that stand apart from their name: in a table, or behind an option."""
    if isinstance(value, dict):
        changed = {
            key: HIDDEN if _has_secret_name(key, item, names) else _parted(item, names)
            for key, item in value.items()
        }
        return changed if any(changed[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        parts = [_parted(item, names) for item in value]
        for number, (option, word) in enumerate(pairwise(value), 1):
            if (
                isinstance(option, str)
                and option.startswith("-")
                and _has_secret_name(option, word, names)
            ):
                parts[number] = HIDDEN
        return (
            parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
        )
    return value


def _has_secret_name(name: str, value: Any, names: frozenset[str]) -> bool:
    return name in names and isinstance(value, str) and is_secret(name, value)
