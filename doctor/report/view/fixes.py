"""A fix in blocks: when to use it, what to know before, and its steps in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.fixes.lines import command_line
from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Fix as ModelFix
from doctor.model.fixes import Step as ModelStep
from doctor.report.view.blocks import Change, Commands, Fix, Paragraph, Piece, Step, Steps, Style
from doctor.report.view.detail import CHANGED_LINES, PLACE, STEPS, TITLE, Detail
from doctor.report.view.words import code_text, flags, flat

_NAMING = re.compile(r"^(?:the name of )?(?:(?:the|a|an|your) )?")
"""How an explanation begins that may say no more than the word itself: the name of the image."""
_LABELS = {Shell.POWERSHELL: "PowerShell", Shell.CMD: "cmd"}


def fix(found: ModelFix, detail: Detail, *, label: str, windows: bool) -> Fix:
    """Return one fix, as `fix` or as `or`."""
    return Fix(
        label=label,
        use_if=flat(" and ".join(found.use_if), PLACE),
        title=flat(found.title, TITLE),
        flags=flat(flags(found), TITLE),
        blocks=tuple(_body(found, detail, windows=windows)),
    )


def _body(
    found: ModelFix, detail: Detail, *, windows: bool
) -> Iterator[Paragraph | Steps | Change | Commands]:
    for word, meaning in found.asks.items():
        if _NAMING.sub("", meaning) == word.replace("-", " "):
            continue
        yield Paragraph((Piece(flat(f"<{word}>", PLACE), Style.CODE), Piece(f"is {flat(meaning)}")))
    steps = [_step(step, detail, windows=windows) for step in found.steps[:STEPS]]
    yield from _in_order(steps)
    if snippet := found.snippet:
        lines = changed(snippet.before, snippet.after, detail.command)
        yield Change(lines, flat(snippet.where, TITLE))
    if found.note:
        yield Paragraph((Piece(flat(found.note, detail.line), Style.QUIET),))
    if found.verify and detail.verify:
        yield Paragraph((Piece("Then check:", Style.QUIET),))
        for shell in _shells(windows=windows)[:1]:
            yield Commands((code_text(line(found.verify, shell), detail.command),), shell.value)


def _step(step: ModelStep, detail: Detail, *, windows: bool) -> Step:
    blocks: list[Commands | Change] = []
    if step.command is not None:
        blocks += _commands(step, detail, windows=windows)
    if step.edit is not None:
        lines = changed(step.edit.before, step.edit.after, detail.command)
        blocks.append(Change(lines, flat(step.edit.file, TITLE)))
    return Step(flat(step.title, TITLE), tuple(blocks))


def _commands(step: ModelStep, detail: Detail, *, windows: bool) -> list[Commands]:
    """Return the command of a step.

    On Windows it is written for PowerShell, and for cmd.exe as well where that reads it otherwise.
    """
    lines = {
        shell: code_text(command_line(step, shell), detail.command)
        for shell in _shells(windows=windows)
    }
    if len(set(lines.values())) == 1:
        shell, text = next(iter(lines.items()))
        return [Commands((text,), shell.value)]
    return [Commands((text,), shell.value, _LABELS[shell]) for shell, text in lines.items()]


def _shells(*, windows: bool) -> tuple[Shell, ...]:
    return (Shell.POWERSHELL, Shell.CMD) if windows else (Shell.POSIX,)


def _in_order(steps: list[Step]) -> Iterator[Steps | Commands | Change]:
    """Yield the steps with their numbers, or what a single one consists of."""
    if len(steps) == 1 and not steps[0].title:
        yield from steps[0].blocks
    elif steps:
        yield Steps(tuple(steps))


def changed(before: str, after: str, most: int) -> tuple[str, ...]:
    """Return the lines that a change takes away and adds, each behind its mark."""
    lines = [
        f"{mark} {code_text(each, most)}"
        for mark, text in (("-", before), ("+", after))
        for each in text.splitlines()
    ]
    if len(lines) <= CHANGED_LINES:
        return tuple(lines)
    return (*lines[:CHANGED_LINES], f"  … {len(lines) - CHANGED_LINES} more lines")
