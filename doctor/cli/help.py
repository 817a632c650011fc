"""Help texts: examples for every command, and descriptions of arguments."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import click
import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

Examples = tuple[tuple[str, str], ...]
"""Command lines, each with its purpose."""

FIND, KEEP, KNOW, SETTLE = (
    "Find out what is wrong",
    "Save and compare",
    "Look up",
    "Set up and extend",
)
"""Groups of commands, in the order of `doctor --help`."""

EXAMPLES: dict[str, Examples] = {
    "check": (
        ("doctor check", "the active environment, else .venv"),
        ("doctor check ~/train/.venv", "another environment, or a project"),
        ("doctor check --no-canaries", "only files and tools: fast"),
        ("doctor check --only 'torch/*' --fail-on note", "only some known issues"),
        ("doctor check --expect cuda:2 --report json=out.json", "in CI, with two GPUs"),
    ),
    "fix": (
        ("doctor fix", "the plan, confirmed by the installer's dry run"),
        ("doctor fix --prove", "tried in a clone of the environment"),
        ("doctor fix --prove -- python train.py --smoke", "until your program runs there"),
    ),
    "bisect": (
        ("doctor bisect --good old --bad .venv -- pytest -x", "the update that broke it"),
        ("doctor bisect --good green.lock --bad uv.lock", "two lock files"),
    ),
    "diagnose": (
        ("doctor diagnose build.log", "a log from any machine"),
        ("doctor diagnose build.log --env env.txt", "with the output of collect_env"),
        ("python train.py 2>&1 | doctor diagnose -", "a pipe"),
    ),
    "run": (
        ("doctor run -- pip install flash-attn", "its output, then why it failed"),
        ("doctor run -- python train.py", "also for your own program"),
    ),
    "plan": (
        ("doctor plan torch flash-attn", "what to install here, and how"),
        ("doctor plan vllm --assume gpu=H100,driver=550", "for another machine"),
        ("doctor plan -r requirements.txt --python-version 3.12", "a new environment"),
        ("doctor plan --lock uv.lock --format json", "for programs"),
    ),
    "snapshot": (
        ("doctor snapshot -o broken.json", "here; then on another machine:"),
        ("doctor check --from broken.json", ""),
    ),
    "show": (
        ("doctor show -v", "the last report, with everything"),
        ("doctor show --format html > report.html", "in another format"),
        ("doctor show --list", "which reports are there"),
    ),
    "diff": (
        ("doctor diff green.json red.json", "reports or snapshots"),
        ("doctor diff green.json red.json --fail-on warning", "in CI"),
    ),
    "config": (
        ("doctor config", "every setting and its source"),
        ("doctor config -- --fail-on note", "with the effect of a flag"),
    ),
    "fleet": (
        ("doctor fleet --on slurm", "every node of the allocation"),
        ("doctor fleet --on slurm --nodes 'gpu[01-16]' -- --no-canaries", ""),
        ("doctor fleet merge reports/", "one JSON report for each node"),
        ("doctor fleet merge reports/ --format html > fleet.html", ""),
    ),
    "demo": (("doctor demo", ""), ("doctor demo --format json", "the format for programs")),
    "explain": (
        ("doctor explain torch/no-kernel-image", "a finding: cause, fixes, sources"),
        ("doctor explain inductor-compile", "a check: purpose and requirements"),
        ("doctor explain requires/xfuser", "any id that a report prints"),
    ),
    "list": (
        ("doctor list", "an overview"),
        ("doctor list torch", "the known issues of a component"),
        ("doctor list 'flash-attn/*' -f json", "a glob, for programs"),
    ),
    "search": (
        ("doctor search 'undefined symbol'", "words of an error"),
        ("doctor search libcudart.so.12", ""),
    ),
    "fmt": (
        ("doctor fmt ours", "format the files of a folder"),
        ("doctor fmt --check", "list the files that would change"),
    ),
    "lint": (
        ("doctor lint", "doctor's own catalog"),
        ("doctor lint ours", "a folder with issues/ and compat/"),
    ),
    "new-issue": (
        ("doctor new-issue build.log -o matrices/issues/torch/slug.yaml", ""),
        ("doctor lint", "lists what is missing"),
    ),
    "schema": (
        ("doctor schema issue > issue.json", "for an editor"),
        ("doctor schema report", "for programs that read --format json"),
    ),
    "init": (
        ("doctor init github", "a workflow; never overwrites a file"),
        ("doctor init docker -o -", "on standard output"),
    ),
    "mcp": (
        ("doctor mcp --python .venv", "started by an agent, not by hand"),
        ("doctor mcp --python .venv --budget 60", "at most a minute for each check"),
    ),
    "completion": (
        ('eval "$(doctor completion bash)"', "in ~/.bashrc; the same for zsh"),
        ("doctor completion fish | source", "in config.fish"),
    ),
}

EXIT_CODES = (
    "Exit codes: 0 no finding at or above --fail-on; 1 a finding; 2 usage error; "
    "3 doctor could not do its job; 4 nothing to judge; 130 interrupted."
)


class Command(TyperCommand):
    """A command with complete help.

    click 8.5 drops the help of typer's arguments, and rich reads `[tool.doctor]` as markup.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; `--json` is `--format json` where there is a choice."""
        if "--json" in args and any("--format" in each.opts for each in self.params):
            end = args.index("--") if "--" in args else len(args)
            args = [
                part
                for place, each in enumerate(args)
                for part in (("--format", "json") if each == "--json" and place < end else (each,))
            ]
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        shown = copy(self)
        shown.help, shown.params = (
            _plain(_unwrapped(self.help or "")),
            [self._with_help(parameter) for parameter in self.params],
        )
        super(Command, shown).format_help(ctx, formatter)

    def _with_help(self, parameter: Any) -> Any:
        shown = copy(parameter)
        argument = parameter.param_type_name == "argument"
        shown.help = _plain(
            getattr(parameter, "help", None)
            or (_meaning(self.callback, parameter.name) if argument else None)
            or ""
        )
        return shown


def _meaning(callback: Any, name: str | None) -> str | None:
    hint = typing.get_type_hints(inspect.unwrap(callback), include_extras=True).get(name or "")
    said = [getattr(each, "help", None) for each in getattr(hint, "__metadata__", ())]
    return next((each for each in said if each), None)


class LazyCommand(NamedTuple):
    """A command: its function as `module:name`, its group in the help, and settings for typer."""

    function: str
    panel: str
    more: Mapping[str, Any] = MappingProxyType({})


class Commands(TyperGroup):
    """A group that imports each command on first use: one run needs one of them."""

    lazy_commands: ClassVar[Mapping[str, LazyCommand]]

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands = _LazyCommands(self.lazy_commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; `doctor help check` and `doctor version` mean the options."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        return list(super().parse_args(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; typer and click 8.4 would both add the names that look alike."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if getattr(error, "possibilities", None) and "Did you mean" in error.message:
                error.possibilities = None  # type: ignore[attr-defined]
            raise


class _LazyCommands(MutableMapping[str, Any]):
    """Commands by name, in the order of the entries."""

    def __init__(self, lazy_commands: Mapping[str, LazyCommand]) -> None:
        self._entries = lazy_commands
        self._made: dict[str, Any] = dict.fromkeys(lazy_commands)

    def __getitem__(self, name: str) -> Any:
        if self._made[name] is None:
            self._made[name] = _load(name, self._entries[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def _load(name: str, entry: LazyCommand) -> Any:
    """Make a command, in its group and with its examples."""
    module, _, function = entry.function.partition(":")
    if isinstance(
        made := getattr(importlib.import_module(module), function), typer.core.TyperGroup
    ):
        made.rich_help_panel = entry.panel
        made.epilog = epilog(EXAMPLES.get(name, ()))
        return made
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    how = {
        "cls": Command,
        "rich_help_panel": entry.panel,
        "epilog": epilog(EXAMPLES.get(name, ())),
        **entry.more,
    }
    alone.command(name, **how)(made)
    command: Any = typer.main.get_command(alone)
    if not command.ignore_unknown_options:
        command.params.append(_debug())
    return command


def _debug() -> TyperOption:
    """Return the option that every command has (doctor.cli.start looks it up)."""
    return TyperOption(
        param_decls=["--debug"],
        is_flag=True,
        expose_value=False,
        help="Show the traceback if doctor itself fails.",
        rich_help_panel="Output",
    )


def epilog(examples: Iterable[tuple[str, str]], *more: str) -> str:
    """Return examples as the end of a help text: a line each, with its purpose."""
    rows = list(examples)
    column = max((len(line) for line, _ in rows if len(line) <= _BESIDE), default=0) + 3
    lines = [f"[dim]{'Examples' if len(rows) > 1 else 'Example'}[/dim]"] if rows else []
    for line, purpose in rows:
        lines.append(
            f"{_plain(line)}{' ' * max(column - len(line), 3)}[dim]{_plain(purpose)}[/dim]"
            if purpose
            else _plain(line)
        )
    return "\n\n".join([*lines, *([""] if rows and more else []), *more])


_BESIDE = 40
"""Command lines up to this length decide the column of the purposes."""


def _unwrapped(text: str) -> str:
    """Join the lines of each paragraph: rich would keep the line breaks of a docstring."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
