"""What `doctor plan` answers, for a person."""

from __future__ import annotations

from collections.abc import Sequence

from doctor import __version__
from doctor.fixes.lines import command_line
from doctor.fixes.shell import Shell
from doctor.model.plans import Change, Plan
from doctor.model.requested import Requested
from doctor.model.scales import Severity
from doctor.report.terminal.page import (
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    TerminalOptions,
    blank,
    glyph,
    look,
    paragraph,
    paragraph_text,
    rendered_lines,
    span,
    verbatim,
)
from doctor.report.view.words import count

_FEW = 8
_SHORT = 200
_GIB, _MIB = 1 << 30, 1 << 20


def render(
    found: Requested,
    *,
    verbosity: int,
    width: int,
    colour: bool,
    unicode: bool,
    windows: bool = False,
) -> str:
    """Return an answer as text; `verbosity` 1 lists every package."""
    how = look(width=width, unicode=unicode, colour=colour, verbosity=verbosity)
    shell = Shell.POWERSHELL if windows else Shell.POSIX
    return rendered_lines(_page(found, how, shell), how)


def _page(found: Requested, how: TerminalOptions, shell: Shell) -> Lines:
    title = (f"canary-doctor {__version__}{glyph('dot', how)}plan", "bold")
    yield from paragraph(span(how, title), how, indent=0)
    for number, words in enumerate(found.machine):
        yield from paragraph(words, how, label=("" if number else "for", QUIET))
    yield from paragraph(", ".join(found.requests), how, label=("request", QUIET))
    yield blank()
    if found.conflict is not None:
        yield from _conflict(found, how, shell)
    elif found.plan is not None:
        yield from _plan(found.plan, how, shell)
    if found.fault:
        yield blank()
        yield from paragraph(found.fault, how, label=("open", STYLES[Severity.WARNING]))
    yield blank()
    yield from paragraph(_summary(found), how, indent=0)


def _conflict(found: Requested, how: TerminalOptions, shell: Shell) -> Lines:
    rules = found.conflict.rules if found.conflict else ()
    head = span(how, ("no choice of releases meets both rules", STYLES[Severity.ERROR]))
    yield from paragraph(head, how)
    for rule in rules:
        yield from paragraph(
            rule, how, indent=4, label=(f"{glyph('skipped', how)} ", QUIET), column=2
        )
    if found.conflict and found.conflict.statement and len(found.conflict.statement) < _SHORT:
        yield from paragraph(found.conflict.statement, how, indent=4)
    for number, way in enumerate(found.ways_out, 1):
        yield blank()
        yield from paragraph(way.title, how, label=(f"way {number}", QUIET))
        yield from _body(way, how, shell)
    if not found.ways_out:
        yield blank()
        yield from paragraph("no way out is known: one of the two rules has to go", how)


def _plan(plan: Plan, how: TerminalOptions, shell: Shell) -> Lines:
    if not plan.steps:
        yield from paragraph(plan.title, how)
    yield from _body(plan, how, shell)


def _body(plan: Plan, how: TerminalOptions, shell: Shell) -> Lines:
    if plan.changes:
        yield from paragraph(_moves(plan.changes, how), how, label=("changes", QUIET))
    if plan.steps:
        cost = _cost(plan)
        state = "confirmed by the installer's dry run" if plan.resolved else "from tables alone"
        yield from paragraph(f"{state}{cost}", how, label=("resolved", QUIET))
    for note in plan.notes:
        yield from paragraph(note, how, label=("note", QUIET))
    for step in plan.steps:
        yield blank() if step is plan.steps[0] else span(how, "")
        if step.title:
            yield from paragraph(paragraph_text(step.title, how), how, indent=4)
        yield from verbatim(command_line(step, shell), how, indent=4, style=COMMAND)


def _cost(plan: Plan) -> str:
    size = plan.cost.download_bytes
    if size is None:
        return ""
    if not size:
        return "; nothing to download"
    words = f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{max(size // _MIB, 1)} MiB"
    return f"; {words} to download"


def _moves(changes: Sequence[Change], how: TerminalOptions) -> str:
    """Say which packages move: those that people know first, and how many more."""
    named = sorted(changes, key=lambda one: (one.name not in _FIRST, one.before is None))
    moved = [one for one in named if one.name in _FIRST or one.before is not None]
    shown = named if how.wordy else moved[:_FEW] or named[:_FEW]
    words = [
        f"{one.name} {one.after}"
        if one.before is None
        else f"{one.name} {one.before} → {one.after or 'gone'}"
        for one in shown
    ]
    more = len(changes) - len(shown)
    return ", ".join(words) + (f" and {count(more, 'other package')}" if more else "")


_FIRST = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "triton", "vllm", "sglang", "flash-attn"),
        *("xformers", "transformers", "bitsandbytes", "accelerate", "diffusers", "peft"),
        *("deepspeed", "numpy", "jax", "jaxlib", "tensorflow", "onnxruntime-gpu"),
    }
)
"""What a reader looks for among a hundred packages."""


def _summary(found: Requested) -> str:
    if found.conflict is not None:
        ways = len(found.ways_out)
        return f"Not possible as asked; {count(ways, 'way')} out." if ways else "Not possible."
    if found.fault:
        return "Not confirmed: the installer could not be asked."
    if found.plan and found.plan.steps and not found.plan.resolved:
        return "Possible by the tables; the installer did not confirm it."
    if found.plan and not found.plan.steps and not found.plan.resolved:
        return "Not answered: the tables alone do not tell."
    return "Possible." if found.plan and found.plan.steps else "Nothing to do."
