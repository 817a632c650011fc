"""Read the output of a program that failed, beside what a check saw of its environment.

The output is a log of the check. The packages that it passes through are looked at more closely:
whether the files of their RECORDs are there, and whether what they ask for is installed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath

import msgspec

from doctor.base.patterns import compile_pattern
from doctor.base.requirements import InvalidRequirement, Line, normalize_name, read_line
from doctor.base.versions import public
from doctor.catalog import loading
from doctor.environments.environment import Environment
from doctor.facts.families import requirement_of
from doctor.host import UnreadableFile
from doctor.model.facts import Fact, absent, present, value_of
from doctor.model.findings import Finding
from doctor.model.report import Report
from doctor.observe.installed.distributions import every_requirement, installed, record_of
from doctor.observe.scene import Distribution
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import read_log
from doctor.pipeline.policy import Policy
from doctor.pipeline.requests import CheckRequest
from doctor.repair.damage import matters, misfits
from doctor.repair.hiding import hiding
from doctor.repair.merging import install_of
from doctor.repair.overwriting import overwriting
from doctor.timelines.names import distributions_of as names_of

SOURCE = "your program"
OF_PROJECT = "requires/project"
"""The finding of what the project asks for and the program fails on."""
_PROJECT = "project"
_MOST, _LINES, _NEAR = 50, 20_000, 2
_PATH = re.compile(r"(?:site|dist)-packages[/\\](\w[\w.-]{0,100})")
_MODULE = re.compile(r"No module named ['\"](\w{1,100})")
_FROM = re.compile(
    r"cannot import name '\w{1,100}' from (?:partially initialized module )?'(\w{1,100})"
)
_NO_FILE, _MISFIT_PACKAGES = "FileNotFoundError", "program.misfit_packages"
_UNMET = (
    (
        r"^The package `(?P<package>[\w.-]{1,200})` requires `(?P<wanted>[^`]{1,300})`, "
        r"but (?:`(?P<here>[^`]{1,100})` is|it's not) installed"
    ),
    (
        r"^(?P<package>[\w.-]{1,200}) \S{1,100} has requirement (?P<wanted>[^ ]{1,200}), "
        r"but you have \S{1,200} (?P<here>\S{1,100})\.$"
    ),
    (
        r"^(?P<package>[\w.-]{1,200}) \S{1,100} requires (?P<wanted>[^ ,]{1,200}), "
        r"which is not installed"
    ),
)
"""How uv and pip say that a requirement is not met."""


class Unmet(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement that is not met, by normalized names; `here` is empty where it is absent."""

    package: str
    wanted: str
    specifier: str
    here: str
    text: str

    @property
    def words(self) -> str:
        """Return who asks for what."""
        here = f"{self.here} is installed" if self.here else "it is not installed"
        return f"{self.package} asks for {self.wanted}{self.specifier}, and {here}"


def read_program(
    report: Report,
    text: str,
    request: CheckRequest,
    environment: Environment,
    problems: Sequence[Unmet] = (),
) -> Report:
    """Return a report judged again with the output of a program, empty where there is none.

    Unmet requirements in `problems` count as findings. Raises DoctorError as a check does.
    """
    catalog = loading.load(request.matrices)
    seen = report.observation
    facts: dict[str, Fact] = dict(seen.facts)
    logs = seen.logs
    if text:
        logs = (*logs, read_log(SOURCE, _Stream(text), catalog))
        facts |= _missing_files(text, environment) | hiding(facts, environment)
        facts |= overwriting(text, facts, environment) | _misfits(text, environment)
        problems = (*problems, *_asked_by_project(text, facts, environment))
    for one in problems:
        name = f"requires.{one.package}.{one.wanted}"
        if value_of(facts, f"{name}.met") is None:
            facts[f"{name}.met"] = present(False, "METADATA")
            facts[f"{name}.specifier"] = present(one.specifier, "METADATA")
            facts[f"{name}.installed"] = (
                present(one.here, "METADATA") if one.here else absent("METADATA")
            )
    return assess(
        msgspec.structs.replace(seen, facts=facts, logs=logs),
        catalog,
        Policy(
            fail_on=request.policy.fail_on,
            expect=request.expect,
            suppressions=request.policy.suppressions(),
        ),
    )


def _asked_by_project(
    text: str, facts: Mapping[str, Fact], environment: Environment
) -> Iterator[Unmet]:
    """Yield what a program fails on and its project asks for: it is absent, or another release."""
    found = installed([str(folder) for folder in environment.folders])
    here = {one.name: one.version for one in found}
    limits = value_of(facts, "project.ranges") or {}
    pins: dict[str, str] = {}
    for fact in ("project.locked", "project.asked", "project.pinned"):
        pins |= value_of(facts, fact) or {}
    for module in _failing(text):
        names = [normalize_name(one) for one in (module, *names_of(module))]
        name = next((one for one in names if one in pins or one in limits), "")
        at, asked = here.get(name, ""), pins.get(name, "")
        if not name or (at and (not asked or asked in (at, public(at)))):
            continue
        specifier = f"=={asked}" if asked else limits[name]
        yield Unmet(package=_PROJECT, wanted=name, specifier=specifier, here=at, text="")


def _failing(text: str) -> list[str]:
    """Return the modules that an error names, and those of the last frames in site-packages."""
    lines = text.splitlines()[-_LINES:]
    named = [one for line in lines for one in (*_MODULE.findall(line), *_FROM.findall(line))]
    frames = [found[1].partition(".")[0] for line in lines if (found := _PATH.search(line))]
    return list(dict.fromkeys((*named, *dict.fromkeys(reversed(frames)))))[: len(named) + _NEAR]


class _Stream(io.BytesIO):
    """The output of a program as a file."""

    def __init__(self, text: str) -> None:
        super().__init__(text.encode("utf-8", "replace"))


def unmet(problems: Sequence[str]) -> tuple[Unmet, ...]:
    """Return what lines of `uv pip check` or `pip check` say; those that say other things go."""
    return tuple(found for text in problems if (found := _unmet(text)) is not None)


def without_twins(found: Sequence[Unmet], environment: Environment) -> tuple[Unmet, ...]:
    """Return requirements without those of a package in whose place another one brings the module.

    Both would write the same files: `opencv-python` beside `opencv-python-headless`.
    """
    absent_here = [one for one in found if not one.here]
    brought = set[str]()
    for one in installed([str(one) for one in environment.folders]) if absent_here else ():
        for top in tops(one):
            names = names_of(top)
            brought |= {normalize_name(name) for name in names} if one.name in names else set()
    return tuple(one for one in found if one.here or one.wanted not in brought)


def is_spoken_of(one: Unmet, named: Collection[str], environment: Environment) -> bool:
    """Say whether a requirement counts: one of `named` packages has it, or is asked for.

    What asks from below the environment lives with releases of its own: it has to be named itself.
    """
    if one.package in named:
        return True
    return one.wanted in named and one.package not in _below(environment)


@lru_cache(maxsize=64)
def _below(environment: Environment) -> frozenset[str]:
    """Return the packages that an environment sees, and does not hold itself."""
    own = {folder.resolve() for folder in environment.own_folders}
    lower = [str(one) for one in environment.folders if one.resolve() not in own]
    held = {one.name for one in installed([str(one) for one in environment.own_folders])}
    return (
        frozenset(one.name for one in installed(lower) if one.name not in held)
        if lower
        else frozenset()
    )


def _unmet(text: str) -> Unmet | None:
    for pattern in _UNMET:
        found = compile_pattern(pattern).search(text[:800])
        if found is None:
            continue
        try:
            line = read_line(found.groups["wanted"])
        except InvalidRequirement:
            return None
        return Unmet(
            package=normalize_name(found.groups["package"]),
            wanted=normalize_name(line.name),
            specifier=line.specifier,
            here=found.groups.get("here") or "",
            text=text,
        )
    return None


def packages_of(found: Finding) -> frozenset[str]:
    """Return the packages that a finding speaks of: those of its fixes, its id and its evidence."""
    names = set[str]()
    for fix in found.fixes:
        for step in fix.steps:
            install = install_of(step)
            texts = install.requirements if install else ()
            with suppress(InvalidRequirement):
                names |= {normalize_name(read_line(text).name) for text in texts}
    pairs = (requirement_of(piece.fact) for piece in found.evidence)
    names |= {pair[0].package for pair in pairs if pair}
    family, _, rest = found.id.partition("/")
    return frozenset(names | ({rest} if family in ("import", "requires") else set()))


def packages_in(text: str, environment: Environment) -> tuple[Distribution, ...]:
    """Return the distributions that a traceback passes through, or whose files it names."""
    lines = text.splitlines()[-_LINES:]
    names = {name for line in lines for name in (*_PATH.findall(line), *_MODULE.findall(line))}
    names |= {name for line in lines for name in _FROM.findall(line)}
    if not names:
        return ()
    here = installed([str(folder) for folder in environment.folders])
    return tuple(one for one in here if names & tops(one))


def packages_of_command(
    program: Sequence[str], environment: Environment
) -> tuple[Distribution, ...]:
    """Return the distribution of which a command is a console script, or a module (`-m`)."""
    words = list(program)
    module = words[words.index("-m") + 1] if "-m" in words[1:-1] else ""
    scripts = {PurePath(word).name for word in words[:2]} if not module else set[str]()
    found = []
    for one in installed([str(folder) for folder in environment.folders]):
        paths = (PurePath(path) for path, _ in _all_rows(one) if path.startswith(".."))
        named = any(path.parts[-2] in ("bin", "Scripts") and path.name in scripts for path in paths)
        if named or (module and module.partition(".")[0] in tops(one)):
            found.append(one)
    return tuple(found)


def tops(one: Distribution) -> frozenset[str]:
    """Return the first parts of the paths in a RECORD, for a module without its ending."""
    parts = {PurePath(path).parts[0] for path, _ in _rows(one)}
    return frozenset(parts | {part.removesuffix(".py") for part in parts})


def _rows(one: Distribution) -> Iterator[tuple[str, str]]:
    """Yield path and size of each file in a RECORD that lies in site-packages."""
    return (row for row in _all_rows(one) if not row[0].startswith(("/", "..")))


def _all_rows(one: Distribution) -> Iterator[tuple[str, str]]:
    """Yield path and size of each file in a RECORD."""
    try:
        text = record_of(one)
    except UnreadableFile:
        return
    for line in text.split("\n"):
        path, *rest = line.strip().rsplit(",", 2)
        path = path.strip('"')
        if path:
            yield path, rest[-1] if rest else ""


def _missing_files(text: str, environment: Environment) -> dict[str, Fact]:
    """Return facts about files that RECORDs list and that are not there; existence alone counts."""
    found = _gone_of(packages_in(text, environment))
    if found["program.gone"].value is None and _NO_FILE in text:
        # Who opens a file may have left no frame: `ssl` reads the certificates of certifi.
        found = _gone_of(installed([str(folder) for folder in environment.folders]))
    return found


def _gone_of(packages: Iterable[Distribution]) -> dict[str, Fact]:
    rows, owners = [], dict[str, None]()
    for one in packages:
        site = one.folder.parent
        gone = [
            path for path, size in _rows(one) if matters(path, size) and not (site / path).exists()
        ]
        owners |= {one.requirement: None} if gone else {}
        rows += [
            {"path": str(site / path), "package": one.name, "requirement": one.requirement}
            for path in gone[:_MOST]
        ]
    if not rows:
        return {name: absent("RECORD files") for name in ("program.gone", "program.gone_packages")}
    return {
        "program.gone": present(rows[:_MOST], "RECORD files"),
        "program.gone_packages": present(list(owners)[:_MOST], "RECORD files"),
    }


def _misfits(text: str, environment: Environment) -> dict[str, Fact]:
    """Return facts about packages of other wheels, where a failure speaks of one of them."""
    here = {one.name: one for one in installed([str(one) for one in environment.own_folders])}
    names = {one.name for one in packages_in(text, environment)}
    found = misfits(here.values(), environment) if names & here.keys() else ()
    if not names & {one.package.name for one in found}:
        return {name: absent("WHEEL files") for name in ("program.misfit", _MISFIT_PACKAGES)}
    packages = [one.package.requirement for one in found]
    why = [f"{one.package.requirement}: {one.why}" for one in found]
    return {
        "program.misfit": present(why[:_MOST], "WHEEL files"),
        _MISFIT_PACKAGES: present(packages[:_MOST], "WHEEL files"),
    }


def every_line(one: Distribution) -> Iterator[Line]:
    """Yield what a package asks for, under any extra; what cannot be read is passed over."""
    with suppress(UnreadableFile):
        for text in every_requirement(one):
            with suppress(InvalidRequirement):
                yield read_line(text)
