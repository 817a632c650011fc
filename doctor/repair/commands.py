"""Decide which steps of a plan doctor itself may run, and write them for a clone.

A plan may come from a catalog that somebody handed in, so only a few kinds of commands are run, and
only where they name the environment that is to be changed. Everything else is for the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from doctor.environments.environment import Environment
from doctor.facts.placeholders import placeholders
from doctor.fixes.environments import linked_folders
from doctor.host import Host
from doctor.model.fixes import Command, Step
from doctor.observe.runner.start import CACHES


class Kind(Enum):
    """What a step does to a machine."""

    INSTALL = "install"
    REMOVE = "remove"
    VARIABLES = "variables"
    PROJECT = "project"
    EDIT = "edit"
    RENAME = "rename"
    CREATE = "create"
    LINK = "link"
    REFUSED = "refused"


class Task(NamedTuple):
    """A step with its kind; `why` says why doctor does not run one that is refused."""

    step: Step
    kind: Kind
    why: str = ""


_INSTALLS = frozenset({"install", "uninstall", "remove", "update", "upgrade", "sync"})
_CONDA = frozenset({"conda", "mamba", "micromamba"})
_ELSEWHERE = re.compile(
    r"--(target|prefix|root|user|system|config-file|script|global|python-platform)(=|$)|-[tn]$"
)
"""Options that send an installer to another place than the environment."""
_OWNERS: Mapping[str, frozenset[str]] = {
    "uv": frozenset({"sync", "add", "remove", "lock"}),
    "poetry": frozenset({"install", "add", "remove", "lock", "sync", "update"}),
    "cargo": frozenset({"update", "add", "remove"}),
}
"""Verbs of the tools that own the files of a project."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SYSTEM = "it changes the operating system, which doctor leaves to you"


def task(step: Step, environment: Environment) -> Task:
    """Return what a step is, and whether doctor may run it in this environment."""
    if step.sudo or step.reboot:
        what = "needs an administrator" if step.sudo else "ends in a restart of the machine"
        return Task(step, Kind.REFUSED, f"it {what}")
    if step.edit is not None:
        return Task(step, Kind.EDIT)
    command = step.command or Command(argv=())
    words = (*command.argv, *command.env.values())
    if asked := placeholders(words):
        return Task(step, Kind.REFUSED, f"only you know {', '.join(asked)}")
    if variables(step) is not None:
        return Task(step, Kind.VARIABLES)
    if any("\0" in word for word in words) or not command.argv:
        return Task(step, Kind.REFUSED, "it is no command")
    return _of_command(step, command, environment)


def _of_command(step: Step, command: Command, environment: Environment) -> Task:
    program, argv = PurePath(command.argv[0]).name.removesuffix(".exe"), command.argv
    if (of_files := _OF_FILES.get(program)) is not None:
        kind, judge = of_files
        why = judge(argv[1:], environment)
        return Task(step, Kind.REFUSED if why else kind, why)
    if program == "uv" and argv[1:2] == ("pip",):
        return _install(step, argv, argv[2:3], environment)
    if argv[1:3] == ("-m", "pip") and is_inside(argv[0], environment):
        return _install(step, argv, argv[3:4], environment)
    if argv[1:3] == ("-m", "ensurepip") and is_inside(argv[0], environment):
        return Task(step, Kind.INSTALL)
    if program in _CONDA:
        return _install(step, argv, argv[1:2], environment)
    if below := linked_folders(argv):
        if is_inside(argv[0], environment):
            return Task(step, Kind.LINK)
        return Task(step, Kind.REFUSED, f"it lets another environment see {below[0]}")
    if argv[1:2] == ("venv",) or argv[1:3] == ("-m", "venv"):
        return _create(step, argv)
    if argv[1:2] and argv[1] in _OWNERS.get(program, ()):
        return Task(step, Kind.PROJECT)
    return Task(step, Kind.REFUSED, f"doctor runs installers only, and `{program}` is none")


def _install(
    step: Step, argv: Sequence[str], verb: Sequence[str], environment: Environment
) -> Task:
    if not verb or verb[0] not in _INSTALLS:
        shown = verb[0] if verb else "nothing"
        return Task(step, Kind.REFUSED, f"doctor does not run {argv[0]} with {shown}")
    if relative := next((word for word in argv if word.startswith(("./", "../"))), ""):
        return Task(step, Kind.REFUSED, f"only you know where {relative} lies")
    if away := next((word for word in argv if _ELSEWHERE.match(word)), ""):
        return Task(step, Kind.REFUSED, f"{away} leads out of the environment")
    place = next((part for part in _places(argv) if part), "")
    named = place or argv[0]
    if not is_inside(named, environment):
        return Task(step, Kind.REFUSED, "the command does not name the environment")
    return Task(step, Kind.INSTALL)


def _places(argv: Sequence[str]) -> list[str]:
    """Return what follows the options that name an environment."""
    found = []
    for word, after in zip(argv, (*argv[1:], ""), strict=True):
        if word in ("--python", "-p"):
            found.append(after)
        elif word.startswith("--python="):
            found.append(word.partition("=")[2])
    return found


def _create(step: Step, argv: Sequence[str]) -> Task:
    folder = argv[-1]
    if folder.startswith("-") or PurePath(folder).is_absolute() or ".." in PurePath(folder).parts:
        return Task(step, Kind.REFUSED, "the new environment does not lie below this folder")
    return Task(step, Kind.CREATE)


def _why_not_removed(words: Sequence[str], environment: Environment) -> str:
    flags = [word for word in words if word.startswith("-")]
    paths = [word for word in words if not word.startswith("-")]
    if not paths or any(not re.fullmatch(r"-[rf]{1,2}|--", flag) for flag in flags):
        return "doctor removes named remains only"
    for path in paths:
        place = Path(path)
        if not place.is_absolute() or ".." in place.parts or any(c in path for c in "*?["):
            return f"{path} names no single file or folder"
        if not _lies_in_packages(place, environment):
            return f"{path} does not lie in the packages of this environment"
    return ""


def _why_not_renamed(words: Sequence[str], environment: Environment) -> str:
    """Return why a file is not renamed in a copy of the project; empty where it is."""
    paths = [Path(word) for word in words[1:]]
    if words[:1] == ("-i",) and _sets_aside(paths) and _lies_in_packages(paths[0], environment):
        return ""
    known = [one.suffix for one in paths] in ([".py", ".py"], ["", ""])
    compiled = paths[:1] and paths[0].suffix in (".so", ".pyd", ".pyc")
    known = known or bool(compiled and paths[1:] == [Path(f"{paths[0]}.old")])
    if words[:1] != ("-i",) or not known:
        return "doctor renames a Python module of the project only"
    if paths[0].parent != paths[1].parent or any(".." in one.parts for one in paths):
        return "it moves a file elsewhere"
    if not all(one.is_absolute() for one in paths) or is_inside(str(paths[0]), environment):
        return "it names no file of the project"
    return ""


def _sets_aside(paths: Sequence[Path]) -> bool:
    """Say whether a file gets a name beside its own."""
    named = len(paths) == 2 and paths[0].is_absolute() and ".." not in paths[0].parts
    return named and paths[1] == Path(f"{paths[0]}.old")


_OF_FILES = {"rm": (Kind.REMOVE, _why_not_removed), "mv": (Kind.RENAME, _why_not_renamed)}


def _lies_in_packages(place: Path, environment: Environment) -> bool:
    """Say whether a path lies below site-packages, with no link on the way out of it."""
    parent = Path(place.parent)
    for folder in environment.own_folders:
        try:
            if parent.resolve().is_relative_to(folder.resolve()):
                return True
        except OSError:
            return False
    return False


def is_inside(path: str, environment: Environment) -> bool:
    """Say whether a path is the environment, or lies in it as it is spelled."""
    place = PurePath(path)
    if not place.is_absolute() or ".." in place.parts:
        return False
    return any(place.is_relative_to(root) for root in spellings(environment))


def spellings(environment: Environment) -> tuple[str, ...]:
    """Return the root of an environment as it is written, and without links."""
    root = environment.root
    return tuple(dict.fromkeys((str(root), str(root.resolve()))))


def variables(step: Step) -> dict[str, str | None] | None:
    """Return the variables that a step sets, None for one that it unsets.

    None where the step is a command.
    """
    command = step.command
    if command is None:
        return None
    if not command.argv:
        return dict(command.env) or None
    program, *words = command.argv
    if program == "env" and len(words) % 2 == 0:
        words = words[1::2] if set(words[::2]) == {"-u"} else []
        program = "unset"
    if program == "unset" and words and all(map(_VARIABLE.fullmatch, words)):
        return dict.fromkeys(words)
    return None


def with_variables(env: Mapping[str, str], wanted: Mapping[str, str | None]) -> dict[str, str]:
    """Return an environment in which variables are set or unset, `$NAME` in them filled."""
    changed = dict(env)
    for name, value in wanted.items():
        if value is None or value == "":
            changed.pop(name, None)
        else:
            changed[name] = re.sub(
                r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", lambda found: env.get(found[1], ""), value
            )
    return changed


def host_of(clone: Host, env: Mapping[str, str | None]) -> Host:
    """Return the host of a clone with the variables that a plan sets or unsets.

    Folders of caches stay those of the clone: the plan's would be left behind, and what another
    proof built there would count as healed.
    """
    kept = {name: value for name, value in env.items() if name not in CACHES}
    return clone.with_env(with_variables(clone.env, kept))


class Places(NamedTuple):
    """Folders and their copies: texts that name the one are written for the other."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def between(
        cls, original: Environment, copy: Environment, more: Mapping[str, str] | None = None
    ) -> Places:
        """Return the places of an environment and its clone, and of other folders."""
        pairs = tuple((one, str(copy.root)) for one in spellings(original))
        return cls((*pairs, *(more or {}).items()))

    def there(self, text: str) -> str:
        """Return a text in which the originals are replaced by the copies."""
        return _replaced(text, self.pairs)

    def back(self, text: str) -> str:
        """Return a text in which the copies are replaced by the originals."""
        return _replaced(text, tuple((copy, original) for original, copy in self.pairs))

    def step(self, step: Step, *, back: bool = False) -> Step:
        """Return a step with every path of its command replaced."""
        change = self.back if back else self.there
        command = step.command
        if command is None:
            return step
        return msgspec.structs.replace(
            step,
            command=Command(
                argv=tuple(map(change, command.argv)),
                env={name: change(value) for name, value in command.env.items()},
                cwd=change(command.cwd) if command.cwd else None,
            ),
        )


def _replaced(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Replace whole paths, the longest first, in one pass: a copy may lie below an original."""
    new = dict(pairs)
    if not new:
        return text
    words = "|".join(re.escape(old) for old in sorted(new, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{words})(?![\w.-])", lambda found: new[found[0]], text)
