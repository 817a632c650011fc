"""Explain options and settings that a program does not know, misses, or cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code, command
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Recipe

_PROGRAM = re.compile(r"^[\w./-]{1,120}\.py$")
_HELP = command(
    "See which options this state of the program takes",
    "{python.executable}",
    "{log.program}",
    "--help",
    look=True,
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with the options that a program was given."""
    for one in explained(case, _TABLE):
        program = one.event.objects.get("program", "")
        if _PROGRAM.match(program) and not program.startswith("-"):
            yield one
            continue
        yield msgspec.structs.replace(
            one,
            detection=msgspec.structs.replace(
                one.detection,
                recipes=tuple(each for each in one.detection.recipes if each != _HELP),
            ),
        )


def _change(title: str, before: str, after: str, note: str = "") -> Recipe:
    return code(title, "the command that starts the program", after, before=before, note=note)


_TABLE: dict[str, Text] = {
    "option-unknown": Text(
        ("{program} does not know {options}", "The program does not know the option {options}"),
        "The command and the program are of two states: the option was renamed or removed, came "
        "later, or belongs to another script. A dash that an editor made long, or a line break "
        "behind a backslash with a blank, does the same.",
        (
            _change(
                "Take the option out, or use its present name",
                "python program.py --other 1 {log.options}",
                "python program.py --other 1",
                note="If the documentation names it, the files are older: git pull brings the "
                "program up to date.",
            ),
            _HELP,
        ),
        precision=Precision.EXACT,
    ),
    "option-required": Text(
        ("{program} was started without {options}", "The program was started without {options}"),
        "The program has no default for it.",
        (
            _change(
                "Give the option",
                "python program.py",
                "python program.py {log.options} <value>",
                note="In a notebook or an IDE the options stand in the run settings, or in "
                "parse_args([...]).",
            ),
            _HELP,
        ),
        precision=Precision.EXACT,
    ),
    "option-value": Text(
        "{option}: {said}",
        "The option was given a value that the program does not take, or none. Behind a line "
        "break, and in quotes of another shell, a value is easily lost.",
        (_HELP,),
        precision=Precision.EXACT,
    ),
    "setting-unknown": Text(
        "The configuration has no key {key}",
        "Hydra and OmegaConf refuse keys that the configuration does not have. The key is "
        "misspelled, or belongs to another state of the program.",
        (
            code(
                "Add the key, where the program reads it although the file lacks it",
                "the command that starts the program",
                "+{log.key}=value",
                before="{log.key}=value",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "setting-missing": Text(
        "The configuration lacks a value: {said}",
        "A value of the configuration has no default (???), or a file of it is not found below "
        "the folder of the configuration.",
        (
            code(
                "Give the value",
                "the command that starts the program",
                "key=value",
            ),
        ),
        precision=Precision.EXACT,
    ),
}
