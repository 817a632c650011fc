"""A fix: the steps for this machine, this interpreter and this installer."""

from __future__ import annotations

import msgspec

from doctor.model.issues import Edit, Snippet


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command as data: arguments, extra environment, working directory.

    It is rendered for a shell at the very end. Without arguments it sets variables for the program.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a fix, in its place in the order: a command or an edit.

    `source`: the command changes the shell that runs it. `sudo`: it needs an administrator.
    `reboot`: the machine has to restart afterwards.
    """

    title: str = ""
    command: Command | None = None
    edit: Edit | None = None
    sudo: bool = False
    reboot: bool = False
    source: bool = False


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about a finding.

    `use_if` holds only conditions that nobody could decide from the facts. `asks` maps each word of
    the commands that a reader has to replace, `<package>`, to what it means; such a fix is never
    `safe`. `kind` is derived from the steps: `upgrade`, `reinstall`, `pin`, `install`, `uninstall`,
    `set-env`, `edit` or `configure`.
    """

    kind: str
    title: str
    steps: tuple[Step, ...] = ()
    use_if: tuple[str, ...] = ()
    note: str = ""
    snippet: Snippet | None = None
    asks: dict[str, str] = msgspec.field(default_factory=dict)
    safe: bool = True
    lasting: bool = True
    verify: Command | None = None

    @property
    def commands(self) -> tuple[Command, ...]:
        """Return the commands of the steps, in order."""
        return tuple(step.command for step in self.steps if step.command is not None)

    @property
    def sudo(self) -> bool:
        """Return whether a step needs an administrator."""
        return any(step.sudo for step in self.steps)

    @property
    def reboot(self) -> bool:
        """Return whether a step ends in a restart of the machine."""
        return any(step.reboot for step in self.steps)
