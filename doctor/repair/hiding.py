"""Find copies of packages that come before the installed ones and do not suit what is installed.

Python searches PYTHONPATH before site-packages, and a line of a `.pth` file that begins with
`import` may put any folder first: https://docs.python.org/3/library/site.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from doctor.base.requirements import may_meet, normalize_name
from doctor.environments.environment import Environment
from doctor.host import Host, UnreadableFile, read_regular
from doctor.model.facts import Fact, Facts, absent, present, value_of
from doctor.model.issues import Edit
from doctor.observe.installed.distributions import Requirement, installed, requirements
from doctor.observe.scene import Distribution, Interpreter
from doctor.observe.targets import describe

_NAMES = (
    *("program.hiding", "program.pythonpath_rest", "program.hidden_by"),
    *("program.hiding_file", "program.hiding_line", "program.hiding_line_after"),
)
_INSERTS = re.compile(r"sys\.path\.insert\(\s*0\s*,\s*r?['\"]([^'\"\n]{1,1000})['\"]\s*\)")
_COLLECTS = re.compile(r"sys\.path\[\s*p\s*:\s*p\s*\]\s*=\s*new")
_LET_BE = "setuptools put the folders above before all others"
_MOST, _MOST_LINES, _PTH_LIMIT = 50, 1000, 1 << 16


def hiding(facts: Facts, environment: Environment) -> dict[str, Fact]:
    """Return facts about copies of packages that do not meet what an installed package asks for.

    Only copies count in whose place the installed release would meet it.
    """
    here = {one.name: one for one in installed([str(folder) for folder in environment.folders])}
    asked = requests_of(here, environment)
    separator = ";" if value_of(facts, "host.os") == "windows" else ":"
    listed = [one for one in str(value_of(facts, "env.PYTHONPATH") or "").split(separator) if one]
    rows = {folder: _unfit(folder, here, asked, environment) for folder in listed}
    guilty = {folder: found for folder, found in rows.items() if found}
    files = dict[str, list[str]]()
    edits = list[Edit]()
    for path, folder in first_folders(environment):
        if (found := _unfit(folder, here, asked, environment)) and (edit := behind(path, folder)):
            files.setdefault(str(path), []).extend(found)
            edits.append(edit)
    told = {name: absent("sys.path") for name in _NAMES}
    every = [row for found in (*guilty.values(), *files.values()) for row in found]
    if every:
        told["program.hiding"] = present(every[:_MOST], "sys.path")
    if guilty:
        rest = separator.join(folder for folder in listed if folder not in guilty)
        told["program.hidden_by"] = present("PYTHONPATH", "sys.path")
        told["program.pythonpath_rest"] = (
            present(rest, "env.PYTHONPATH") if rest else absent("env.PYTHONPATH")
        )
    if edits:  # one at a time: a line may put several folders first
        told["program.hiding_file"] = present(edits[0].file, "sys.path")
        told["program.hiding_line"] = present(edits[0].before, edits[0].file)
        told["program.hiding_line_after"] = present(edits[0].after, edits[0].file)
    return told


def requests_of(
    here: Mapping[str, Distribution], environment: Environment
) -> dict[str, list[tuple[str, str]]]:
    """Return who asks for each package, and for which releases of it."""
    interpreter = describe(Host(), environment.python)
    found: dict[str, list[tuple[str, str]]] = {}
    for one in here.values():
        for asked in _requirements(one, interpreter):
            name = normalize_name(asked.name)
            found.setdefault(name, []).append((one.name, asked.specifier))
    return found


def _requirements(one: Distribution, interpreter: Interpreter) -> tuple[Requirement, ...]:
    with suppress(UnreadableFile):
        return requirements(one, interpreter)
    return ()


def _unfit(
    folder: str,
    here: Mapping[str, Distribution],
    asked: Mapping[str, list[tuple[str, str]]],
    environment: Environment,
) -> list[str]:
    """Return the copies in a folder that do not suit, unless it belongs to the environment."""
    place = os.path.realpath(folder)
    if any(place == os.path.realpath(one) for one in environment.folders):
        return []
    found = []
    for copy in installed([folder]):
        own = here.get(copy.name)
        by = next(
            (
                f"{who} asks for {copy.name}{specifier}"
                for who, specifier in asked.get(copy.name, ())
                if own
                and may_meet(own.version, specifier)
                and not may_meet(copy.version, specifier)
            ),
            "",
        )
        if by:
            found.append(f"{copy.name} {copy.version} in {folder}, while {by}")
    return found


def first_folders(environment: Environment) -> Iterator[tuple[Path, str]]:
    """Yield `.pth` files that put a folder first, and that folder, which is there."""
    for site in environment.own_folders:
        for path in sorted(site.glob("*.pth"))[:_MOST]:
            text = (read_regular(path, _PTH_LIMIT) or b"").decode("utf-8", "replace")
            for folder in dict.fromkeys(one for one, _ in first_lines(text)):
                if (site / folder).is_dir():
                    yield path, str(site / folder)


def first_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the folders that a `.pth` file puts first, and the line that does it.

    The `easy-install.pth` of setuptools collects paths, and its last line puts all of them first:
    https://setuptools.pypa.io/en/latest/deprecated/easy_install.html
    """
    lines = [line for line in text.splitlines()[:_MOST_LINES] if line.strip()]
    collected = list[str]()
    for line in lines:
        if not line.startswith(("import ", "import\t")):
            collected += [] if line.startswith("#") else [line.strip()]
        elif match := _INSERTS.search(line[:2000]):
            yield match[1], line
        elif _COLLECTS.search(line[:2000]):
            yield from ((folder, line) for folder in collected)


def behind(file: Path, folder: str) -> Edit | None:
    """Return the edit by which a `.pth` file puts a folder last; None where a line stands twice.

    A line that puts a folder first becomes its path. The one of setuptools that puts all of them
    first becomes a comment.
    """
    text = (read_regular(file, _PTH_LIMIT) or b"").decode("utf-8", "replace")
    for named, line in first_lines(text):
        if str(file.parent / named) == folder and text.count(line) == 1:
            after = f"# {_LET_BE}" if named in text.replace(line, "") else named
            return Edit(file=str(file), before=line, after=after)
    return None
