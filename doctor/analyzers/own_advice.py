"""Restate the cure that a message itself names, where nothing else explains it.

| the message says | what is offered |
| --- | --- |
| which release of a package it accepts | that requirement for pip |
| which Python it wants | an environment with one |
| to install a package | the package; of an unknown one its name in words |
| which command to run | that command, where it is one of a short list |
| which variable or option to set | the variable or the option |

Commands are never copied: names and releases are taken out of the message and written anew. What a
stranger's log asks for beside that (sudo, downloads into a shell, switches that turn protections
off) is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.analyzers.advice_texts import (
    Release,
    Setting,
    advised_command,
    advised_option,
    advised_packages,
    advised_variable,
    wanted_release,
)
from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import Inventory
from doctor.analyzers.offers import new_environment, python_for
from doctor.analyzers.recipes import code, command, variables
from doctor.events.normal import has_prefix, normal
from doctor.events.owner import owning_event
from doctor.logs.package_names import KNOWN
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_ABOVE, _BELOW = 2, 8
_LONGEST = 1200
_TITLE = 140
_NOT_OFFERED = ("no-version", "install-error", "resolver-conflict", "package-not-in-channels")
_FAMILY = {
    "torch": ("torchvision", "torchaudio"),
    "torchvision": ("torch", "torchaudio"),
    "torchaudio": ("torch", "torchvision"),
}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the owning failure says of its own cure."""
    event = owning_event(case.events)
    if event is None or event.level is Level.WRAPPER:
        return
    lines = _message(case, event)
    recipes: list[Recipe] = []
    title = ""
    release = wanted_release(lines)
    if release is not None:
        title, recipes = _of_release(case, release)
    packages = advised_packages(lines)
    if event.kind in _NOT_OFFERED:
        return  # an installer names what it was asked for, and that is no advice
    if packages and release is None:
        title = f"The program asks for {', '.join(packages)}"
        recipes.append(_install(packages))
    if (asked := advised_command(lines)) is not None:
        title = title or _said(event)
        recipes.append(_command(*asked))
    for found, make in ((advised_variable(lines), _variable), (advised_option(lines), _option)):
        if found is not None:
            title = title or _said(event)
            recipes.append(make(found))
    if recipes:
        yield Explanation(
            event=event,
            precision=Precision.ADVICE,
            detection=detection(
                event,
                title,
                "The message names its cure itself; this is that cure in doctor's words.",
                recipes=tuple(recipes),
                name="own-advice",
            ),
        )


def _message(case: Case, event: Event) -> list[str]:
    """Return the lines of a message: those of the event, and the few around it.

    A program goes on after a warning, so what stands behind a warning's paragraph, or in a record
    of its own, is of something else. What a server says of its own address is never advice.
    """
    first = max(event.at - _ABOVE, 0)
    last = max(event.last, event.at) + _BELOW
    if event.level is Level.WARNING:
        first, last = event.at, _end_of_paragraph(case, event.at, last)
    around = [line[:_LONGEST] for line in case.log.lines[first : last + 1]]
    return [
        event.text[:_LONGEST],
        *(line for line in around if not _is_frame(line) and not _is_banner(line)),
    ]


def _end_of_paragraph(case: Case, at: int, last: int) -> int:
    """Return the last line before a blank one, or before one that begins a record of a log.

    Python shows the line of code below a warning, and that line is its last.
    """
    for number in range(at + 1, min(last + 1, len(case.log.lines))):
        line = case.log.lines[number][:_LONGEST]
        if not line.strip() or has_prefix(line):
            return number - 1
        if "warnings.warn(" in line:
            return number
    return last


_BANNERS = ("To create a public link", "Running on local URL", "Running on public URL")
"""What Gradio prints at each start."""


def _is_banner(line: str) -> bool:
    return any(one in line for one in _BANNERS)


def _is_frame(line: str) -> bool:
    """Say whether a line is code or a place in it: `raise ImportError("pip install x")`."""
    text = line.strip()
    return text.startswith(("File ", "raise ", "# ", ">>> ", "warnings.warn(", "logger."))


def _of_release(case: Case, wanted: Release) -> tuple[str, list[Recipe]]:
    here = wanted.here or Inventory(case).release(wanted.name) or ""
    asked = f"{wanted.name} {wanted.specifier}"
    title = (
        f"{wanted.name} {here} is here, and the program wants {asked}"
        if here
        else f"The program wants {asked}"
    )
    if wanted.name == "python":
        minor = python_for(wanted.specifier)
        return title, [new_environment(minor)] if minor else []
    return title, [_install((f"{wanted.name}{wanted.specifier}",))]


def _install(requirements: Sequence[str]) -> Recipe:
    """Return the recipe that installs packages; a reader types the name of an unknown one."""
    bare = [_bare(one) for one in requirements]
    if not all(_is_known(one) for one in bare):
        return Recipe(
            title=f"Install what the message asks for: {', '.join(requirements)}",
            note="doctor does not know this package; look it up before you install it.",
            steps=(Action(install=("<package>",)),),
            ask={"package": f"the package that the message names ({', '.join(requirements)})"},
        )
    companions = tuple(
        dict.fromkeys(one for name in bare for one in _FAMILY.get(name, ()) if one not in bare)
    )
    options = () if any(set(one) & set("<>=!~") for one in requirements) else (Option.UPGRADE,)
    return Recipe(
        title=f"Install {', '.join(requirements)}",
        steps=(Action(install=tuple(requirements), companions=companions, options=options),),
    )


def _bare(requirement: str) -> str:
    end = next((at for at, one in enumerate(requirement) if one in "<>=!~["), len(requirement))
    return requirement[:end].strip().lower().replace("_", "-")


def _is_known(name: str) -> bool:
    return name in KNOWN or name in names.covered() or name == names.distribution_of(name)


def _command(name: str, word: str) -> Recipe:
    """Return the recipe of a command that a message asks for."""
    argv: tuple[str, ...]
    match name:
        case "apt":
            return Recipe(title=f"Install {word}", steps=(Action(system={"apt": (word,)}),))
        case "brew":
            return Recipe(title=f"Install {word}", steps=(Action(system={"brew": (word,)}),))
        case "nltk":
            argv = ("{python.executable}", "-c", f"import nltk; nltk.download('{word}')")
        case "spacy":
            argv = ("{python.executable}", "-m", "spacy", "download", word)
        case "submodules":
            argv = ("git", "submodule", "update", "--init", "--recursive")
        case _:
            argv = (*_ARGVS[name], *([word] if word else []))
    return command("Run what the message asks for", *argv)


_ARGVS = {
    "playwright": ("playwright", "install"),
    "git-lfs": ("git", "lfs"),
    "hf": ("hf", "auth", "login"),
    "rustup-target": ("rustup", "target", "add"),
    "rustup-component": ("rustup", "component", "add"),
    "rustup": ("rustup",),
    "accelerate": ("accelerate",),
}


def _variable(found: Setting) -> Recipe:
    return variables(
        f"Set {found.name}={found.value}, as the message offers",
        {found.name: found.value},
        note="It leaves the cause as it is." if found.skips else "",
        lasting=not found.skips,
    )


def _option(found: Setting) -> Recipe:
    text = f"{found.name} {found.value}".strip() if found.name.startswith("-") else found.text
    where = "the command that starts the program" if found.name.startswith("-") else "the call"
    return code(f"Use {text}, as the message offers", where, text)


def _said(event: Event) -> str:
    text = normal(event.text).text.strip(" :-")
    return text if len(text) <= _TITLE else f"{text[:_TITLE].rstrip()}…"
