"""The command of a step as a line for a shell, and a recipe as lines with open placeholders."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import msgspec

from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Step
from doctor.model.issues import Action, Recipe


class LineKind(Enum):
    """What a line is: it decides the mark and the colour."""

    TITLE = "title"
    COMMAND = "command"
    FILE = "file"
    REMOVED = "removed"
    ADDED = "added"


class FixLine(msgspec.Struct, frozen=True):
    """One line of a fix."""

    kind: LineKind
    text: str

    @property
    def marked(self) -> str:
        """Return the line with the mark of a diff where it is part of one."""
        return {LineKind.REMOVED: "- ", LineKind.ADDED: "+ "}.get(self.kind, "") + self.text


def command_line(step: Step, shell: Shell = Shell.POSIX) -> str:
    """Return the command of a step for a shell, with `sudo` where the step needs it."""
    if step.command is None:
        return ""
    command = step.command
    if step.sudo and shell is Shell.POSIX and command.argv:
        settings = tuple(f"{name}={value}" for name, value in command.env.items())
        argv = ("sudo", *settings, *command.argv)
        command = msgspec.structs.replace(command, argv=argv, env={})
    return line(command, shell, source=step.source)


def recipe_lines(recipe: Recipe) -> Iterator[FixLine]:
    """Yield what a recipe does, its placeholders open."""
    for action in recipe.steps:
        if action.title:
            yield FixLine(LineKind.TITLE, action.title)
        yield from _action_lines(action)
    if recipe.snippet is not None:
        yield FixLine(LineKind.FILE, recipe.snippet.where)
        yield from _diff(recipe.snippet.before, recipe.snippet.after)


def _action_lines(action: Action) -> Iterator[FixLine]:
    settings = " ".join(f"{name}={value}" for name, value in action.env.items())
    options = " ".join(f"({one.value})" for one in action.options)
    for place in filter(None, (action.index, action.find_links)):
        options = f"(from {place}) {options}".strip()
    if action.companions:
        options = f"(with {' '.join(action.companions)}, where installed) {options}".strip()
    texts = [f"{name}: install {' '.join(packages)}" for name, packages in action.system.items()]
    if action.uninstall:
        texts.append(f"uninstall {' '.join(action.uninstall)}")
    if action.run:
        texts.append(" ".join(filter(None, [settings, *action.run])))
    elif action.install:
        texts.append(" ".join(filter(None, [settings, "install", *action.install, options])))
    elif settings:
        texts.append(f"export {settings}")
    for text in texts:
        yield from (FixLine(LineKind.COMMAND, part) for part in text.splitlines())
    if action.edit is not None:
        yield FixLine(LineKind.FILE, action.edit.file)
        yield from _diff(action.edit.before, action.edit.after)


def _diff(before: str, after: str) -> Iterator[FixLine]:
    yield from (FixLine(LineKind.REMOVED, text) for text in before.splitlines())
    yield from (FixLine(LineKind.ADDED, text) for text in after.splitlines())
