"""Put the steps of two plans together, and write the releases that a proof found into a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from doctor.base.requirements import InvalidRequirement, Line, normalize_name, read_line
from doctor.base.text import enumerate_words
from doctor.base.versions import public
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Plan
from doctor.observe.scene import Distribution
from doctor.repair.commands import variables
from doctor.repair.new_environment import beginning

_WITH_VALUE = frozenset(
    {
        *("--python", "-p", "--index-url", "-i", "--extra-index-url", "--default-index", "--index"),
        *("--find-links", "-f", "-C", "--config-settings", "--no-binary", "--only-binary"),
        *("--reinstall-package", "--refresh-package", "--upgrade-package", "-P", "--torch-backend"),
        *("-c", "-r", "--constraint", "--requirement", "--prerelease", "--override"),
        "--index-strategy",
    }
)
"""Options of pip and uv that take the next word."""
_OF_ONE = ("--reinstall-package", "--upgrade-package", "-P")
_REWRITE = "--reinstall-package"
_SHOWN = 4


class Install(NamedTuple):
    """A command of pip or uv, apart: what stands before the requirements, and these."""

    head: tuple[str, ...]
    requirements: tuple[str, ...]


def install_of(step: Step) -> Install | None:
    """Return the parts of a step that installs; None for any other step."""
    command = step.command
    argv = command.argv if command is not None else ()
    at = 3 if argv[1:3] == ("pip", "install") else 4 if argv[2:4] == ("pip", "install") else 0
    if not at or step.sudo or step.reboot:
        return None
    head, requirements, words = list(argv[:at]), [], list(argv[at:])
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            head.append(word)
            if word in _WITH_VALUE and words:
                head.append(words.pop(0))
        else:
            requirements.append(word)
    return Install(tuple(head), tuple(requirements))


def editables(step: Step) -> tuple[str, ...]:
    """Return the folders from which a step installs editables."""
    install = install_of(step)
    return install.requirements if install is not None and "-e" in install.head else ()


def sources(step: Step) -> tuple[str, ...]:
    """Return the folders that a step builds and installs, as editables or not."""
    install = install_of(step)
    texts = install.requirements if install is not None else ()
    plain = (
        text for text in texts if PurePath(text).is_absolute() and PurePath(text).suffix != ".whl"
    )
    return editables(step) or tuple(plain)


def uninstalled(step: Step) -> tuple[str, ...]:
    """Return the packages that a step of pip or uv uninstalls."""
    argv = step.command.argv if step.command is not None else ()
    if "pip" not in argv[1:3] or "uninstall" not in argv[2:4]:
        return ()
    words, found = list(argv[argv.index("uninstall") + 1 :]), []
    while words:
        word = words.pop(0)
        if word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            found.append(normalize_name(word.partition("==")[0]))
    return tuple(found)


def contradict(first: Plan, second: Plan) -> bool:
    """Say whether two plans name different releases of a package."""
    one, other = named_in(first), named_in(second)
    return any(one[name] != other[name] for name in one.keys() & other.keys())


def steps_text(plan: Plan) -> str:
    """Return the steps of a plan as a text, the same for the same steps."""
    return msgspec.json.encode(plan.steps, order="sorted").decode()


def moved_names(plan: Plan) -> frozenset[str]:
    """Return the packages that a plan moves, or names where no installer resolved it."""
    if plan.resolved:
        return frozenset(normalize_name(one.name) for one in plan.changes)
    return frozenset(named_in(plan))


def named_in(plan: Plan) -> dict[str, str]:
    """Return the specifiers that the installations of a plan ask for, by name."""
    found = {}
    for step in plan.steps:
        install = install_of(step)
        for text in install.requirements if install else ():
            if line := _line(text):
                found[normalize_name(line.name)] = line.specifier
    return found


def combined(first: Plan, second: Plan) -> Plan:
    """Return a plan with the steps of both; installations alike become one, for one resolution.

    Where both name a package, the second one decides.
    """
    decided = {name for name, text in named_in(second).items() if text.startswith("==")}
    for name, text in named_in(first).items():
        if name in decided and named_in(second)[name] != text:
            first = without(first, name)
    steps = list(first.steps)
    for step in second.steps:
        if step not in steps:
            _add(steps, step)
    return _begun(remains_last(instead(first, second, tuple(steps))))


def _begun(plan: Plan) -> Plan:
    """Return a plan that makes its new environment before everything else."""
    found = (beginning(plan.steps[number:]) for number in range(1, len(plan.steps)))
    made = next(filter(None, found), ())
    rest = (step for step in plan.steps if step not in made)
    return msgspec.structs.replace(plan, steps=(*made, *rest)) if made else plan


def without(plan: Plan, name: str) -> Plan:
    """Return a plan that does not install a package; a step that installs nothing else goes."""
    steps = []
    for step in plan.steps:
        install = install_of(step)
        if install is None:
            steps.append(step)
            continue
        kept = [text for text in install.requirements if _name(text) != name]
        if kept:
            steps.append(with_requirements(step, _less_named(install.head, name), kept))
    return instead(plan, plan, tuple(steps))


def _less_named(head: Sequence[str], name: str) -> list[str]:
    """Return the options of an installation without those for one package."""
    kept: list[str] = []
    for word in head:
        if kept and kept[-1] in _OF_ONE and normalize_name(word) == name:
            kept.pop()
        elif not any(normalize_name(word) == f"{option}={name}" for option in _OF_ONE):
            kept.append(word)
    return kept


def instead(first: Plan, second: Plan, steps: tuple[Step, ...] | None = None) -> Plan:
    """Return a plan for the findings of the first one with other steps: those of the second."""
    return msgspec.structs.replace(
        first,
        title="",
        steps=second.steps if steps is None else steps,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        changes=(),
        resolved=False,
        proof=None,
    )


def titled(plan: Plan) -> Plan:
    """Return a plan with a title of what it moves, where it was put together here."""
    if plan.title:
        return plan
    named = named_in(plan)
    moves = [one for one in plan.changes if normalize_name(one.name) in named and one.after]
    words = [
        f"{one.name} {one.after}{' again' if one.before == one.after else ''}"
        for one in moves[:_SHOWN]
    ]
    if not plan.changes:
        words = [f"{name}{specifier}" for name, specifier in list(named.items())[:_SHOWN]]
    more = len(moves) - len(words) if plan.changes else len(named) - len(words)
    words += [f"{more} more"] if more else []
    words += [PurePath(one).name for step in plan.steps for one in sources(step)]
    gone = [one.name for one in plan.changes if one.after is None and one.name not in named]
    given = {name: value for step in plan.steps for name, value in (variables(step) or {}).items()}
    changed = [name for name, value in given.items() if value is not None]
    changed += [PurePath(step.edit.file).name for step in plan.steps if step.edit is not None]
    files = [step.command.argv[-2] for step in plan.steps if step.command and _renames(step)]
    parts = [
        f"{verb} {enumerate_words(names)}"
        for verb, names in (
            ("install", words),
            ("remove", gone[:_SHOWN]),
            ("unset", [name for name, value in given.items() if value is None]),
            ("change", list(dict.fromkeys(changed))),
            ("rename", [PurePath(one).name for one in files]),
        )
        if names
    ]
    text = enumerate_words(parts) if parts else "remove what is left over"
    return msgspec.structs.replace(plan, title=text[:1].upper() + text[1:])


def _renames(step: Step) -> bool:
    return step.command is not None and step.command.argv[:2] == ("mv", "-i")


def remains_last(plan: Plan) -> Plan:
    """Return a plan that removes what an installer set aside (`~umpy`) after its installations.

    That is often the only whole copy, and a download may fail.
    """
    late = [step for step in plan.steps if _is_sweep(step)]
    steps = (*(step for step in plan.steps if step not in late), *late)
    return msgspec.structs.replace(plan, steps=steps)


def _is_sweep(step: Step) -> bool:
    argv = step.command.argv if step.command is not None else ()
    paths = [word for word in argv[1:] if not word.startswith("-")]
    return argv[:1] == ("rm",) and all(PurePath(path).name.startswith("~") for path in paths)


def _add(steps: list[Step], step: Step) -> None:
    wanted = install_of(step)
    if uninstalled(step):
        # It takes files along that a package shares with it, and that is written again.
        again = (number for number, known in enumerate(steps) if _rewrites(known))
        steps.insert(next(again, len(steps)), step)
        return
    if wanted is not None and _is_written(wanted, step, steps):
        return
    for number, known in enumerate(steps) if wanted else ():
        here = install_of(known)
        if here is not None and wanted is not None and _alike(here, wanted, known, step):
            head = here.head if here.head == wanted.head else (*here.head, *_again(wanted.head))
            steps[number] = with_requirements(known, head, _joined(here, wanted))
            return
    steps.append(step)


def _is_written(wanted: Install, step: Step, steps: Sequence[Step]) -> bool:
    """Say whether steps already remove and install again what a step would write once more."""
    gone = {name for one in steps for name in uninstalled(one)}
    there = {text for one in steps if (here := install_of(one)) for text in here.requirements}
    texts = wanted.requirements
    return (
        bool(texts)
        and _rewrites(step)
        and all(text in there and _name(text) in gone for text in texts)
    )


def _rewrites(step: Step) -> bool:
    install = install_of(step)
    return install is not None and any("reinstall" in word for word in install.head)


def _alike(one: Install, other: Install, first: Step, second: Step) -> bool:
    return (
        (one.head == other.head or _both_rewrite(one.head, other.head))
        and first.command is not None
        and second.command is not None
        and first.command.env == second.command.env
        and first.command.cwd == second.command.cwd
    )


def _both_rewrite(one: Sequence[str], other: Sequence[str]) -> bool:
    """Say whether two installations write packages once more, and differ by the packages alone."""
    plain, others = list(one), list(other)
    for words in (plain, others):
        for _ in range(words.count(_REWRITE)):
            at = words.index(_REWRITE)
            del words[at : at + 2]
    return plain == others and "--no-deps" in plain and _REWRITE in one and _REWRITE in other


def _again(head: Sequence[str]) -> tuple[str, ...]:
    """Return the options of an installation that write packages once more."""
    pairs = pairwise(head)
    return tuple(word for pair in pairs if pair[0] == _REWRITE for word in pair)


def _joined(one: Install, other: Install) -> tuple[str, ...]:
    first = {name for text in one.requirements if (name := _name(text))}
    # A name alone is content with every release.
    added = [text for text in other.requirements if normalize_name(text) not in first]
    named = {name for text in added if (name := _name(text))}
    kept = [text for text in one.requirements if _name(text) not in named]
    return (*kept, *added)


def with_requirements(step: Step, head: Sequence[str], requirements: Sequence[str]) -> Step:
    """Return a step that installs other requirements."""
    old = step.command or Command(argv=())
    command = Command(argv=(*head, *requirements), env=old.env, cwd=old.cwd)
    return msgspec.structs.replace(step, command=command)


def _line(text: str) -> Line | None:
    try:
        return read_line(text)
    except InvalidRequirement:
        return None


def name_in(text: str) -> str:
    """Return the name in a requirement; the requirement where it has none, such as an address."""
    return _name(text) or text


def _name(text: str) -> str:
    line = _line(text)
    return normalize_name(line.name) if line else ""


def pinned(plan: Plan, moved: Sequence[Sequence[Change]]) -> Plan:
    """Return a plan that names the releases that each of its steps brought in a proof."""
    steps = []
    for number, step in enumerate(plan.steps):
        install = install_of(step)
        if install is None or number >= len(moved):
            steps.append(step)
            continue
        brought = {normalize_name(one.name): one.after for one in moved[number] if one.after}
        texts = [_pinned(text, brought) for text in install.requirements]
        steps.append(with_requirements(step, install.head, texts))
    return msgspec.structs.replace(plan, steps=tuple(steps))


def _pinned(text: str, brought: Mapping[str, str | None]) -> str:
    line = _line(text)
    release = brought.get(normalize_name(line.name)) if line else None
    if line is None or line.address or not release or line.specifier.startswith("=="):
        return text
    extras = f"[{','.join(sorted(line.extras))}]" if line.extras else ""
    marker = f"; {line.marker}" if line.marker else ""
    return f"{line.name}{extras}=={release}{marker}"


def is_idle(plan: Plan, moved: Sequence[Sequence[Change]], number: int) -> bool:
    """Say whether a step of a plan installed nothing in a proof, so that it can go."""
    return number < len(moved) and not moved[number] and _may_idle(plan.steps[number])


def _may_idle(step: Step) -> bool:
    """Say whether a step that moves no package changes nothing at all."""
    install = install_of(step)
    forced = ("--reinstall", "--force-reinstall", "--reinstall-package")
    return (
        install is not None
        and not editables(step)
        and not any(word.startswith(forced) for word in install.head)
    )


def moves_torch(plan: Plan, here: Distribution | None) -> bool:
    """Return whether a plan names another release of torch than the installed one."""
    texts = (text for step in plan.steps if (one := install_of(step)) for text in one.requirements)
    return any(
        here is None or text != f"torch=={public(here.version)}"
        for text in texts
        if name_in(text) == "torch"
    )
