"""`doctor fix`: one plan for all findings, proved in a clone of the environment."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.cli import configuration, console, options
from doctor.cli.stages import stages
from doctor.host import Host
from doctor.model.scales import Severity
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.redact.report import shareable, who, without_any_secrets
from doctor.repair.requests import FixRequest, Repair
from doctor.report.structured.encoding import encoded

if TYPE_CHECKING:
    from doctor.repair.fix import Outcome

_PLAN = "What to do"


class PlanFormat(Enum):
    """Formats of a plan."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


Prove = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Carry the plan out in a clone, check again there, and run COMMAND there.",
        rich_help_panel=_PLAN,
    ),
]
Apply = Annotated[
    bool,
    typer.Option(
        "--apply",
        help="Prove the plan, take a snapshot, and apply what was proved.",
        rich_help_panel=_PLAN,
    ),
]
Undo = Annotated[
    bool,
    typer.Option(
        "--undo",
        help="Restore what was there before the last --apply.",
        rich_help_panel=_PLAN,
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes", "-y", help="Ask no question before --apply or --undo.", rich_help_panel=_PLAN
    ),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Let installers use what they downloaded before, and no network.",
        rich_help_panel=_PLAN,
    ),
]
Patch = Annotated[
    bool,
    typer.Option(
        "--patch",
        help="Print the edits of the project's pins as a unified diff, for git apply.",
        rich_help_panel="Output",
    ),
]
Output = Annotated[
    PlanFormat,
    typer.Option("--format", "-f", help="Format on standard output.", rich_help_panel="Output"),
]


def fix(
    context: typer.Context,
    python: options.Python = None,
    project: options.Project = Path(),
    prove: Prove = False,
    apply: Apply = False,
    undo: Undo = False,
    yes: Yes = False,
    offline: Offline = False,
    log: options.Logs = None,
    no_canaries: options.NoCanaries = False,
    fresh: options.Fresh = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
    matrices: options.Matrices = None,
    patch: Patch = False,
    format_: Output = PlanFormat.TEXT,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Find one plan for all findings, and prove it in a clone of the environment.

    Without --apply nothing is changed. A proof leaves nothing behind, also when it is interrupted.
    """
    _refuse_mixtures(undo=undo, changes=apply, others=prove or apply, patch=patch)
    if undo:
        return _undone(python, project, format_, yes=yes)
    if (apply and not yes) and not _can_ask():
        raise UsageError("--apply: nobody can be asked here; give --yes as well")
    if context.args and not (prove or apply):
        raise UsageError(f"{context.args[0]}: a command belongs to --prove -- COMMAND")
    request = FixRequest(
        check=CheckRequest(
            observe=ObserveRequest(
                python=python,
                project=project,
                canaries=not no_canaries,
                fresh=fresh,
                timeout=timeout,
                budget=budget,
            ),
            logs=tuple(log or ()),
            policy=configuration.policy(context, Severity.ERROR, None),
            matrices=tuple(matrices or ()),
        ),
        prove=prove or apply,
        program=tuple(context.args),
        offline=offline,
    )
    level = -1 if quiet else int(verbose)
    with stages(quiet=quiet) as progress:
        from doctor.repair.fix import exit_code
        from doctor.repair.fix import fix as mend

        outcome = mend(request, progress)
    repair = _with_next_step(outcome) if prove and not apply else outcome.repair
    if patch:
        _print_patch(repair, project)
        return exit_code(repair)
    if apply and outcome.attempted is not None and outcome.original is not None:
        from doctor.repair.apply import apply as carry_out
        from doctor.repair.apply import why_not_applied

        why = why_not_applied(outcome.attempted, outcome.original)
        if not why and not yes:
            console.say(_rendered(repair, exit_code(repair), PlanFormat.TEXT, verbosity=level))
            why = "" if _agreed("Apply this plan?") else "Nothing was applied."
        if why:
            repair = msgspec.structs.replace(repair, remarks=(*repair.remarks, why))
            code = 1
            console.write_out(_rendered(repair, code, format_, verbosity=level))
            return code
        with stages(quiet=quiet) as progress:
            repair = carry_out(outcome.attempted, outcome.original, progress)
        if not repair.applied:
            console.write_out(_rendered(repair, 1, format_, verbosity=level))
            return 1
    code = exit_code(repair)
    console.write_out(_rendered(repair, code, format_, verbosity=level))
    return code


def _with_next_step(outcome: Outcome) -> Repair:
    """Return what a proof gave, with the command that applies it if there is one."""
    if outcome.attempted is None or outcome.original is None:
        return outcome.repair
    from doctor.repair.apply import how_to_apply

    how = how_to_apply(outcome.attempted, outcome.original)
    remarks = (*outcome.repair.remarks, *([how] if how else ()))
    return msgspec.structs.replace(outcome.repair, remarks=remarks)


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _agreed(question: str) -> bool:
    return typer.confirm(question, err=True)


def _undone(python: str | None, project: Path, kind: PlanFormat, *, yes: bool) -> int:
    """Restore the last snapshot, and say what changed."""
    from doctor.repair.undo import last_state
    from doctor.repair.undo import undo as restore

    host = Host()
    state = last_state(python, project, host)
    taken = datetime.fromtimestamp(state.snapshot.taken, timezone.utc).isoformat(timespec="seconds")
    if not yes:
        if not _can_ask():
            raise UsageError("--undo: nobody can be asked here; give --yes as well")
        if not _agreed(f"Restore {state.root} as it was at {taken}?"):
            return 1
    done = restore(state, host)
    if kind is PlanFormat.JSON:
        told = {"root": str(state.root), "taken": taken, "changed": done.changed}
        console.write_out(encoded({"schema_version": 1, "command": "fix", "undone": told}))
    else:
        entries = "1 entry" if done.changed == 1 else f"{done.changed} entries"
        console.write_out(f"{state.root} is what it was at {taken}: {entries} restored.")
    return 0


def _refuse_mixtures(*, undo: bool, changes: bool, others: bool, patch: bool) -> None:
    if patch and (changes or undo):
        raise UsageError("--patch prints edits of the project; give it without --apply and --undo")
    if undo and others:
        raise UsageError("--undo: give it alone")


def _print_patch(repair: Repair, project: Path) -> None:
    """Print the diff alone on standard output; what comes after it goes to standard error.

    No name and no path is masked: a changed text would not apply.
    """
    from doctor.fixes.lines import command_line
    from doctor.repair.patches import project_edits, unified_diff

    edits = project_edits(repair.plan, repair.report.observation.facts, project)
    if edits.files:
        console.write_out(unified_diff(edits.files))
    for note in edits.notes:
        console.say(f"doctor: {note}")
    for step in edits.commands:
        console.say(f"doctor: then {command_line(step)}")


def _rendered(repair: Repair, code: int, kind: PlanFormat, *, verbosity: int) -> str:
    """Return a repair as text; secrets are blanked, and names masked but on a terminal."""
    report = msgspec.structs.replace(repair.report, command="fix", plan=repair.plan, exit_code=code)
    repair = msgspec.structs.replace(repair, report=report)
    if kind is not PlanFormat.TEXT:
        repair = shareable(repair, who(Host().env))
    repair = without_any_secrets(repair)
    report, plan = repair.report, repair.report.plan or repair.plan
    if kind is PlanFormat.JSON:
        from doctor.report.structured import json_document

        return json_document.render(report)
    if kind is PlanFormat.MARKDOWN:
        from doctor.report.markdown import plan as markdown

        return markdown.render(report, plan, repair.remarks, repair.titles)
    from doctor.report.terminal import plan as terminal

    look = console.style()
    return terminal.render(
        report,
        plan,
        remarks=repair.remarks,
        told=repair.titles,
        verbosity=verbosity,
        width=look.width,
        colour=look.colour,
        unicode=look.unicode,
    )
