"""A fix: the commands for this machine, this interpreter, this installer."""

from __future__ import annotations

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command as data: arguments, extra environment, folder to stand in.

    It is rendered for a shell at the very end.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about a finding; `when` says under which circumstances this one is the right one.

    `asks` are the words of its commands, `<package>`, that a person has to replace first; such a
    fix is never `safe`.
    """

    kind: str
    title: str
    steps: tuple[Command, ...] = ()
    when: str = ""
    file: str = ""
    before: str = ""
    after: str = ""
    asks: tuple[str, ...] = ()
    safe: bool = True
    lasting: bool = True
    sudo: bool = False
    reboot: bool = False
    verify: str = ""
